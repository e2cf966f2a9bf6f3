//! `hotplate serve`: endpoints that stay up until they are told to stop.
//!
//! The first line on stdout is one JSON record for whoever started us: it says where to connect, and that connecting
//! works by now. Everything else goes to stderr. What answers is handed in; this file does not know it.

use super::output;
use clap::Args;
use hotplate::error::{Error, Result};
use hotplate::rng::Seed;
use hotplate::server::{Api, Credentials, Routes, Server, ServerOptions, Signal};
use std::io::{IsTerminal as _, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The address to listen on. Anything but this machine's own lets others in; nothing is encrypted.
    #[arg(long, default_value = "127.0.0.1", value_parser = host)]
    host: IpAddr,
    /// The port of the DynamoDB endpoint; 0 picks a free one.
    #[arg(long, default_value_t = 8000, value_name = "PORT")]
    dynamodb_port: u16,
    /// The port for health checks and administration; 0 picks a free one.
    #[arg(long, default_value_t = 8090, value_name = "PORT")]
    admin_port: u16,
    /// One database for all callers, instead of one for each access key and region.
    #[arg(long)]
    shared: bool,
    /// Verify signatures, and let in nobody but this access key with this secret.
    #[arg(long, value_name = "KEY:SECRET")]
    auth: Option<Credentials>,
    /// The seed of everything random.
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Connections at a time.
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,
}

/// An address, or the one name that everybody has.
fn host(text: &str) -> std::result::Result<IpAddr, String> {
    match text {
        "localhost" => Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        _ => text.parse().map_err(|_| format!("{text:?} is no address: 127.0.0.1, 0.0.0.0, ::1")),
    }
}

impl Arguments {
    /// The seed, for those who make the API.
    pub(crate) fn seed(&self) -> Seed {
        Seed(self.seed)
    }
}

/// Serves `api` until SIGINT or SIGTERM. Answers whether everything in flight finished.
pub(crate) fn run(arguments: &Arguments, api: Arc<dyn Api>, routes: Routes) -> Result<bool> {
    if arguments.dynamodb_port != 0 && arguments.dynamodb_port == arguments.admin_port {
        return Err(Error::invalid("--dynamodb-port and --admin-port are the same"));
    }
    let mut options = ServerOptions {
        host: arguments.host,
        port: arguments.dynamodb_port,
        admin_port: Some(arguments.admin_port),
        shared: arguments.shared,
        auth: arguments.auth.clone(),
        seed: arguments.seed(),
        routes,
        ..ServerOptions::default()
    };
    options.limits.connections = usize::try_from(arguments.max_connections).unwrap_or(usize::MAX);
    let server = Server::start(options, api)?;
    let stopper = server.stopper();
    server.on_signals(&[Signal::Interrupt, Signal::Terminate], move |_| stopper.stop())?;
    let ready = serde_json::json!({
        "ready": true,
        "dynamodb": server.endpoint(),
        "admin": server.admin_url(),
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
    });
    output::print(&format!("{ready}\n"))?;
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let keys = if arguments.auth.is_some() { "signatures are verified" } else { "any credentials do" };
        let _ = writeln!(
            stderr,
            "hotplate {} stands in for DynamoDB at {}; {keys}; Ctrl-C stops it",
            env!("CARGO_PKG_VERSION"),
            server.endpoint()
        );
    }
    Ok(server.wait())
}
