//! One connection: HTTP/1.1 with keep-alive and pipelining, its limits and time-outs, and how it ends.
//!
//! ```text
//!   idle ──first byte──► head ──whole──► answering ──► idle
//!     └ idle_time          └ read_time       └ read_time between two pieces of the body
//! ```
//!
//! A request is collected whole and handed to an [`Endpoint`], which answers at once. It does not know which listener
//! the connection came from, nor what is asked.

use super::options::Limits;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, EXPECT, HeaderValue, SERVER};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::future::{Future as _, poll_fn};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;

/// How far a server is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// It serves.
    Serving,
    /// No new requests to the service; those in flight finish.
    Stopping,
    /// Nothing more at all.
    Stopped,
}

/// What answers the requests of a listener.
pub(super) trait Endpoint: Send + Sync + 'static {
    /// Answers one request.
    fn respond(&self, received: &Received) -> Response<Full<Bytes>>;

    /// The answer where [`respond`](Self::respond) panicked.
    fn fault(&self) -> Response<Full<Bytes>>;
}

/// A request as it came, whole.
pub(super) struct Received {
    pub(super) head: Parts,
    pub(super) body: Body,
}

/// The body of a request.
pub(super) enum Body {
    /// All of it, perhaps empty.
    Whole(Bytes),
    /// More than the limit, and not kept.
    TooLarge,
}

/// A response of this type and body.
pub(super) fn json(status: u16, content_type: &'static str, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(SERVER, HeaderValue::from_static("hotplate"));
    response
}

/// Serves a connection to its end: the client's, a time-out's, or the server's once it reaches the stage `until`.
pub(super) async fn serve(
    stream: TcpStream,
    endpoint: Arc<dyn Endpoint>,
    limits: Limits,
    mut stage: watch::Receiver<Stage>,
    until: Stage,
) {
    // Answers are written whole; waiting for more to fill a packet only delays them.
    let _ = stream.set_nodelay(true);
    let activity = Arc::new(Activity::new());
    let io = TokioIo::new(Watched { stream, activity: Arc::clone(&activity) });
    let service = hyper::service::service_fn({
        let activity = Arc::clone(&activity);
        move |request| answer(request, Arc::clone(&endpoint), limits, Arc::clone(&activity))
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    // The buffer's limit stops a head that never ends, the header's one that came whole.
    let header_bytes = limits.header_bytes.max(8 * 1024);
    builder.max_header_size(header_bytes).max_buf_size(header_bytes);
    // Ours tells a connection that stands idle from one that dawdles; hyper's does not.
    builder.header_read_timeout(None);
    let mut connection = pin!(builder.serve_connection(io, service));
    let mut ending = pin!(stage.wait_for(|stage| *stage >= until));
    let mut stalled = pin!(activity.stalled(&limits));
    let mut asked_to_end = false;
    poll_fn(|context| {
        if !asked_to_end && ending.as_mut().poll(context).is_ready() {
            asked_to_end = true;
            connection.as_mut().graceful_shutdown();
        }
        // An error is the client's: it went away or spoke no HTTP, and hyper has told it so.
        if connection.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        stalled.as_mut().poll(context)
    })
    .await;
}

/// One request of a connection.
async fn answer(
    request: Request<Incoming>,
    endpoint: Arc<dyn Endpoint>,
    limits: Limits,
    activity: Arc<Activity>,
) -> Result<Response<Full<Bytes>>, io::Error> {
    activity.enter(Phase::Answering);
    let (head, body) = request.into_parts();
    let body = collect(body, &limits, head.headers.contains_key(EXPECT)).await?;
    let received = Received { head, body };
    let mut response =
        catch_unwind(AssertUnwindSafe(|| endpoint.respond(&received))).unwrap_or_else(|_| endpoint.fault());
    if matches!(received.body, Body::TooLarge) {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    activity.enter(Phase::Idle);
    Ok(response)
}

/// Reads a body up to the limit. A client that has begun to send too much is read on for a while without keeping it:
/// one that writes first and reads afterwards would otherwise see a broken connection instead of the answer.
async fn collect(mut body: Incoming, limits: &Limits, asks_first: bool) -> io::Result<Body> {
    let announced = body.size_hint().lower();
    let limit = limits.body_bytes;
    let mut too_large = announced > limit as u64;
    if too_large && asks_first {
        return Ok(Body::TooLarge);
    }
    let patience = limit.saturating_mul(4) as u64;
    let mut seen = 0_u64;
    let mut first = Bytes::new();
    let mut more = BytesMut::new();
    loop {
        let frame = match tokio::time::timeout(limits.read_time, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break,
            Ok(Some(Err(error))) => return Err(io::Error::other(error)),
            Err(_) if too_large => break,
            Err(_) => return Err(io::ErrorKind::TimedOut.into()),
        };
        // Trailers mean nothing here.
        let Ok(data) = frame.into_data() else { continue };
        seen = seen.saturating_add(data.len() as u64);
        too_large |= seen > limit as u64;
        if too_large {
            (first, more) = (Bytes::new(), BytesMut::new());
            if seen > patience {
                break;
            }
        } else if seen == data.len() as u64 {
            // Most bodies come in one piece, which need not be copied.
            first = data;
        } else {
            if more.is_empty() {
                more.reserve(usize::try_from(announced).unwrap_or(limit).clamp(first.len(), limit));
                more.extend_from_slice(&first);
            }
            more.extend_from_slice(&data);
        }
    }
    Ok(match (too_large, more.is_empty()) {
        (true, _) => Body::TooLarge,
        (false, true) => Body::Whole(first),
        (false, false) => Body::Whole(more.freeze()),
    })
}

/// What a connection is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle = 0,
    Head = 1,
    Answering = 2,
}

/// What a connection is doing, and since when: one word, milliseconds times four and the phase.
struct Activity {
    began: Instant,
    word: AtomicU64,
}

impl Activity {
    fn new() -> Self {
        Self { began: Instant::now(), word: AtomicU64::new(Phase::Idle as u64) }
    }

    fn enter(&self, phase: Phase) {
        let millis = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX >> 2);
        self.word.store(millis << 2 | phase as u64, Ordering::Relaxed);
    }

    /// Bytes came in.
    fn heard(&self) {
        if self.word.load(Ordering::Relaxed) & 3 == Phase::Idle as u64 {
            self.enter(Phase::Head);
        }
    }

    /// Ends when the connection has idled or dawdled for too long.
    async fn stalled(&self, limits: &Limits) {
        loop {
            let word = self.word.load(Ordering::Relaxed);
            let answering = word & 3 == Phase::Answering as u64;
            let patience = if word & 3 == Phase::Idle as u64 { limits.idle_time } else { limits.read_time };
            // Whoever changes the phase wakes nobody: we look again before the shortest patience can be over.
            let due = self.began + Duration::from_millis(word >> 2) + patience;
            let look = if answering { Instant::now() + limits.read_time } else { due };
            tokio::time::sleep_until(look.min(Instant::now() + limits.read_time)).await;
            if !answering && self.word.load(Ordering::Relaxed) == word && Instant::now() >= due {
                return;
            }
        }
    }
}

/// A stream that tells when bytes come in.
struct Watched {
    stream: TcpStream,
    activity: Arc<Activity>,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, into);
        if into.filled().len() > before {
            self.activity.heard();
        }
        polled
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, from)
    }
}
