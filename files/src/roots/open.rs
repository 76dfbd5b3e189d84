//! The roots, and opening what a caller named beneath them.

use std::borrow::Cow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use protocol::ToolError;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use toolkit::arguments::{elide, invalid};

use super::certificates::is_public;
use super::child::open_without_links;
use super::control_names::ControlFiles;
use super::denied::DeniedPaths;
use super::error::{open_error, outside, path_denied};
use super::git_rules::GitRules;
use super::root::{Root, RootsError, real_path, root_of, state_root};
use super::{names, resolve};

/// How the kernel marks the path of a deleted file.
const GONE: &[u8] = b" (deleted)";

/// Where what was taken back from commands lies in the output directory.
pub const QUARANTINE: &str = "quarantine";

/// How often we retry a path that was replaced while it was opened.
pub(super) const MAX_TRIES: usize = 16;

/// Where what changes replaced lies in the output directory.
pub const UNDO_DIRECTORY: &str = "undo";

/// The longest path that the kernel accepts, in bytes.
const MAX_PATH_BYTES: usize = 4096;

/// The directories that a caller may use. Relative paths start at the first.
#[derive(Debug)]
pub struct Roots {
    pub(super) roots: Vec<Root>,
    pub(super) rules: Arc<Rules>,
    /// The place of the root for what an agent keeps.
    pub(super) state: Option<usize>,
    /// How the names of its outputs begin, if these are not the roots of all callers.
    pub(super) owner: Option<String>,
    /// Whether they are parts of the roots, and commands see no more of these.
    pub(super) are_parts: bool,
    /// Whether nothing in them may be changed.
    pub(super) are_read_only: bool,
}

/// What holds in all roots for all sessions.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) denied: DeniedPaths,
    pub(super) protected: ControlFiles,
    output: Option<Root>,
    pub(super) git: GitRules,
}

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lead {
    /// To this place, by root and path below it.
    Inside(usize, PathBuf),
    /// To nothing that exists, at this place in a root.
    Missing,
    /// Out of the roots, or unknown.
    Outside,
}

/// Something beneath a root, opened.
#[derive(Debug)]
pub struct Opened {
    /// Its handle.
    pub handle: OwnedFd,
    /// The absolute path with all links resolved, as the kernel knows it.
    pub path: PathBuf,
    /// The same beneath its root; empty for the root itself.
    pub beneath: PathBuf,
    /// The place of its root.
    pub(super) at: usize,
}

impl Opened {
    /// The path of the root that it is in.
    pub fn root(&self) -> PathBuf {
        let mut root = self.path.clone();
        self.beneath.components().for_each(|_| {
            root.pop();
        });
        root
    }
}

impl Roots {
    /// Opens the roots, without duplicates. `is_forbidden` says why a directory must not be a root.
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
            let state = state_root(&roots);
            let rules = Rules { denied, protected, output: None, git: GitRules::default() };
            let (owner, are_parts, are_read_only) = (None, false, false);
            Ok(Self { roots, rules: Arc::new(rules), state, owner, are_parts, are_read_only })
        }
    }

    /// Adds a directory whose files can only be read: the output of commands.
    pub fn with_output(mut self, directory: &Path) -> Result<Self, RootsError> {
        let rules = Arc::get_mut(&mut self.rules).expect("no session has a part of these roots yet");
        rules.output = Some(Root::open(directory)?);
        Ok(self)
    }

    /// Where relative paths start.
    pub fn first(&self) -> &Path {
        &self.roots[0].path
    }

    /// Whether there is a root for what an agent keeps.
    pub fn has_state(&self) -> bool {
        self.state.is_some()
    }

    /// The paths of the roots.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.path.as_path())
    }

    /// The roots for the sandbox, each with its own handle.
    pub fn for_sandbox(&self) -> std::io::Result<Vec<sandbox::Root>> {
        let copy =
            |root: &Root| Ok(sandbox::Root { path: root.path.clone(), handle: root.handle.try_clone()? });
        self.roots.iter().map(copy).collect()
    }

    /// Gives the server's user back the right to use a root that a command has closed.
    pub fn reopen(&self) {
        for root in &self.roots {
            let Ok(stat) = rustix::fs::fstat(&root.handle) else { continue };
            let is_own = stat.st_uid == rustix::process::geteuid().as_raw();
            if is_own && stat.st_mode & 0o700 != 0o700 {
                let mode = Mode::from_raw_mode(stat.st_mode & 0o7777 | 0o700);
                match rustix::fs::fchmod(&root.handle, mode) {
                    Ok(()) => {
                        tracing::warn!(root = %root.path.display(), "a command closed a root; open again")
                    }
                    Err(error) => tracing::error!(root = %root.path.display(), %error, "a root is closed"),
                }
            }
        }
    }

    /// The control files that tools never write.
    pub fn control_files(&self) -> &ControlFiles {
        &self.rules.protected
    }

    /// The paths that no caller may open.
    pub fn denied(&self) -> &DeniedPaths {
        &self.rules.denied
    }

    /// Opens a directory.
    pub fn open_directory(&self, path: &str) -> Result<Opened, ToolError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        self.open_named(path, flags)
    }

    /// Opens a regular file that a caller named, for reading; refuses a pipe or device without blocking.
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
        let output = self.rules.output.as_ref()?;
        let beneath = Path::new(path).strip_prefix(&output.path).ok()?;
        if !self.owns_output(beneath) {
            return Some(Err(open_error(path, Errno::NOENT)));
        }
        let handle = open_without_links(&output.handle, beneath, flags);
        let opened = |handle| Opened { path: path.into(), beneath: beneath.to_owned(), at: 0, handle };
        Some(handle.map(opened).map_err(|errno| open_error(path, errno)))
    }

    /// Whether the caller may know of a path in the output directory. What lies there is named after its
    /// session and call, directly or in the quarantine. No caller reads what was kept for undoing.
    fn owns_output(&self, beneath: &Path) -> bool {
        if beneath.starts_with(UNDO_DIRECTORY) {
            return false;
        }
        let Some(owner) = &self.owner else { return true };
        let prefix = names::owner_prefix(owner);
        let is_plain = beneath.components().all(|part| matches!(part, Component::Normal(_)));
        let below = beneath.strip_prefix(QUARANTINE).unwrap_or(beneath);
        let first = below.iter().next();
        is_plain && first.is_some_and(|name| name.as_bytes().starts_with(prefix.as_bytes()))
    }

    fn open_named(&self, path: &str, flags: OFlags) -> Result<Opened, ToolError> {
        let (root, beneath) = self.place(path)?;
        let named = self.in_rules(root, &lexically_clean(&beneath)).into_owned();
        if self.rules.denied.covers(&named) && !self.rules.denied.covers_as_certificate(&named) {
            return Err(path_denied(path));
        }
        let opened = self.open_settled(path, root, &beneath, flags).map_err(|error| {
            // Only what was opened can show that it is a certificate.
            let is_denied = self.rules.denied.covers(&named);
            if is_denied { path_denied(path) } else { self.with_near_names(path, root, &beneath, error) }
        })?;
        if self.is_withheld(&opened) { Err(path_denied(path)) } else { Ok(opened) }
    }

    /// Whether what was opened is denied and no certificate.
    fn is_withheld(&self, opened: &Opened) -> bool {
        let (denied, path) = (&self.rules.denied, self.path_in_rules(opened));
        denied.covers(&path) && !(denied.covers_as_certificate(&path) && is_public(&opened.handle))
    }

    /// Opens a path and asks the kernel what was opened. Retries when it was replaced in between, since a
    /// deleted file has no path.
    pub(super) fn open_settled(
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

    /// The root that a path belongs to, and the rest of the path, not yet resolved.
    pub(super) fn place(&self, path: &str) -> Result<(usize, PathBuf), ToolError> {
        if path.is_empty() {
            return Err(invalid("The path is empty; the first root is `.`."));
        }
        let bytes = names::from_text(path).map_err(|_| {
            invalid(format!("The path {:?} has a backslash that does not begin an escape.", elide(path, 200)))
                .with_hint(
                    "Write a backslash in a name as `\\\\`; pass names back exactly as tools show them.",
                )
        })?;
        if bytes.as_bytes().contains(&0) {
            return Err(invalid("The path has a NUL byte, which no file name can have."));
        }
        if bytes.len() >= MAX_PATH_BYTES {
            return Err(invalid(format!("The path has {} bytes; the limit is 4095.", bytes.len())));
        }
        let bytes = Path::new(&bytes);
        if bytes.is_relative() {
            return self.behind_alias(bytes).unwrap_or_else(|| Ok((0, bytes.to_owned())));
        }
        root_of(&self.roots, bytes).ok_or_else(|| outside(path))
    }

    /// A path below a root as rules about paths see it: from the operator's root.
    pub(super) fn in_rules<'p>(&self, root: usize, beneath: &'p Path) -> Cow<'p, Path> {
        let above = &self.roots[root].in_rules;
        if above.as_os_str().is_empty() { beneath.into() } else { above.join(beneath).into() }
    }

    /// The operator's root of what was opened, from which rules about paths hold.
    pub fn operator_root(&self, opened: &Opened) -> PathBuf {
        let mut root = opened.root();
        self.above(opened).components().for_each(|_| {
            root.pop();
        });
        root
    }

    /// The path of the root of what was opened, below the operator's root that it is in.
    pub fn above(&self, opened: &Opened) -> &Path {
        &self.roots[opened.at].in_rules
    }

    /// What was opened, as rules about paths see it.
    pub fn path_in_rules<'o>(&self, opened: &'o Opened) -> Cow<'o, Path> {
        self.in_rules(opened.at, &opened.beneath)
    }

    /// Where an absolute path leads with all links followed.
    pub fn locate(&self, path: &Path) -> Lead {
        let Some((root, beneath)) = root_of(&self.roots, path) else { return Lead::Outside };
        match resolve::open_beneath(&self.roots, root, &beneath, OFlags::PATH | OFlags::CLOEXEC) {
            Ok(handle) => {
                let place = self.identify(handle).and_then(|opened| root_of(&self.roots, &opened.path));
                place.map_or(Lead::Outside, |(root, path)| Lead::Inside(root, path))
            }
            Err(Errno::NOENT | Errno::NOTDIR) => Lead::Missing,
            Err(_) => Lead::Outside,
        }
    }

    /// What a handle is, as the kernel knows it.
    pub(super) fn identify(&self, handle: OwnedFd) -> Option<Opened> {
        let path = real_path(&handle)?;
        let (root, beneath) = root_of(&self.roots, &path).or_else(|| self.root_that_moved(&path))?;
        let path = self.roots[root].path.join(&beneath).components().collect();
        Some(Opened { path, beneath, at: root, handle })
    }

    /// Finds a path beneath a root that was renamed since the start.
    fn root_that_moved(&self, path: &Path) -> Option<(usize, PathBuf)> {
        self.roots.iter().enumerate().find_map(|(index, root)| {
            let now = real_path(&root.handle)?;
            Some((index, path.strip_prefix(now).ok()?.to_owned()))
        })
    }
}

/// Removes `.` and `..` from a path as text alone; only for an early refusal.
pub fn lexically_clean(path: &Path) -> PathBuf {
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
