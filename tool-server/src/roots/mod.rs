//! Roots: the only way from a path in a call to something on the disk.
//!
//! A root is held as a directory handle, opened once at the start. Every path is resolved beneath a handle
//! by the kernel (`openat2`), so there is no moment between a check and its use, and a link that leads out
//! is refused wherever it is in the path. No other module of this crate opens what a caller named.

mod denied;
pub mod names;
mod resolve;
mod target;

use std::ffi::OsStr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use protocol::{ErrorCode, ToolError};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use sandbox::ControlFiles;
use toolkit::arguments::{elide, invalid};

pub use denied::{DEFAULT_DENIED, DeniedPaths};
pub use target::{Entry, Missing, Target};

/// How the kernel marks the path of a file that is gone.
const GONE: &[u8] = b" (deleted)";

/// How often a path is opened again that was replaced while it was opened.
const MAX_TRIES: usize = 16;

/// The control files that file tools never write, where AUTONOUS_TOOL_PROTECTED says nothing else.
pub const DEFAULT_PROTECTED: &str =
    ".git/hooks,.git/config,.envrc,.vscode,.idea,.mcp.json,.claude,.codex,.cursor";

/// The longest path that the kernel takes, in bytes.
const MAX_PATH_BYTES: usize = 4096;

/// An allowed directory.
#[derive(Debug)]
pub struct Root {
    /// With links resolved.
    path: PathBuf,
    /// As it was configured.
    given: PathBuf,
    handle: OwnedFd,
}

/// The allowed directories. Relative paths start at the first.
#[derive(Debug)]
pub struct Roots {
    roots: Vec<Root>,
    denied: DeniedPaths,
    protected: ControlFiles,
    output: Option<Root>,
}

/// Why the roots cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    /// There is none.
    #[error("no allowed root")]
    None,
    /// It is not absolute.
    #[error("the root {0:?} is not absolute")]
    Relative(PathBuf),
    /// It cannot be opened as a directory.
    #[error("the root {0:?} cannot be opened as a directory: {1}")]
    Open(PathBuf, #[source] std::io::Error),
    /// Tools must not reach it.
    #[error("the root {0:?} is forbidden: {1}")]
    Forbidden(PathBuf, String),
}

/// Something beneath a root, opened.
#[derive(Debug)]
pub struct Opened {
    /// The handle.
    pub handle: OwnedFd,
    /// The absolute path with all links resolved, as the kernel knows it.
    pub path: PathBuf,
    /// The same beneath its root; empty for the root itself.
    pub beneath: PathBuf,
}

impl Roots {
    /// Opens the roots, cleaned and without duplicates. `is_forbidden` says why one must not be a root.
    pub fn open(
        paths: &[PathBuf],
        denied: DeniedPaths,
        protected: ControlFiles,
        is_forbidden: impl Fn(&Path) -> Option<String>,
    ) -> Result<Self, RootsError> {
        let mut roots: Vec<Root> = Vec::with_capacity(paths.len());
        for path in paths {
            let root = Root::open(path)?;
            if let Some(reason) = is_forbidden(&root.path) {
                return Err(RootsError::Forbidden(path.clone(), reason));
            }
            if roots.iter().all(|other| other.path != root.path) {
                roots.push(root);
            }
        }
        if roots.is_empty() {
            Err(RootsError::None)
        } else {
            Ok(Self { roots, denied, protected, output: None })
        }
    }

    /// The same with a directory whose files can be read and nothing else: the output of commands.
    pub fn with_output(mut self, directory: &Path) -> Result<Self, RootsError> {
        self.output = Some(Root::open(directory)?);
        Ok(self)
    }

    /// Where relative paths start.
    pub fn first(&self) -> &Path {
        &self.roots[0].path
    }

    /// The roots' absolute paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.path.as_path())
    }

    /// The roots as the sandbox takes them: each with a handle of its own.
    pub fn for_sandbox(&self) -> std::io::Result<Vec<sandbox::Root>> {
        let copy =
            |root: &Root| Ok(sandbox::Root { path: root.path.clone(), handle: root.handle.try_clone()? });
        self.roots.iter().map(copy).collect()
    }

    /// What is denied beneath the roots.
    pub fn denied(&self) -> &DeniedPaths {
        &self.denied
    }

    /// Opens a directory that a caller named.
    pub fn open_directory(&self, path: &str) -> Result<Opened, ToolError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        self.open_named(path, flags)
    }

    /// Opens a regular file that a caller named, for reading. A pipe or a device is opened without
    /// blocking, looked at, and refused.
    pub fn open_file(&self, path: &str) -> Result<Opened, ToolError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = match self.open_output(path, flags) {
            Some(opened) => opened?,
            None => self.open_named(path, flags)?,
        };
        let stat = rustix::fs::fstat(&opened.handle).map_err(|errno| open_error(path, errno))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(opened),
            FileType::Directory => Err(open_error(path, Errno::ISDIR)),
            _ => Err(open_error(path, Errno::NXIO)),
        }
    }

    /// Opens a file of the output directory, if the path lies there.
    fn open_output(&self, path: &str, flags: OFlags) -> Option<Result<Opened, ToolError>> {
        let output = self.output.as_ref()?;
        let beneath = Path::new(path).strip_prefix(&output.path).ok()?;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let handle = rustix::fs::openat2(&output.handle, beneath, flags, Mode::empty(), resolve);
        let opened = |handle| Opened { path: path.into(), beneath: beneath.to_owned(), handle };
        Some(handle.map(opened).map_err(|errno| open_error(path, errno)))
    }

    fn open_named(&self, path: &str, flags: OFlags) -> Result<Opened, ToolError> {
        let (root, beneath) = self.place(path)?;
        if self.denied.covers(&lexically_clean(&beneath)) {
            return Err(path_denied(path));
        }
        let opened = self.open_settled(path, root, &beneath, flags)?;
        if self.denied.covers(&opened.beneath) { Err(path_denied(path)) } else { Ok(opened) }
    }

    /// Opens a path and asks the kernel what was opened; begins again when it was replaced in between, since
    /// what is gone has no path any more.
    fn open_settled(
        &self,
        path: &str,
        root: usize,
        beneath: &Path,
        flags: OFlags,
    ) -> Result<Opened, ToolError> {
        let mut tries = 0;
        loop {
            let handle = resolve::open_beneath(&self.roots, root, beneath, flags)
                .map_err(|errno| open_error(path, errno))?;
            let opened = self.identify(handle).ok_or_else(|| outside(path))?;
            tries += 1;
            if tries == MAX_TRIES || !opened.path.as_os_str().as_bytes().ends_with(GONE) {
                return Ok(opened);
            }
        }
    }

    /// The root that a path belongs to, and what follows beneath it, not yet resolved.
    fn place(&self, path: &str) -> Result<(usize, PathBuf), ToolError> {
        if path.is_empty() {
            return Err(invalid("The path is empty; `.` is the first root."));
        }
        let bytes = names::from_text(path).map_err(|_| {
            invalid(format!("The path {:?} has a backslash that begins no escape.", elide(path, 200)))
                .with_hint(
                    "Write a backslash in a name as `\\\\`; pass names back exactly as tools show them.",
                )
        })?;
        if bytes.as_bytes().contains(&0) {
            return Err(invalid("The path has a NUL byte, which no file name can have."));
        }
        if bytes.len() >= MAX_PATH_BYTES {
            return Err(invalid(format!("The path has {} bytes; at most 4095 are possible.", bytes.len())));
        }
        let bytes = Path::new(&bytes);
        if bytes.is_relative() {
            return Ok((0, bytes.to_owned()));
        }
        root_of(&self.roots, bytes).ok_or_else(|| outside(path))
    }

    /// Asks the kernel what was opened.
    fn identify(&self, handle: OwnedFd) -> Option<Opened> {
        let path = real_path(&handle)?;
        let (root, beneath) = root_of(&self.roots, &path).or_else(|| self.root_that_moved(&path))?;
        let path = self.roots[root].path.join(&beneath).components().collect();
        Some(Opened { path, beneath, handle })
    }

    /// A root that was renamed since the start is still the same directory.
    fn root_that_moved(&self, path: &Path) -> Option<(usize, PathBuf)> {
        self.roots.iter().enumerate().find_map(|(index, root)| {
            let now = real_path(&root.handle)?;
            Some((index, path.strip_prefix(now).ok()?.to_owned()))
        })
    }
}

impl Root {
    fn open(path: &Path) -> Result<Self, RootsError> {
        if path.is_relative() {
            return Err(RootsError::Relative(path.to_owned()));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = rustix::fs::open(path, flags, Mode::empty())
            .map_err(|errno| RootsError::Open(path.to_owned(), errno.into()))?;
        let real = real_path(&handle).unwrap_or_else(|| path.to_owned());
        Ok(Self { path: real, given: path.components().collect(), handle })
    }
}

/// The root that holds an absolute path, by whole components, and the rest of the path.
fn root_of(roots: &[Root], path: &Path) -> Option<(usize, PathBuf)> {
    roots
        .iter()
        .enumerate()
        .filter_map(|(index, root)| {
            let beneath = path.strip_prefix(&root.path).or_else(|_| path.strip_prefix(&root.given));
            Some((index, beneath.ok()?))
        })
        .min_by_key(|(_, beneath)| beneath.as_os_str().len())
        .map(|(index, beneath)| (index, beneath.to_owned()))
}

/// The path of an open file, as the kernel knows it.
fn real_path(handle: &OwnedFd) -> Option<PathBuf> {
    let link = format!("/proc/self/fd/{}", handle.as_raw_fd());
    let path = rustix::fs::readlinkat(CWD, link, Vec::new()).ok()?;
    let path = Path::new(OsStr::from_bytes(path.as_bytes()));
    path.is_absolute().then(|| path.to_owned())
}

/// Opens an entry of an open directory as a directory, without following a link.
pub fn open_child_directory(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve)
}

/// Opens a file beneath an open directory for reading, without following any link on the way. Whoever
/// calls it looks at what it opened: it may be a pipe or a device, opened without blocking.
pub fn open_child_file(directory: BorrowedFd<'_>, beneath: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    rustix::fs::openat2(directory, beneath, flags, Mode::empty(), resolve)
}

/// A path without `.`, and with `..` taken back, by text alone; only for an early refusal.
fn lexically_clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                clean.pop();
            }
            Component::Normal(name) => clean.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    clean
}

fn outside(path: &str) -> ToolError {
    let message = format!("The path {:?} leads outside the allowed roots.", elide(path, 200));
    ToolError::new(ErrorCode::PathOutsideRoots, message)
}

fn path_denied(path: &str) -> ToolError {
    let message = format!("The path {:?} is denied by AUTONOUS_TOOL_DENY_PATHS.", elide(path, 200));
    ToolError::new(ErrorCode::PathDenied, message)
}

/// What an errno of opening a path means for whoever named it.
fn open_error(path: &str, errno: Errno) -> ToolError {
    let shown = elide(path, 200);
    let (code, what) = match errno {
        Errno::XDEV => return outside(path),
        Errno::NOENT => (ErrorCode::NotFound, "does not exist"),
        Errno::NOTDIR => (ErrorCode::NotADirectory, "is not a directory, or a part of it is not"),
        Errno::ISDIR => (ErrorCode::IsDirectory, "is a directory"),
        Errno::LOOP => (ErrorCode::NotFound, "leads through a loop of links, so nothing is there"),
        Errno::ACCESS | Errno::PERM => {
            (ErrorCode::PermissionDenied, "is not accessible to the server's user")
        }
        Errno::NXIO | Errno::NODEV => (ErrorCode::NotARegularFile, "is a pipe, a socket or a device"),
        Errno::NAMETOOLONG => (ErrorCode::InvalidArgument, "has a name longer than 255 bytes"),
        other => {
            tracing::error!(path, errno = %other, "a path could not be opened");
            (ErrorCode::IoError, "could not be opened")
        }
    };
    ToolError::new(code, format!("The path {shown:?} {what}."))
}
