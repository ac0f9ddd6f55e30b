//! What can go wrong when a model is made, stored or used.

use std::path::{Path, PathBuf};

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something about a graph, a query or a file of these.
    #[error(transparent)]
    Graph(#[from] skolem_kg::Error),
    /// A knob that does not exist, or a value that it cannot take.
    #[error("{0}")]
    Setting(String),
    /// A file that cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file that is not what it should be.
    #[error("{path}: {what}")]
    Corrupt {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        what: String,
    },
    /// Numbers went out of hand while learning.
    #[error(
        "learning diverged at update {update}: {what}; the state before it is kept; start anew with a lower train.rate"
    )]
    Diverged {
        /// The update that was not made.
        update: u64,
        /// Which number of which tensor.
        what: String,
    },
    /// Somebody asked to stop.
    #[error("stopped")]
    Stopped,
}

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Names the file of an error of the system.
    pub fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.as_ref().to_owned();
        move |source| Error::Io { path, source }
    }

    /// A file that is not what it should be.
    pub fn corrupt(path: impl AsRef<Path>, what: impl Into<String>) -> Error {
        Error::Corrupt { path: path.as_ref().to_owned(), what: what.into() }
    }
}
