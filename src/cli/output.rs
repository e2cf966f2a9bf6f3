//! Writing results: to stdout, or to a file that appears whole or not at all.

use hotplate::error::{Error, ErrorKind, Result};
use std::fs::File;
use std::io::{ErrorKind as IoErrorKind, Write};
use std::path::{Path, PathBuf};

/// Prints to stdout. A reader that closed the pipe has seen enough, and that is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != IoErrorKind::BrokenPipe => {
            Err(Error::new(ErrorKind::Io, format!("stdout cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Says on stderr what went wrong, where the exit code is somebody else's to choose. Nobody may be reading it.
#[cfg(feature = "server")]
pub(crate) fn complain(what: &str) {
    let _ = writeln!(std::io::stderr(), "error: {what}");
}

/// Whether two paths lead to one file that is there.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// A file to be. It is opened beside its final place before the work begins, so that a place that cannot be written
/// is found out at once, and renamed when it is whole. Dropped unfinished, it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct PendingFile {
    file: File,
    temporary: PathBuf,
    path: PathBuf,
    finished: bool,
}

impl PendingFile {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let fail = |why: &dyn std::fmt::Display| {
            Error::new(ErrorKind::Io, format!("{} cannot be written: {why}", path.display()))
        };
        match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => return Err(fail(&"it is a directory")),
            // A device or pipe would be replaced, not written to.
            Ok(there) if !there.is_file() => return Err(fail(&"it is not a regular file")),
            _ => {}
        }
        let Some(name) = path.file_name() else { return Err(fail(&"it names no file")) };
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.part", std::process::id()));
        let temporary = path.with_file_name(hidden);
        let file = File::create(&temporary).map_err(|error| fail(&error))?;
        Ok(Self { file, temporary, path: path.to_owned(), finished: false })
    }

    /// Writes a part of it. Whoever writes many small ones gathers them first.
    pub(crate) fn append(&mut self, text: &str) -> Result<()> {
        self.file.write_all(text.as_bytes()).map_err(|error| self.fault(&error))
    }

    pub(crate) fn finish(mut self, text: &str) -> Result<()> {
        self.append(text)?;
        std::fs::rename(&self.temporary, &self.path).map_err(|error| self.fault(&error))?;
        self.finished = true;
        Ok(())
    }

    fn fault(&self, error: &std::io::Error) -> Error {
        Error::new(ErrorKind::Io, format!("{} cannot be written: {error}", self.path.display()))
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if !self.finished {
            // Nothing more can be done about a temporary file that will not go.
            let _ = std::fs::remove_file(&self.temporary);
        }
    }
}
