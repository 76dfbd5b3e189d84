//! A tool: typed arguments in, typed data and text out.
//!
//! The arguments' type is the schema that OpenAPI and the model get, and its doc comments are the
//! description that the model reads; there is no second description to keep. A tool does one thing and
//! leaves everything that holds for all calls (journal, deadline, redaction …) to the runner.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use protocol::{Annotations, ErrorCode, EventId, Risk, SessionId, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::locks::{self, Fingerprint, Locks};
use crate::{Bounds, Outcome};

/// Something that a model can ask for.
pub trait Tool: Send + Sync + 'static {
    /// The arguments. The type's doc comment is the tool's description, each field's its own; derive
    /// `Deserialize` with `deny_unknown_fields`.
    type Arguments: DeserializeOwned + JsonSchema;
    /// What `meta.data` holds: exactly what `stdout` shows, as data.
    type Data: Serialize + JsonSchema;
    /// The name in `POST /tools/{name}`.
    const NAME: &'static str;
    /// What a call can do at worst.
    const RISK: Risk;
    /// What a client may assume.
    const ANNOTATIONS: Annotations;
    /// Which calls it shares its places with.
    const SLOT: Slot;

    /// Arguments that work in any root, for the docs and for whoever tries the tool.
    fn example() -> Value;

    /// What the description says beyond the doc comment, where that depends on the workplace.
    fn more_description(&self) -> Option<String> {
        None
    }

    /// How long a call with these arguments may take; none for the timeout of all calls.
    fn timeout(_arguments: &Value) -> Option<Duration> {
        None
    }

    /// Runs one call. It may block; long work asks [`Call::check`] now and then.
    fn run(&self, arguments: Self::Arguments, call: &Call) -> Outcome<Self::Data>;
}

/// Which calls a tool shares its places with, so that slow commands never keep file tools waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// Tools that read and write files.
    File,
    /// Tools that run commands.
    Command,
}

/// The call that a tool is running for.
#[derive(Debug, Clone)]
pub struct Call {
    /// The call's id.
    pub id: EventId,
    /// Whose reads and locks the call uses.
    pub session: SessionId,
    /// When the call has to be over.
    pub deadline: Instant,
    /// How much `stdout` may hold.
    pub bounds: Bounds,
    /// What the sessions have seen of files.
    pub(crate) locks: Arc<Locks>,
    /// Set when the caller went away.
    pub(crate) cancelled: Arc<AtomicBool>,
}

impl Call {
    /// What this session has last seen of a file.
    pub fn last_seen(&self, path: &Path) -> Option<Fingerprint> {
        self.locks.last_seen(&self.session, path)
    }

    /// Whether this call may change a file that is `current`: it has to be what `expected_sha256` says, or
    /// else what the session has seen.
    pub fn may_change(
        &self,
        path: &Path,
        current: &Fingerprint,
        expected_sha256: Option<&str>,
    ) -> Result<(), ToolError> {
        locks::judge(self.last_seen(path).as_ref(), expected_sha256, current)
    }

    /// Whether the caller went away.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// An error once the deadline has passed or the caller has gone; a tool that only reads asks for it
    /// wherever its work is unbounded.
    pub fn check(&self) -> Result<(), ToolError> {
        if self.is_cancelled() {
            return Err(ToolError::new(ErrorCode::Cancelled, "The caller went away before the call ended."));
        }
        if Instant::now() >= self.deadline {
            return Err(ToolError::new(ErrorCode::Timeout, "The call did not end before its deadline."));
        }
        Ok(())
    }
}
