//! What of the roots a session may use: all of them, or in each one a directory of its own.
//!
//! A path of a caller can be opened only through [`Roots`], and for a call those come from [`Workspaces::of`]
//! alone: a new tool or route has to say for which session it asks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use protocol::{ErrorCode, EventId, SessionId, ToolError};
use rustix::fs::OFlags;
use rustix::io::Errno;
use settings::choices::Division;
use toolkit::{Grant, Scope};

use super::child::{make_child_directory, open_without_links, or_here};
use super::names;
use super::open::Roots;
use super::root::{Root, root_of};

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

    /// The roots as a session sees them, as far as its token reaches. Its own directories are made when they
    /// are first needed.
    ///
    /// # Errors
    /// `PATH_DENIED` and `PROTECTED_PATH` where the name of its directory is one that tools never use,
    /// `PERMISSION_DENIED` and `IO_ERROR` where the directory cannot be made or opened, `PATH_OUTSIDE_ROOTS`
    /// where a directory of the token is in no root or does not exist.
    pub fn of(&self, scope: &Scope) -> Result<Arc<Roots>, ToolError> {
        let of_session = match self.division {
            Division::Shared => Arc::clone(&self.whole),
            Division::PerChat => Arc::new(self.whole.own_part(scope.directory_name())?),
        };
        match scope.grant() {
            None => Ok(of_session),
            Some(grant) => of_session.for_token(grant, &self.whole).map(Arc::new),
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
    /// may open it there, and with a named token only that token.
    pub fn output_name(&self, session: &SessionId, token: Option<&str>, call: &EventId) -> String {
        let session = self.are_divided().then(|| session.directory_name());
        match owner(session, token) {
            None => call.as_str().to_owned(),
            Some(owner) => format!("{}{call}", names::owner_prefix(&owner)),
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
        let state = self.state;
        let (rules, owner) = (Arc::clone(&self.rules), Some(name));
        Ok(Self { roots, rules, state, owner, are_parts: true, are_read_only: false })
    }

    /// As far as a token reaches; `whole` are the roots of all sessions.
    fn for_token(&self, grant: &Grant, whole: &Self) -> Result<Self, ToolError> {
        let all: Vec<&Path>;
        let (wanted, are_parts) = match grant.roots() {
            Some(wanted) => (wanted.iter().map(PathBuf::as_path).collect(), true),
            None => {
                all = whole.paths().collect();
                (all, self.are_parts || grant.is_read_only())
            }
        };
        let roots = wanted.into_iter().map(|path| self.within(whole, path)).collect::<Result<Vec<_>, _>>()?;
        let state = self.state.and_then(|at| {
            let state = &self.roots[at];
            roots.iter().position(|root: &Root| root.path == state.path)
        });
        Ok(Self {
            roots,
            rules: Arc::clone(&self.rules),
            state,
            owner: owner(self.owner.clone(), Some(grant.name())),
            are_parts,
            are_read_only: grant.is_read_only(),
        })
    }

    /// The directory in these roots that `path` names in those of all sessions.
    fn within(&self, whole: &Self, path: &Path) -> Result<Root, ToolError> {
        let missing = |why: &str| {
            let message = format!("The token's directory {} {why}.", path.display());
            ToolError::new(ErrorCode::PathOutsideRoots, message)
                .with_hint("The operator of the server must correct `roots` in the file of tokens.")
        };
        let (at, beneath) =
            root_of(&whole.roots, path).ok_or_else(|| missing("is in no root of this server"))?;
        let root = self.roots[at].narrowed(&beneath).map_err(|errno| match errno {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV => missing("is no directory here"),
            errno => missing(&format!("cannot be opened ({})", std::io::Error::from(errno))),
        })?;
        if self.rules.denied.covers(&root.in_rules) {
            return Err(missing("is denied by AUTONOUS_TOOL_DENY_PATHS"));
        }
        Ok(root)
    }

    /// Whether commands see these roots alone, and not what else the operator's roots have.
    pub fn are_parts(&self) -> bool {
        self.are_parts
    }

    /// The directories that commands see, if that is not all that the operator's roots have.
    pub fn own_directories(&self) -> std::io::Result<Option<Vec<sandbox::OwnDirectory>>> {
        let own = |root: &Root| {
            let found = rustix::fs::fstat(&root.handle)?;
            Ok(sandbox::OwnDirectory {
                path: root.path.clone(),
                device: found.st_dev,
                inode: found.st_ino,
                read_only: self.are_read_only,
            })
        };
        self.are_parts.then(|| self.roots.iter().map(own).collect()).transpose()
    }

    /// The paths of all roots.
    pub fn to_paths(&self) -> Vec<PathBuf> {
        self.paths().map(Path::to_owned).collect()
    }
}

impl Root {
    fn own_part(&self, name: &Path) -> Result<Self, Errno> {
        make_child_directory(&self.handle, name, 0o700)?;
        // For a session, rules about paths hold from its own directory.
        Ok(Self { in_rules: PathBuf::new(), ..self.narrowed(name)? })
    }

    /// A directory below it, which no link leads to.
    fn narrowed(&self, beneath: &Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let handle = open_without_links(&self.handle, or_here(beneath), flags)?;
        let join = |path: &Path| path.join(beneath).components().collect::<PathBuf>();
        Ok(Self {
            path: join(&self.path),
            configured: join(&self.configured),
            handle,
            in_rules: join(&self.in_rules),
        })
    }
}

/// How the names of the outputs of a session and a token begin. No directory of a session has an `@`.
fn owner(session: Option<String>, token: Option<&str>) -> Option<String> {
    match (session, token) {
        (session, None) => session,
        (session, Some(token)) => Some(format!("{}@{token}", session.unwrap_or_default())),
    }
}

fn refused(code: ErrorCode, why: &str) -> ToolError {
    ToolError::new(code, format!("The directory of this session {why}."))
        .with_hint("The operator of the server must rename what is in its place, or use another session.")
}
