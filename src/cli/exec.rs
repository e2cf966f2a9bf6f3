//! `hotplate exec -- CMD`: a command with an endpoint of its own.
//!
//! The command's AWS clients find the endpoint by their usual variables, and nothing that leads to a real account:
//! profiles, tokens, roles and configuration files are hidden. What answers is handed in; this file does not know it.

use super::output;
use clap::Args;
use hotplate::error::{Error, ErrorKind, Result};
use hotplate::rng::Seed;
use hotplate::server::{Api, Routes, Server, ServerOptions, Signal};
use std::ffi::OsString;
use std::io::{ErrorKind as IoErrorKind, IsTerminal as _};
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The command and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    command: Vec<OsString>,
    /// The region that the command's clients see.
    #[arg(long, default_value = "us-east-1")]
    region: String,
    /// One database for all callers, instead of one for each access key and region.
    #[arg(long)]
    shared: bool,
    /// The seed of everything random.
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
}

/// Variables by which a client would find a real account, or pass our endpoint by.
const HIDDEN: &[&str] = &[
    "AWS_PROFILE",
    "AWS_DEFAULT_PROFILE",
    "AWS_SESSION_TOKEN",
    "AWS_SECURITY_TOKEN",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CREDENTIAL_EXPIRATION",
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS",
    "AWS_USE_DUALSTACK_ENDPOINT",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_ACCOUNT_ID",
];

/// A file with nothing in it.
const NOTHING: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// What a shell answers for a command that is not there, and for one that cannot be run.
const EXIT_NOT_FOUND: u8 = 127;
const EXIT_NOT_RUN: u8 = 126;

impl Arguments {
    /// The seed, for those who make the API.
    pub(crate) fn seed(&self) -> Seed {
        Seed(self.seed)
    }
}

/// Runs the command beside `api`, and answers the exit code to end with: the command's, or 128 and its signal.
pub(crate) fn run(arguments: &Arguments, api: Arc<dyn Api>, routes: Routes) -> Result<u8> {
    let options = ServerOptions {
        admin_port: Some(0),
        shared: arguments.shared,
        seed: arguments.seed(),
        routes,
        ..ServerOptions::default()
    };
    let server = Server::start(options, api)?;
    let (program, rest) =
        arguments.command.split_first().ok_or_else(|| Error::invalid("there is no command to run"))?;
    let mut command = Command::new(program);
    command.args(rest);
    surround(&mut command, &server, &arguments.region);
    let child = Arc::new(Child::default());
    server.on_signals(FORWARDED, {
        let child = Arc::clone(&child);
        move |signal| child.send(signal)
    })?;
    let status = match child.run(&mut command) {
        Ok(status) => status,
        Err(error) => {
            let what = program.to_string_lossy();
            output::complain(&format!("{what} cannot be run: {error}"));
            return Ok(if error.kind() == IoErrorKind::NotFound { EXIT_NOT_FOUND } else { EXIT_NOT_RUN });
        }
    };
    server.stop();
    code(status).ok_or_else(|| Error::new(ErrorKind::Io, "the command ended in no known way"))
}

/// Sets what the command's clients look at.
fn surround(command: &mut Command, server: &Server, region: &str) {
    for name in HIDDEN {
        command.env_remove(name);
    }
    let endpoint = server.endpoint();
    command
        .env("AWS_ENDPOINT_URL_DYNAMODB", &endpoint)
        .env("AWS_ENDPOINT_URL_DYNAMODB_STREAMS", &endpoint)
        .env("AWS_REGION", region)
        .env("AWS_DEFAULT_REGION", region)
        .env("AWS_ACCESS_KEY_ID", "hotplate")
        .env("AWS_SECRET_ACCESS_KEY", "hotplate")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_CONFIG_FILE", NOTHING)
        .env("AWS_SHARED_CREDENTIALS_FILE", NOTHING);
    if let Some(admin) = server.admin_url() {
        command.env("HOTPLATE_ADMIN_URL", admin);
    }
    // A proxy does not reach this machine's own addresses, and must not see these requests.
    for name in ["NO_PROXY", "no_proxy"] {
        let mut list = std::env::var_os(name).unwrap_or_default();
        if !list.is_empty() {
            list.push(",");
        }
        list.push("127.0.0.1,localhost");
        command.env(name, list);
    }
}

/// Signals that are passed on.
const FORWARDED: &[Signal] =
    &[Signal::Interrupt, Signal::Quit, Signal::Terminate, Signal::Hangup, Signal::User1, Signal::User2];

/// The exit code that tells how a process ended.
fn code(status: ExitStatus) -> Option<u8> {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).ok();
    }
    // Other systems have wider codes; what does not fit is at least no success.
    status.code().map(|code| u8::try_from(code).unwrap_or(1))
}

/// The command's process while it runs, and a signal that came before it did.
#[derive(Default)]
struct Child(Mutex<State>);

#[derive(Default)]
struct State {
    pid: Option<u32>,
    early: Option<Signal>,
    ended: bool,
}

impl Child {
    /// Runs the command to its end.
    fn run(&self, command: &mut Command) -> std::io::Result<ExitStatus> {
        let mut process = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let process = command.spawn()?;
            state.pid = Some(process.id());
            if let Some(signal) = state.early.take() {
                pass_on(process.id(), signal);
            }
            process
        };
        let status = process.wait();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (state.pid, state.ended) = (None, true);
        status
    }

    /// Passes a signal on. At a terminal its keys reach the command without us, and would reach it twice.
    fn send(&self, signal: Signal) {
        let at_keyboard = matches!(signal, Signal::Interrupt | Signal::Quit);
        if at_keyboard && std::io::stdin().is_terminal() {
            return;
        }
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match state.pid {
            Some(pid) => pass_on(pid, signal),
            None if state.ended => {}
            None => state.early = Some(signal),
        }
    }
}

/// Sends a signal to a process. It may be gone already, which is what most signals want.
#[cfg(unix)]
fn pass_on(pid: u32, signal: Signal) {
    use rustix::process::{Pid, Signal as Unix, kill_process};
    let signal = match signal {
        Signal::Interrupt => Unix::INT,
        Signal::Quit => Unix::QUIT,
        Signal::Hangup => Unix::HUP,
        Signal::User1 => Unix::USR1,
        Signal::User2 => Unix::USR2,
        _ => Unix::TERM,
    };
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Elsewhere a process hears the keyboard by itself, and there is nothing else to pass on.
#[cfg(not(unix))]
fn pass_on(_pid: u32, _signal: Signal) {}
