//! What an operator decides about calls.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::approvals::Approvals;
use crate::policy::CurrentPolicy;
use crate::{Bounds, Scope};

/// The settings of a runner.
#[derive(Debug, Clone)]
pub struct RunnerSettings {
    /// The disabled tools.
    pub disabled: BTreeSet<String>,
    /// How long a call may take, unless its tool has a timeout of its own.
    pub timeout: Duration,
    /// How many commands run at once.
    pub max_commands: usize,
    /// How much `stdout` may hold.
    pub bounds: Bounds,
    /// Where relative paths start.
    pub cwd: WorkingDirectory,
    /// The operator's rules.
    pub policy: CurrentPolicy,
    /// Where a person is asked; none if there is no approver.
    pub approvals: Option<Arc<Approvals>>,
    /// The address under which a call can be sent again, such as `http://127.0.0.1:8701`.
    pub url: String,
    /// The variable that holds the token for that address, for a line that a person sends.
    pub token_variable: &'static str,
    /// Where the runner keeps what outlives the process: idempotency keys and the tool allow-lists of tasks.
    /// Without it, allow-lists last as long as the runner, and no call may have a key.
    pub state_dir: Option<PathBuf>,
}

/// Where relative paths start.
#[derive(Debug, Clone)]
pub enum WorkingDirectory {
    /// The same for all sessions.
    Shared(String),
    /// Each session's own directory in the first of these.
    PerSession(Vec<PathBuf>),
}

impl WorkingDirectory {
    /// Of a token that reaches a part of the roots, the first directory of that part.
    pub(super) fn of(&self, scope: &Scope) -> String {
        let of_token = scope.grant().and_then(|grant| grant.roots()?.first());
        let directory = match self {
            Self::Shared(directory) => {
                return of_token.map_or_else(|| directory.clone(), |root| root.display().to_string());
            }
            Self::PerSession(roots) => {
                let first = roots.first().map(PathBuf::as_path).unwrap_or(Path::new("/"));
                let wanted = of_token.map_or(first, PathBuf::as_path);
                let root = roots.iter().find(|root| wanted.starts_with(root)).map_or(first, PathBuf::as_path);
                let beneath = wanted.strip_prefix(root).unwrap_or(Path::new(""));
                root.join(scope.directory_name()).join(beneath).components().collect::<PathBuf>()
            }
        };
        directory.display().to_string()
    }
}
