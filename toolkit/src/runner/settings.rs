//! What an operator decides about calls.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use protocol::SessionId;

use super::approvals::Approvals;
use crate::Bounds;
use crate::policy::Policy;

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
    pub policy: Arc<Policy>,
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
    /// Each session's own directory in this one.
    PerSession(String),
}

impl WorkingDirectory {
    pub(super) fn of(&self, session: &SessionId) -> String {
        match self {
            Self::Shared(directory) => directory.clone(),
            Self::PerSession(directory) => format!("{directory}/{}", session.directory_name()),
        }
    }
}
