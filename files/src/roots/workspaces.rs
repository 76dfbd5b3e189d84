//! What of the roots a session may use: all of them, or in each one a directory of its own.
//!
//! A path of a caller can be opened only through [`Roots`], and for a call those come from [`Workspaces::of`]
//! alone: a new tool or route has to say for which session it asks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use protocol::{ErrorCode, EventId, SessionId, ToolError};
use rustix::fs::{Mode, OFlags, ResolveFlags, mkdirat, openat2};
use rustix::io::Errno;
use settings::choices::Division;

use super::names;
use super::open::Roots;
use super::root::Root;

/// The roots, from which each session gets its part.
#[derive(Debug)]
pub struct Workspaces {
    whole: Arc<Roots>,
    division: Division,
}

/// Shared by all sessions.
impl From<Roots> for Arc<Workspaces> {
    fn from(roots: Roots) -> Self {
        Self::new(Workspaces::new(roots, Division::Shared))
    }
}

impl Workspaces {
    /// Divides the roots, or not.
    pub fn new(roots: Roots, division: Division) -> Self {
        Self { whole: Arc::new(roots), division }
    }

    /// The roots as a session sees them. Its own directories are made when they are first needed.
    ///
    /// # Errors
    /// `PATH_DENIED` and `PROTECTED_PATH` where the name of its directory is one that tools never use,
    /// `PERMISSION_DENIED` and `IO_ERROR` where the directory cannot be made or opened.
    pub fn of(&self, session: &SessionId) -> Result<Arc<Roots>, ToolError> {
        match self.division {
            Division::Shared => Ok(Arc::clone(&self.whole)),
            Division::PerChat => self.whole.own_part(session.directory_name()).map(Arc::new),
        }
    }

    /// The roots without regard to sessions: for the server's own work, never for a path that a caller named.
    pub fn whole(&self) -> &Arc<Roots> {
        &self.whole
    }

    /// Whether each session has its own part.
    pub fn are_divided(&self) -> bool {
        self.division == Division::PerChat
    }

    /// The name under which something of a call lies in the output directory. Only the call's own session
    /// may open it there.
    pub fn output_name(&self, session: &SessionId, call: &EventId) -> String {
        match self.division {
            Division::Shared => call.as_str().to_owned(),
            Division::PerChat => format!("{}{call}", names::owner_prefix(&session.directory_name())),
        }
    }

    /// Whether a path below a root belongs to a session: its first name is the session's directory.
    pub fn belongs_to(&self, session: &SessionId) -> impl Fn(&Path) -> bool + use<> {
        let own = self.are_divided().then(|| session.directory_name());
        move |beneath| own.as_ref().is_none_or(|own| beneath.starts_with(own))
    }

    /// A path below a root as it is, and as the session sees it whose directory it is in. Rules about paths
    /// from the root hold for both: roots that commands may only read are not divided.
    pub fn ways_to_see<'p>(&self, beneath: &'p Path) -> impl Iterator<Item = &'p Path> + use<'p> {
        let mut rest = beneath.components();
        rest.next();
        let as_session = self.are_divided().then_some(rest.as_path());
        [beneath].into_iter().chain(as_session.filter(|path| !path.as_os_str().is_empty()))
    }
}

impl Roots {
    /// The part of the roots in the directories of this name, which are made unless they exist.
    fn own_part(&self, name: String) -> Result<Self, ToolError> {
        let beneath = Path::new(&name);
        if self.rules.denied.covers(beneath) {
            return Err(refused(ErrorCode::PathDenied, "is denied by AUTONOUS_TOOL_DENY_PATHS"));
        }
        if self.rules.protected.covers(beneath) {
            return Err(refused(ErrorCode::ProtectedPath, "has the name of a control file"));
        }
        let roots: Result<Vec<Root>, Errno> = self.roots.iter().map(|root| root.own_part(beneath)).collect();
        let roots = roots.map_err(|errno| {
            tracing::error!(%name, %errno, "could not open the directory of a session");
            match errno {
                Errno::ACCESS | Errno::PERM => {
                    refused(ErrorCode::PermissionDenied, "is not accessible to the server's user")
                }
                _ => refused(ErrorCode::IoError, "could not be opened"),
            }
        })?;
        Ok(Self { roots, rules: Arc::clone(&self.rules), owner: Some(name) })
    }

    /// For a session with its own part, the directories that its commands see.
    pub fn own_directories(&self) -> std::io::Result<Vec<sandbox::OwnDirectory>> {
        let roots = if self.owner.is_some() { self.roots.as_slice() } else { &[] };
        let own = |root: &Root| {
            let found = rustix::fs::fstat(&root.handle)?;
            Ok(sandbox::OwnDirectory { path: root.path.clone(), device: found.st_dev, inode: found.st_ino })
        };
        roots.iter().map(own).collect()
    }

    /// The paths of all roots.
    pub fn to_paths(&self) -> Vec<PathBuf> {
        self.paths().map(Path::to_owned).collect()
    }
}

impl Root {
    fn own_part(&self, name: &Path) -> Result<Self, Errno> {
        match mkdirat(&self.handle, name, Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let handle = openat2(&self.handle, name, flags, Mode::empty(), resolve)?;
        Ok(Self { path: self.path.join(name), configured: self.configured.join(name), handle })
    }
}

fn refused(code: ErrorCode, why: &str) -> ToolError {
    ToolError::new(code, format!("The directory of this session {why}."))
        .with_hint("The operator of the server must rename what is in its place, or use another session.")
}
