//! One allowed directory, held by its handle.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags};
use settings::choices::STATE_ROOT;

#[derive(Debug)]
pub(super) struct Root {
    /// With links resolved.
    pub(super) path: PathBuf,
    pub(super) handle: OwnedFd,
    pub(super) configured: PathBuf,
    /// Its path below the operator's root that it is in: rules about paths hold from there.
    pub(super) in_rules: PathBuf,
}

/// Why the roots cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    /// There is none.
    #[error("no allowed root")]
    None,
    /// Roots are absolute paths.
    #[error("the root {0:?} is not absolute")]
    Relative(PathBuf),
    /// It is missing, no directory or not readable.
    #[error("cannot open the root {0:?} as a directory")]
    Open(PathBuf, #[source] io::Error),
    /// It is a directory that must not be one, for this reason.
    #[error("the root {0:?} is forbidden: {1}")]
    Forbidden(PathBuf, String),
}

impl Root {
    pub(super) fn open(path: &Path) -> Result<Self, RootsError> {
        if path.is_relative() {
            return Err(RootsError::Relative(path.to_owned()));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|errno| RootsError::Open(path.to_owned(), errno.into()))?;
        let real = real_path(&handle).unwrap_or_else(|| path.to_owned());
        let configured = path.components().collect();
        Ok(Self { path: real, configured, handle, in_rules: PathBuf::new() })
    }
}

/// The root that an absolute path lies in, compared by whole components, and the rest of the path.
pub(super) fn root_of(roots: &[Root], path: &Path) -> Option<(usize, PathBuf)> {
    roots
        .iter()
        .enumerate()
        .filter_map(|(index, root)| {
            let beneath = path.strip_prefix(&root.path).or_else(|_| path.strip_prefix(&root.configured));
            Some((index, beneath.ok()?))
        })
        .min_by_key(|(_, beneath)| beneath.as_os_str().len())
        .map(|(index, beneath)| (index, beneath.to_owned()))
}

/// The path of an open file, as the kernel knows it.
pub(super) fn real_path(handle: &OwnedFd) -> Option<PathBuf> {
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let path = rustix::fs::readlinkat(CWD, link, Vec::new()).ok()?;
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    path.is_absolute().then(|| path.to_owned())
}

/// The place of the root for what an agent keeps.
pub(super) fn state_root(roots: &[Root]) -> Option<usize> {
    let is_named = |path: &Path| path.file_name().is_some_and(|name| name == STATE_ROOT);
    roots.iter().position(|root| is_named(&root.path) || is_named(&root.configured))
}
