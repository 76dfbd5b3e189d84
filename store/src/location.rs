//! Where the database is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::sql::address::ServerAddress;

/// A file, or a database of a server.
#[derive(Debug, Clone)]
pub enum Location {
    /// A SQLite file.
    File(PathBuf),
    /// A database of a PostgreSQL server.
    Server(Arc<ServerAddress>),
}

impl Location {
    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Server(_) => None,
        }
    }
}

impl From<PathBuf> for Location {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Location {
    fn from(path: &P) -> Self {
        Self::File(path.as_ref().to_owned())
    }
}

impl From<&Location> for Location {
    fn from(location: &Location) -> Self {
        location.clone()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(formatter),
            Self::Server(address) => address.fmt(formatter),
        }
    }
}
