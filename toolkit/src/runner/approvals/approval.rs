//! One approval: what would run, what was decided about it, and the file that it is kept in.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::approval::{ApprovalDecision, ApprovalScope};
use protocol::question::{MAX_ANSWER_CHARS, Question};
use protocol::{ErrorCode, EventId, Risk, SessionId, TaskId, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{KEEP, Unhidden, millis};
use crate::policy::AskingRule;
use crate::tool::PersonAnswer;
use redaction::HIDDEN;

/// For how long a chat can be given a tool at most.
pub const MAX_UNTIL: Duration = Duration::from_secs(7 * 24 * 3600);

/// How long a yes for a chat holds by default.
const DEFAULT_UNTIL: Duration = Duration::from_secs(3600);

const MAX_REASON_CHARS: usize = 2000;
const MAX_BY_CHARS: usize = 200;

/// Where an approval is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// There is no decision.
    Pending,
    /// It may run.
    Granted,
    /// It must not run.
    Denied,
    /// No decision, or no call after it, came in time.
    Expired,
    /// The call has run.
    Used,
}

impl ApprovalState {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Granted => "granted",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Used => "used",
        }
    }
}

/// A call that a person is asked about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approval {
    /// The approval's ID; also that of its `approval.requested` event.
    #[schemars(with = "String")]
    pub id: EventId,
    /// Where it is in its life.
    pub state: ApprovalState,
    /// The tool.
    pub tool: String,
    /// The worst that a call of the tool can do.
    pub risk: Risk,
    /// All arguments, redacted.
    pub arguments: Map<String, Value>,
    /// What the call would do: the diff of a change, the commands of a command line.
    pub preview: String,
    /// Why a person is asked.
    pub reason: String,
    /// The rules that ask.
    pub rule: String,
    /// The same, one by one: a yes for a task or a chat answers these and no others.
    #[serde(default)]
    pub rules: Vec<AskingRule>,
    /// The further calls that run without a question after a yes for the task or the chat; absent where a yes
    /// can be for this call alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers: Option<String>,
    /// The session of the call.
    #[schemars(with = "String")]
    pub session: SessionId,
    /// The task of the call.
    #[schemars(with = "Option<String>")]
    pub task_id: Option<TaskId>,
    /// The parent of the call's event.
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    pub parent_event_id: Option<EventId>,
    /// The name of the caller's token: `caller`, or `none` on a server without one.
    pub token: String,
    /// The hosts that the call would reach, and the chats beside its own that it would write to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Whether a schedule began the call's task, so that no person asks for it now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_scheduled: bool,
    /// What the call asks, if the answer is its result; a yes then has an `answer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// What `arguments` and `preview` hide.
    #[serde(skip)]
    pub(crate) unhidden: Unhidden,
    /// The circumstances of the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub circumstances: Vec<String>,
    /// The SHA-256 over tool, arguments, session, working directory and the files that the arguments name.
    pub digest: String,
    /// When the request was made, in milliseconds since the Unix epoch.
    pub created_at_ms: i64,
    /// When it ends, or when a yes ends that no call has used, in milliseconds since the Unix epoch.
    pub expires_at_ms: i64,
    /// The decision; absent until there is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub decision: Option<Decided>,
}

/// What a yes has to cover, for a call as it is now.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) tool: String,
    pub(crate) session: SessionId,
    pub(crate) task_id: Option<TaskId>,
    pub(crate) rules: Vec<AskingRule>,
    pub(crate) hosts: Vec<String>,
    pub(crate) is_scheduled: bool,
    pub(crate) circumstances: Vec<String>,
    /// Whether it asks a question with an idempotency key, which finds the answer for as long as it is kept.
    pub(crate) finds_answer_again: bool,
}

/// The decision, and who made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decided {
    /// Yes or no.
    pub decision: ApprovalDecision,
    /// What a yes covers.
    pub scope: ApprovalScope,
    /// Until when a yes for a chat holds, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub until_ms: Option<i64>,
    /// Why; the caller gets it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    /// Who decided, as the request names them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<String>,
    /// The answer to the call's question: one of its options, or a text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<String>,
    /// When, in milliseconds since the Unix epoch.
    pub decided_at_ms: i64,
}

/// A decision as it arrives.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDecision {
    /// Yes or no.
    pub decision: ApprovalDecision,
    /// What a yes covers; `call` if absent.
    #[serde(default)]
    pub scope: ApprovalScope,
    /// Until when a yes for a chat holds, in milliseconds since the Unix epoch; an hour if absent, at most a
    /// week.
    #[serde(default)]
    pub until_ms: Option<i64>,
    /// Why; the caller gets it.
    #[serde(default)]
    pub reason: Option<String>,
    /// Who decides.
    #[serde(default)]
    pub by: Option<String>,
    /// With a yes to a call that asks a question: the answer, at most 4096 characters. An option's number,
    /// counted from 1, is that option.
    #[serde(default)]
    pub answer: Option<String>,
}

impl Approval {
    /// The approval with nothing hidden, for the approver alone.
    ///
    /// # Errors
    /// Where that is not known any more.
    pub fn revealed(&self) -> Result<Self, ToolError> {
        if let Some((arguments, preview)) = self.unhidden.parts() {
            return Ok(Self { arguments, preview, ..self.clone() });
        }
        let shown = serde_json::to_string(&self.arguments).unwrap_or_default();
        if !shown.contains(HIDDEN) && !self.preview.contains(HIDDEN) {
            return Ok(self.clone());
        }
        let message = "What is hidden of this call is not known any more: it is kept while the request \
                       waits, and only in memory.";
        Err(ToolError { http_status: Some(409), ..ToolError::new(ErrorCode::Conflict, message) }
            .with_hint("After a restart, it is known again once the same call was sent again."))
    }

    /// About how much memory it takes.
    pub(super) fn size(&self) -> usize {
        self.preview.len() + self.arguments.values().map(size_of_value).sum::<usize>()
    }

    /// Whether a yes holds.
    pub(super) fn holds_at(&self, now: i64) -> bool {
        self.state == ApprovalState::Granted && now < self.expires_at_ms
    }

    /// Whether it asked a question whose call may have its answer, or that nobody answered: that a call has
    /// read.
    pub(super) fn has_ended_question(&self) -> bool {
        self.question.is_some() && matches!(self.state, ApprovalState::Used | ApprovalState::Expired)
    }

    /// Whether it ends now.
    pub(super) fn is_due(&self, now: i64) -> bool {
        matches!(self.state, ApprovalState::Pending | ApprovalState::Granted) && now >= self.expires_at_ms
    }

    /// Whether it can be forgotten.
    pub(super) fn is_old(&self, now: i64) -> bool {
        let is_over = !matches!(self.state, ApprovalState::Pending | ApprovalState::Granted);
        is_over && now >= self.expires_at_ms.saturating_add(millis(KEEP))
    }

    /// Whether a decision about this call is one about another: it is the same call in the same task.
    pub(super) fn is_same(&self, asked: &Self) -> bool {
        self.digest == asked.digest && self.task_id == asked.task_id
    }

    /// Whether it asks the same question of the same task for another call, and no call has its answer. Calls
    /// of a task that ask run one after the other, so the other call is over.
    pub(super) fn is_left_for(&self, asked: &Self, now: i64) -> bool {
        let is_open = self.state == ApprovalState::Pending || self.holds_at(now);
        is_open
            && self.question.is_some()
            && self.task_id.is_some()
            && (&self.question, &self.tool, &self.session) == (&asked.question, &asked.tool, &asked.session)
            && self.task_id == asked.task_id
            && self.digest != asked.digest
    }

    /// Whether it says, or will say, something about its own call alone.
    pub(super) fn is_about_one_call(&self, now: i64) -> bool {
        let scope = self.decision.as_ref().map_or(ApprovalScope::Call, |decision| decision.scope);
        let is_open = !matches!(self.state, ApprovalState::Expired | ApprovalState::Used);
        is_open && now < self.expires_at_ms && scope == ApprovalScope::Call
    }

    /// Whether it is a yes for a task or chat that answers this rule about another call: of the same tool in
    /// the same session, at no other host or chat, with nothing special that this one had not.
    pub(super) fn answers(&self, rule: &AskingRule, wanted: &Wanted, now: i64) -> bool {
        let in_scope = match self.decision.as_ref().map(|decision| decision.scope) {
            None | Some(ApprovalScope::Call) => false,
            Some(ApprovalScope::Task) => self.task_id == wanted.task_id,
            // A yes to a person who is there does not mean what falls due later.
            Some(ApprovalScope::Chat) => !wanted.is_scheduled || self.task_id == wanted.task_id,
        };
        let has = |known: &[String], all: &[String]| all.iter().all(|one| known.contains(one));
        in_scope
            && self.holds_at(now)
            && (&self.tool, &self.session) == (&wanted.tool, &wanted.session)
            && has(&self.hosts, &wanted.hosts)
            && has(&self.circumstances, &wanted.circumstances)
            && self.rules.iter().any(|known| known.can_last && known.digest == rule.digest)
    }

    /// The approval with a decision; `timeout` is how long an answer waits for its call.
    pub(super) fn decided(&self, new: NewDecision, now: i64, timeout: i64) -> Result<Self, String> {
        let answer = self.answer(&new)?;
        let NewDecision { decision, scope, until_ms, reason, by, .. } = new;
        let is_grant = decision == ApprovalDecision::Grant;
        if !is_grant && scope != ApprovalScope::Call {
            return Err("A denial has the scope `call`.".to_owned());
        }
        if scope == ApprovalScope::Task && self.task_id.is_none() {
            return Err("The call belongs to no task: use the scope `call` or `chat`.".to_owned());
        }
        if scope != ApprovalScope::Call && self.covers.is_none() {
            return Err(
                "It can be allowed for this call alone (the scope `call`): what it runs cannot all be \
                        known before."
                    .to_owned(),
            );
        }
        if until_ms.is_some() && scope != ApprovalScope::Chat {
            return Err("`until_ms` is for the scope `chat` alone.".to_owned());
        }
        let latest = now.saturating_add(millis(MAX_UNTIL));
        if until_ms.is_some_and(|until| until <= now || until > latest) {
            return Err(format!("`until_ms` must be after now ({now}) and within a week ({latest})."));
        }
        let until_ms = (scope == ApprovalScope::Chat)
            .then(|| until_ms.unwrap_or_else(|| now.saturating_add(millis(DEFAULT_UNTIL))));
        for (name, text, most) in [("reason", &reason, MAX_REASON_CHARS), ("by", &by, MAX_BY_CHARS)] {
            if text.as_ref().is_some_and(|text| text.chars().count() > most) {
                return Err(format!("`{name}` has more than {most} characters."));
            }
        }
        let expires_at_ms = match scope {
            ApprovalScope::Call if answer.is_none() => now.saturating_add(timeout),
            ApprovalScope::Call | ApprovalScope::Task => now.saturating_add(millis(KEEP)),
            ApprovalScope::Chat => until_ms.unwrap_or(now),
        };
        Ok(Self {
            state: if is_grant { ApprovalState::Granted } else { ApprovalState::Denied },
            expires_at_ms,
            unhidden: Unhidden::default(),
            decision: Some(Decided { decision, scope, until_ms, reason, by, answer, decided_at_ms: now }),
            ..self.clone()
        })
    }

    /// The answer of a decision: there is one exactly if the call asks a question and it is a yes.
    fn answer(&self, new: &NewDecision) -> Result<Option<String>, String> {
        let is_grant = new.decision == ApprovalDecision::Grant;
        let (question, text) = match (&self.question, &new.answer) {
            (Some(question), Some(text)) if is_grant => (question, text),
            (Some(_), None) if is_grant => {
                return Err("The call asks a question: a yes to it has an `answer`.".to_owned());
            }
            (_, None) => return Ok(None),
            (_, Some(_)) => return Err("`answer` is for a yes to a call that asks a question.".to_owned()),
        };
        if text.chars().count() > MAX_ANSWER_CHARS {
            return Err(format!("`answer` has more than {MAX_ANSWER_CHARS} characters."));
        }
        let refused = || match question.options.as_slice() {
            [] => "`answer` is empty.".to_owned(),
            options => format!("`answer` must be one of {options:?}, or its number."),
        };
        question.answer_of(text).map(Some).ok_or_else(refused)
    }

    /// What a person answered to the call's question, if somebody did.
    pub(crate) fn person_answer(&self) -> Option<PersonAnswer> {
        let (question, decision) = (self.question.as_ref()?, self.decision.as_ref()?);
        let text = decision.answer.clone()?;
        let option = question.options.iter().position(|option| *option == text);
        Some(PersonAnswer { text, option, by: decision.by.clone() })
    }
}

/// The files of approvals: one each, replaced as a whole and synced before it is announced.
#[derive(Debug)]
pub(super) struct Store(PathBuf);

/// What a file holds.
#[derive(Serialize, Deserialize)]
struct Stored<A> {
    #[serde(flatten)]
    approval: A,
    /// The ID of the record that is not known to be in the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owed_record: Option<EventId>,
}

impl Store {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        Ok(Self(directory.to_owned()))
    }

    /// All approvals, each with the ID of the record that it owes. A file that was cut short by a power loss
    /// was never announced.
    pub(super) fn read_all(&self) -> io::Result<Vec<(Approval, Option<EventId>)>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let parsed: Result<Stored<Approval>, _> = serde_json::from_slice(&fs::read(&path)?);
                let stored = parsed.map_err(|error| {
                    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
                })?;
                all.push((stored.approval, stored.owed_record));
            } else {
                fs::remove_file(path)?;
            }
        }
        Ok(all)
    }

    pub(super) fn write(&self, approval: &Approval, owed_record: Option<&EventId>) -> io::Result<()> {
        let path = self.path(&approval.id);
        let temporary = path.with_extension("new");
        let mut file =
            OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&temporary)?;
        let stored = Stored { approval, owed_record: owed_record.cloned() };
        file.write_all(&serde_json::to_vec(&stored)?)?;
        file.sync_data()?;
        fs::rename(temporary, path)?;
        File::open(&self.0)?.sync_all()
    }

    pub(super) fn remove(&self, id: &EventId) -> io::Result<()> {
        fs::remove_file(self.path(id))
    }

    fn path(&self, id: &EventId) -> PathBuf {
        // An ID could be any text; a name of a file must not lead elsewhere.
        self.0.join(format!("{}.json", protocol::hash::sha256(id.as_str().as_bytes())))
    }
}

fn size_of_value(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(size_of_value).sum(),
        Value::Object(values) => values.values().map(size_of_value).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}
