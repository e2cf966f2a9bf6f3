//! A running server: its threads, its listeners, and how it stops.
//!
//! One supervising task outlives both listeners. It waits to be told to stop, lets what is in flight finish, first at
//! the service and then at the admin listener (which meanwhile says «not ready»), and reports that it is done. It does
//! not know what is served.

use super::admin::Admin;
use super::api::Api;
use super::connection::{self, Endpoint, Stage};
use super::dynamodb::DynamoDb;
use super::options::{Limits, ServerOptions};
use super::signal::{self, Signal};
use crate::error::{Error, ErrorKind, Result};
use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::task::Poll;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};

/// A running server. It owns its threads, works beside any async runtime or none, and stops when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    admin: Option<SocketAddr>,
    stop: Arc<watch::Sender<Stage>>,
    /// Hears whether everything in flight finished, once.
    done: std_mpsc::Receiver<bool>,
    threads: Threads,
    stop_time: Duration,
}

/// The threads of a server. Let go without waiting for them, because that is allowed in async code, too; a runtime that
/// is merely dropped there panics.
#[derive(Debug)]
struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Tells a server to stop, from anywhere.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<watch::Sender<Stage>>);

impl Stopper {
    /// Tells the server to stop: no new connections; requests in flight finish.
    pub fn stop(&self) {
        self.0.send_if_modified(|stage| {
            let first = *stage == Stage::Serving;
            if first {
                *stage = Stage::Stopping;
            }
            first
        });
    }
}

impl Server {
    /// Listens, and answers DynamoDB's protocol with `api`. Connections are taken when this returns.
    ///
    /// # Errors
    ///
    /// When a port cannot be listened on, or the system has no more threads.
    pub fn start(options: ServerOptions, api: Arc<dyn Api>) -> Result<Self> {
        let bind = |what: &str, port| {
            let address = SocketAddr::new(options.host, port);
            listen(address).map_err(|error| {
                let hint = if error.kind() == std::io::ErrorKind::AddrInUse {
                    "; port 0 picks a free one"
                } else {
                    ""
                };
                let why = format!("{what} cannot listen on {address}: {error}{hint}");
                Error::new(ErrorKind::Io, why)
            })
        };
        let (endpoint, address) = bind("the DynamoDB endpoint", options.port)?;
        let admin = options.admin_port.map(|port| bind("the admin listener", port)).transpose()?;
        let fail = |error: std::io::Error| {
            Error::new(ErrorKind::Io, format!("the server cannot be started: {error}"))
        };
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        if let Some(threads) = options.threads {
            builder.worker_threads(threads.max(1));
        }
        let runtime = builder.thread_name("hotplate-server").enable_all().build().map_err(fail)?;
        let handle = runtime.handle().clone();
        let threads = Threads(Some(runtime));
        let (stop, stage) = watch::channel(Stage::Serving);
        let stop = Arc::new(stop);
        let inside = handle.enter();
        let endpoint = TcpListener::from_std(endpoint).map_err(fail)?;
        let (admin, admin_address) = match admin {
            Some((listener, address)) => {
                (Some(TcpListener::from_std(listener).map_err(fail)?), Some(address))
            }
            None => (None, None),
        };
        drop(inside);
        let (report, done) = std_mpsc::channel();
        let stop_time = options.limits.stop_time;
        let service = Listening {
            limits: options.limits,
            stage: stage.clone(),
            until: Stage::Stopping,
            endpoint: Arc::new(DynamoDb::new(&options, api)),
        };
        let admin = admin.map(|listener| {
            let endpoint = Arc::new(Admin::new(options.routes, stage.clone()));
            let limits = options.limits;
            (listener, Listening { limits, stage: stage.clone(), until: Stage::Stopped, endpoint })
        });
        handle.spawn(supervise((endpoint, service), admin, Arc::clone(&stop), stop_time, report));
        Ok(Self { address, admin: admin_address, stop, done, threads, stop_time })
    }

    /// The address of the DynamoDB endpoint.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of the DynamoDB endpoint: `http://127.0.0.1:8000`.
    pub fn endpoint(&self) -> String {
        url(self.address)
    }

    /// The URL of the admin listener, if there is one.
    pub fn admin_url(&self) -> Option<String> {
        self.admin.map(url)
    }

    /// What tells this server to stop, from anywhere: another thread, a signal, an admin route.
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.stop))
    }

    /// Calls `act` on a server thread whenever one of `signals` comes to this process, instead of what the system would
    /// do. It stays so for the life of the process.
    ///
    /// # Errors
    ///
    /// When the system will not have it.
    pub fn on_signals(
        &self,
        signals: &[Signal],
        act: impl Fn(Signal) + Clone + Send + 'static,
    ) -> Result<()> {
        self.threads.0.as_ref().map_or(Ok(()), |runtime| signal::listen(runtime.handle(), signals, act))
    }

    /// Waits until the server was told to stop, and has. Answers whether everything in flight finished in time.
    pub fn wait(mut self) -> bool {
        self.finish(None)
    }

    /// Stops the server: requests in flight finish within [`Limits::stop_time`]. Answers whether they did.
    pub fn stop(mut self) -> bool {
        self.stopper().stop();
        self.finish(Some(self.stop_time))
    }

    /// Waits for the supervisor and lets the threads go, once.
    fn finish(&mut self, patience: Option<Duration>) -> bool {
        if self.threads.0.is_none() {
            return true;
        }
        let finished = match patience {
            // The supervisor keeps the time; the second more is for a machine that is busy.
            Some(patience) => self.done.recv_timeout(patience.saturating_add(Duration::from_secs(1))).ok(),
            None => self.done.recv().ok(),
        };
        drop(std::mem::replace(&mut self.threads, Threads(None)));
        finished.unwrap_or(false)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopper().stop();
        self.finish(Some(self.stop_time));
    }
}

/// A listener's address as a client reaches it: one that listens everywhere is reached here.
fn url(mut address: SocketAddr) -> String {
    if address.ip().is_unspecified() {
        let here: IpAddr = match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        };
        address.set_ip(here);
    }
    format!("http://{address}")
}

/// Binds without a runtime, so that starting works inside another one.
fn listen(address: SocketAddr) -> std::io::Result<(std::net::TcpListener, SocketAddr)> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// What a listener needs to take connections.
struct Listening {
    endpoint: Arc<dyn Endpoint>,
    limits: Limits,
    stage: watch::Receiver<Stage>,
    /// The stage at which its connections end.
    until: Stage,
}

/// Runs both listeners from start to stop, and reports whether everything in flight finished in time.
async fn supervise(
    service: (TcpListener, Listening),
    admin: Option<(TcpListener, Listening)>,
    stop: Arc<watch::Sender<Stage>>,
    stop_time: Duration,
    report: std_mpsc::Sender<bool>,
) {
    let admin = admin.map(|(listener, listening)| tokio::spawn(accept(listener, listening)));
    let served = tokio::spawn(accept(service.0, service.1));
    let _ = stop.subscribe().wait_for(|stage| *stage >= Stage::Stopping).await;
    let finished = tokio::time::timeout(stop_time, served).await.is_ok();
    stop.send_replace(Stage::Stopped);
    if let Some(admin) = admin {
        // Its answers are short; whoever does not read them is not waited for.
        let _ = tokio::time::timeout(stop_time.min(Duration::from_millis(500)), admin).await;
    }
    // Nobody hears it where the server was let go already.
    let _ = report.send(finished);
}

/// Takes connections until the listener's stage comes, then waits until they have ended.
async fn accept(listener: TcpListener, listening: Listening) {
    // Each connection holds a sender; when all are gone, so are the connections. Nothing is ever sent.
    let (alive, mut all_gone) = mpsc::channel::<Infallible>(1);
    let mut stage = listening.stage.clone();
    let mut ending = pin!(stage.wait_for(|stage| *stage >= listening.until));
    while let Some(accepted) = poll_fn(|context| match ending.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(None),
        Poll::Pending => listener.poll_accept(context).map(Some),
    })
    .await
    {
        match accepted {
            Ok((stream, _)) if alive.strong_count() > listening.limits.connections => refuse(&stream),
            Ok((stream, _)) => {
                let (endpoint, limits) = (Arc::clone(&listening.endpoint), listening.limits);
                let (stage, until) = (listening.stage.clone(), listening.until);
                let alive = alive.clone();
                tokio::spawn(async move {
                    connection::serve(stream, endpoint, limits, stage, until).await;
                    drop(alive);
                });
            }
            // The client is gone already, or this process may open no more files: some will be closed.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    drop((listener, alive));
    all_gone.recv().await;
}

/// Tells a connection that there are too many. The few bytes fit the system's buffer; if not, closing says it too.
fn refuse(stream: &TcpStream) {
    let body = r#"{"__type":"com.amazon.coral.service#ServiceUnavailableException","message":"hotplate has as many connections as it may"}"#;
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nserver: hotplate\r\ncontent-type: application/x-amz-json-1.0\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.try_write(answer.as_bytes());
}
