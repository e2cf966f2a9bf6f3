//! What a server is started with: where it listens, whom it trusts, and the limits it keeps.

use super::admin::Routes;
use super::auth::Credentials;
use crate::clock::Clock;
use crate::rng::Seed;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

/// What a server is started with. The default is what a test wants: free ports of this machine, a database for each
/// caller, no secrets.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The address to listen on. Anything but a loopback address lets others in, and there is no encryption.
    pub host: IpAddr,
    /// The port of the DynamoDB endpoint; zero picks a free one.
    pub port: u16,
    /// The port of the admin listener, zero for a free one; `None` for no such listener.
    pub admin_port: Option<u16>,
    /// Whether all callers see one database.
    pub shared: bool,
    /// The only credentials that are let in, with their signatures verified; `None` lets everyone in who names some.
    pub auth: Option<Credentials>,
    /// Whether answers explain themselves beyond the service's; a request's `x-hotplate-hints: on` or `off` goes first.
    pub hints: bool,
    /// The seed of request ids.
    pub seed: Seed,
    /// The time that the service is told. Time-outs and signatures go by the machine's time, whatever this says.
    pub clock: Clock,
    /// Limits of size, time and number.
    pub limits: Limits,
    /// What the admin listener answers besides its own.
    pub routes: Routes,
    /// Threads that serve; `None` for as many as there are cores.
    pub threads: Option<usize>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            admin_port: None,
            shared: false,
            auth: None,
            hints: false,
            seed: Seed(0),
            clock: Clock::system(),
            limits: Limits::default(),
            routes: Routes::default(),
            threads: None,
        }
    }
}

/// Limits of size, time and number.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a request's head; more is answered with 431. At least 8 KB.
    pub header_bytes: usize,
    /// Bytes of a request's body; more is answered with 413. DynamoDB's limit is 16 MB.
    pub body_bytes: usize,
    /// Time from the first byte of a head to its last, and between two pieces of a body.
    pub read_time: Duration,
    /// Time that a connection may stand without a request.
    pub idle_time: Duration,
    /// Connections at a time; further ones are told so and closed.
    pub connections: usize,
    /// Time that requests in flight are given when the server stops.
    pub stop_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_bytes: 64 * 1024,
            body_bytes: 16 * 1024 * 1024,
            read_time: Duration::from_secs(30),
            // Clients keep connections for a minute or so: whoever closes first should not be the server.
            idle_time: Duration::from_secs(600),
            connections: 10_000,
            stop_time: Duration::from_secs(5),
        }
    }
}
