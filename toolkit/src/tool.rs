//! A tool: typed arguments in, typed data and text out.
//!
//! The type of the arguments is the schema that OpenAPI and the model get, and its doc comments are the
//! description that the model reads, up to the part only for people; there is no second description to
//! maintain. A tool does one thing and leaves what all calls share (journal, deadline, redaction …) to the
//! runner.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use protocol::question::Question;
use protocol::{Annotations, ErrorCode, EventId, Risk, TaskId, ToolError};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::locks::{self, Fingerprint, Locks};
use crate::policy::{Below, Policy, TouchedPath, Touches};
use crate::{Bounds, Outcome, OutputSink, Scope, Slot};

/// The files that a call names: where each path leads, with the SHA-256 of what is there, or why there is
/// none.
pub type NamedFiles = BTreeMap<String, String>;

/// Something that a model can call.
pub trait Tool: Send + Sync + 'static {
    /// The arguments. The type's doc comment is the tool's description, a field's doc comment that of the
    /// argument. Every model pays for these words with every turn: the first paragraph says what a small
    /// model needs, the next what any model needs, and what follows the heading `# Details` is for people.
    /// Derive `Deserialize` with `deny_unknown_fields`.
    type Arguments: DeserializeOwned + JsonSchema;
    /// The type of `meta.data`: exactly what `stdout` shows, as data.
    type Data: Serialize + JsonSchema;
    /// The name in `POST /tools/{name}`.
    const NAME: &'static str;
    /// The worst that a call can do.
    const RISK: Risk;
    /// What a client may assume.
    const ANNOTATIONS: Annotations;
    /// Which slots its calls take.
    const SLOT: Slot;

    /// The channels in whose chats alone the tool works; none if it works in every session.
    const CHANNELS: &'static [&'static str] = &[];

    /// The optional arguments that a small model gets; it always gets the required ones.
    const ESSENTIAL: &'static [&'static str] = &[];

    /// The arguments that take any JSON. Any that is not a string becomes its JSON text; the schema says
    /// `string`, because some providers refuse a schema of several types.
    const JSON_TEXTS: &'static [&'static str] = &[];

    /// Whether a call usually ends within a millisecond. It then starts without a change of threads.
    const QUICK: bool = false;

    /// Whether it shows its output while it runs, to callers that want that ([`Call::sink`]).
    const STREAMS: bool = false;

    /// Whether what it shows comes from outside, such as from the web. Its results are marked.
    const SHOWS_OUTSIDE: bool = false;

    /// Whether the skill that a task has read must allow it. Not what people do about a task.
    const BOUND_BY_SKILL: bool = true;

    /// Arguments for the docs and for trying the tool out. In an empty root they work once the example of
    /// `write` was called.
    fn example(&self) -> Value;

    /// Whether the tool can work here. One that cannot is in no catalogue, and a call of it says why.
    fn is_offered(&self) -> bool {
        true
    }

    /// What the first paragraph of the description adds to the doc comment, where that depends on the server.
    fn more_description(&self) -> Option<String> {
        None
    }

    /// What to tell a caller who used this name where no tool has it, if this tool is what was meant.
    fn meant_by(&self, _name: &str) -> Option<String> {
        None
    }

    /// The tool's own words for arguments that do not fit its schema; none for the usual ones.
    fn misfit(&self, _arguments: &Value) -> Option<String> {
        None
    }

    /// Adds to valid arguments what the session has kept for the tool. Rules, people and the tool itself then
    /// see the same arguments, whatever the session keeps meanwhile.
    fn complete(&self, _arguments: &mut Value, _scope: &Scope) {}

    /// How long a call with these arguments may take; none for the default timeout.
    fn timeout(&self, _arguments: &Value) -> Option<Duration> {
        None
    }

    /// What a call with these arguments would touch, for the operator's rules. It may look at files. Every
    /// tool says it, because a tool that forgot it would pass every rule.
    fn touches(&self, arguments: &Value, scope: &Scope) -> Touches;

    /// The files that a call with these arguments names: a decision of a person holds only as long as they
    /// and their contents stay. Every tool says it, because a person's yes to one that forgot it would hold
    /// for other contents.
    fn named_files(&self, arguments: &Value, scope: &Scope) -> Result<NamedFiles, ToolError>;

    /// The other machine that a call needs, if it needs one. When that one keeps failing, only the calls that
    /// need the same one are paused. The arguments are not validated yet.
    fn depends_on(&self, _arguments: &Value) -> Option<String> {
        None
    }

    /// What a person is shown of a call that has to be approved, beside its arguments; an error if the call
    /// would be refused anyway. A tool with `dry_run` is tried out instead.
    fn preview(&self, _arguments: &Value, _call: &Call) -> Result<String, ToolError> {
        Ok(String::new())
    }

    /// What a call with these arguments asks a person, for a tool whose result is the answer. It runs once
    /// there is one ([`Call::answer`]), or when nobody has answered in time.
    fn question(&self, _arguments: &Value) -> Option<Question> {
        None
    }

    /// Runs one call. It may block; long work calls [`Call::check`] now and then.
    fn run(&self, arguments: Self::Arguments, call: &Call) -> Outcome<Self::Data>;
}

/// Says in an `impl Tool` that no decision about a call depends on a file: [`Tool::named_files`] is empty.
#[macro_export]
macro_rules! names_no_files {
    () => {
        fn named_files(
            &self,
            _: &::serde_json::Value,
            _: &$crate::Scope,
        ) -> Result<$crate::NamedFiles, ::protocol::ToolError> {
            Ok($crate::NamedFiles::new())
        }
    };
}

/// Says in an `impl Tool` that a call touches nothing that rules know of, and names no file.
#[macro_export]
macro_rules! touches_nothing {
    () => {
        fn touches(&self, _: &::serde_json::Value, _: &$crate::Scope) -> $crate::policy::Touches {
            $crate::policy::Touches::nothing()
        }

        $crate::names_no_files!();
    };
}

/// What comes with a transfer and what it leaves for its route: a stream or an open file.
pub type Attachment = Arc<dyn Any + Send + Sync>;

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonAnswer {
    /// The chosen option, or the person's own text.
    pub text: String,
    /// The chosen option, counted from 0; none for a text of the person's own.
    pub option: Option<usize>,
    /// Who answered, if that is known.
    pub by: Option<String>,
}

/// The call that a tool runs for.
#[derive(Debug, Clone)]
pub struct Call {
    /// The call's id.
    pub id: EventId,
    /// The session whose reads and locks the call uses, and what its token may do there.
    pub scope: Scope,
    /// The task that it belongs to.
    pub task: Option<TaskId>,
    /// The digest of what the caller is known by.
    pub token_sha256: Option<String>,
    /// When the call has to end.
    pub deadline: Instant,
    /// How much `stdout` may hold.
    pub bounds: Bounds,
    /// What each session has seen of files.
    pub(crate) locks: Arc<Locks>,
    /// Set when the caller has gone.
    pub(crate) cancelled: Arc<AtomicBool>,
    pub(crate) policy: Arc<Policy>,
    /// What rules keep the call from below the paths that it names.
    pub(crate) below: Option<Below>,
    pub(crate) attachment: Option<Attachment>,
    /// What a person has answered to the call's question.
    pub(crate) answer: Option<PersonAnswer>,
    /// Where its output goes while it runs.
    pub(crate) sink: Option<Arc<dyn OutputSink>>,
}

impl Call {
    /// A call without a caller, such as one of a self-check.
    pub fn own(timeout: Duration) -> Self {
        Self {
            id: EventId::new(),
            scope: Scope::default(),
            task: None,
            token_sha256: None,
            deadline: Instant::now() + timeout,
            bounds: Bounds::default(),
            locks: Arc::default(),
            cancelled: Arc::default(),
            policy: Arc::default(),
            below: None,
            attachment: None,
            answer: None,
            sink: None,
        }
    }

    /// The same for what outlives the call: its caller gets no more output.
    pub fn without_sink(&self) -> Self {
        Self { sink: None, ..self.clone() }
    }

    /// Where its output goes while it runs, if the caller wants that.
    pub fn sink(&self) -> Option<&dyn OutputSink> {
        self.sink.as_deref()
    }

    /// What a person has answered to the call's question; none if nobody did.
    pub const fn answer(&self) -> Option<&PersonAnswer> {
        self.answer.as_ref()
    }

    /// What came with the call, if it is of this type.
    pub fn attachment<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.attachment.clone()?.downcast().ok()
    }

    /// What this session has last seen of a file.
    pub fn last_seen(&self, path: &Path) -> Option<Fingerprint> {
        self.locks.last_seen(&self.scope, path)
    }

    /// Fails unless the file is what `expected_sha256` says, or else what the session has seen.
    pub fn may_change(
        &self,
        path: &Path,
        current: &Fingerprint,
        expected_sha256: Option<&str>,
    ) -> Result<(), ToolError> {
        locks::judge(self.last_seen(path).as_ref(), expected_sha256, current)
    }

    /// Whether rules keep calls of this tool from some hosts. What was allowed for one host is then not
    /// allowed for another that it leads to.
    pub fn hosts_are_restricted(&self, tool: &str) -> bool {
        self.policy.restricts_hosts(tool)
    }

    /// Whether a rule keeps this call from a path that it did not name, but came upon.
    pub fn hides(&self, path: impl FnOnce() -> TouchedPath) -> bool {
        self.below.as_ref().is_some_and(|below| below.hides(&self.policy, &path()))
    }

    /// Whether the caller has gone.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Fails once the deadline has passed or the caller has gone. A tool that only reads calls it wherever
    /// its work is unbounded.
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
