//! What the tests of the binary share: a folder of their own, and runs of `hotplate` in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The built binary.
pub(crate) const HOTPLATE: &str = env!("CARGO_BIN_EXE_hotplate");

/// A folder of its own, removed at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("hotplate-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// This folder with one more file.
    pub(crate) fn with(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.0.join(name), content).unwrap();
        self
    }

    /// `hotplate` with these arguments, ready to be started here.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(HOTPLATE);
        command.current_dir(&self.0).args(arguments);
        command
    }

    /// What `hotplate` does with these arguments, when started here.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a run printed that must have gone well: nothing may stand on stderr, which is no terminal here.
#[track_caller]
pub(crate) fn printed(output: Output) -> String {
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), complaint.as_str()), (Some(0), ""));
    String::from_utf8(output.stdout).unwrap()
}
