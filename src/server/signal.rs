//! Signals of the operating system, by the names that the command line needs. On systems without them only an
//! interrupt from the keyboard is heard.

use crate::error::Result;
#[cfg(unix)]
use crate::error::{Error, ErrorKind};
use tokio::runtime::Handle;

/// A signal that a process can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Signal {
    /// `SIGINT`: Ctrl-C.
    Interrupt,
    /// `SIGTERM`: please end.
    Terminate,
    /// `SIGHUP`: the terminal is gone.
    Hangup,
    /// `SIGQUIT`: Ctrl-\.
    Quit,
    /// `SIGUSR1`.
    User1,
    /// `SIGUSR2`.
    User2,
}

/// Calls `act` on `runtime` whenever one of `signals` comes, instead of what the system would do.
pub(super) fn listen(
    runtime: &Handle,
    signals: &[Signal],
    act: impl Fn(Signal) + Clone + Send + 'static,
) -> Result<()> {
    let _inside = runtime.enter();
    for &signal in signals {
        let act = act.clone();
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal as open};
            let kind = match signal {
                Signal::Interrupt => SignalKind::interrupt(),
                Signal::Terminate => SignalKind::terminate(),
                Signal::Hangup => SignalKind::hangup(),
                Signal::Quit => SignalKind::quit(),
                Signal::User1 => SignalKind::user_defined1(),
                Signal::User2 => SignalKind::user_defined2(),
            };
            let mut stream = open(kind).map_err(|error| {
                Error::new(ErrorKind::Io, format!("signals cannot be listened to: {error}"))
            })?;
            runtime.spawn(async move {
                while stream.recv().await.is_some() {
                    act(signal);
                }
            });
        }
        #[cfg(not(unix))]
        if signal == Signal::Interrupt {
            runtime.spawn(async move {
                while tokio::signal::ctrl_c().await.is_ok() {
                    act(signal);
                }
            });
        }
    }
    Ok(())
}
