//! Approvals: the calls that a person is asked about, what was decided, and for how long that holds.
//!
//! A decision is bound to one call by a digest of all that it was shown for. Each approval is a file, written
//! before it is announced, so that a server that restarts has the same ones; each step is a
//! record of the journal. A yes for one call is used up, durably, before the call runs.

mod answers;
mod approval;
#[cfg(test)]
mod tests;
mod unhidden;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use protocol::approval::{ApprovalDenied, ApprovalExpired, ApprovalGranted, ApprovalRequested, ApprovalUsed};
use protocol::journal::RecordBody;
use protocol::{ErrorCode, EventId, ToolError, now_ms};
use tokio::sync::{broadcast, watch};

pub use answers::unknown;
use approval::Store;
pub(crate) use approval::Wanted;
pub use approval::{Approval, ApprovalState, Decided, MAX_UNTIL, NewDecision};
pub(crate) use unhidden::Unhidden;

use super::recorder::{CallIds, Recorder};
use crate::arguments::bounded;
use crate::locked;
use crate::output::head;
use crate::policy::AskingRule;

/// The most requests of one session that wait.
const MAX_PENDING_OF_SESSION: usize = 20;

/// The most requests that wait, and what they hold in memory.
const MAX_PENDING: usize = 1000;
const MAX_PENDING_BYTES: usize = 64 << 20;

/// How much of a preview a record of the journal keeps, in bytes.
const RECORDED_PREVIEW_BYTES: usize = 4000;

/// How long decided approvals are listed, and a grant for a task holds.
const KEEP: Duration = Duration::from_secs(24 * 3600);

/// What has happened to an approval.
#[derive(Debug, Clone)]
pub struct Change {
    /// `requested`, `decided`, `expired` or `used`.
    pub kind: &'static str,
    /// The approval as it is now.
    pub approval: Arc<Approval>,
}

/// The facts of a call that must be asked for.
#[derive(Debug)]
pub(crate) enum Answer {
    /// It may run.
    Granted(Permit),
    /// It must not run.
    Denied(Arc<Approval>),
    /// There is no decision yet.
    Pending(Arc<Approval>),
}

/// A yes that the call has not used yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Permit {
    /// For this call alone.
    Single(EventId),
    /// For a task or chat.
    Lasting,
}

/// Why a decision was not taken.
#[derive(Debug)]
pub enum DecideError {
    /// There is no such approval.
    Unknown,
    /// Somebody decided before, or it has expired.
    Decided(Arc<Approval>),
    /// The decision itself is not valid.
    Invalid(String),
    /// It could not be stored.
    Io(io::Error),
}

type All = BTreeMap<EventId, Arc<Approval>>;

/// All approvals of a server.
pub struct Approvals {
    store: Store,
    recorder: Arc<dyn Recorder>,
    timeout: Duration,
    question_timeout: Duration,
    all: Mutex<All>,
    /// Those whose last record a kill may have prevented, each with the ID of that record.
    owed: Mutex<Vec<(Arc<Approval>, EventId)>>,
    changed: watch::Sender<()>,
    closing: watch::Sender<bool>,
    changes: broadcast::Sender<Change>,
}

impl std::fmt::Debug for Approvals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Approvals").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Approvals {
    /// The approvals that are kept in a directory, which is made when it is missing. A request waits for as
    /// long as `timeout`, and so long a yes waits for its call; a question waits as long as
    /// `question_timeout`.
    pub fn open(
        directory: &Path,
        recorder: Arc<dyn Recorder>,
        timeout: Duration,
        question_timeout: Duration,
    ) -> io::Result<Self> {
        let store = Store::open(directory)?;
        let stored = store.read_all()?;
        let (mut all, mut owed) = (BTreeMap::new(), Vec::new());
        for (approval, record) in stored {
            let approval = Arc::new(approval);
            owed.extend(record.map(|record| (Arc::clone(&approval), record)));
            all.insert(approval.id.clone(), approval);
        }
        let (changed, changes) = (watch::Sender::new(()), broadcast::Sender::new(256));
        let closing = watch::Sender::new(false);
        let (all, owed) = (Mutex::new(all), Mutex::new(owed));
        Ok(Self { store, recorder, timeout, question_timeout, all, owed, changed, closing, changes })
    }

    /// All approvals, the oldest first.
    pub fn list(&self) -> Vec<Arc<Approval>> {
        locked(&self.all).values().cloned().collect()
    }

    /// How many wait for a decision.
    pub fn waiting(&self) -> usize {
        locked(&self.all).values().filter(|approval| approval.state == ApprovalState::Pending).count()
    }

    /// One of them.
    pub fn get(&self, id: &EventId) -> Option<Arc<Approval>> {
        locked(&self.all).get(id).cloned()
    }

    /// What happens from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// No caller waits and no stream listens from now on: the server ends.
    pub fn close(&self) {
        self.closing.send_replace(true);
        self.changed.send_replace(());
    }

    /// Tells when the server ends.
    pub fn watch_closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Tells when something has changed.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// What was allowed for a task or chat and covers a call, where nothing is open about a call like it:
    /// then it does not matter what exactly it is.
    pub(crate) fn standing(&self, wanted: &Wanted) -> Option<Permit> {
        let (all, now) = (locked(&self.all), now_ms());
        let is_open = |known: &Arc<Approval>| {
            (&known.tool, &known.session) == (&wanted.tool, &wanted.session) && known.is_about_one_call(now)
        };
        if all.values().any(is_open) {
            return None;
        }
        lasting(&all, wanted, now).map(|_| Permit::Lasting)
    }

    /// The decision about a call; asks for one if there is no request for it yet. `new` gets the time of the
    /// request, and what it returns need not say when it ends.
    pub(crate) fn ask(
        &self,
        wanted: &Wanted,
        new: impl FnOnce(i64) -> Approval,
    ) -> Result<Answer, ToolError> {
        let now = now_ms();
        self.expire(now).map_err(|error| not_stored(&error))?;
        let mut asked = new(now);
        let timeout = if asked.question.is_some() { self.question_timeout } else { self.timeout };
        asked.expires_at_ms = now.saturating_add(millis(timeout));
        let mut all = locked(&self.all);
        self.take_over(&mut all, &asked, now).map_err(|error| not_stored(&error))?;
        if let Some(known) = known(&all, &asked, wanted, now) {
            return Ok(match known {
                // After a restart the call itself brings back its hidden parts.
                Answer::Pending(known) if !known.unhidden.is_known() && asked.unhidden.is_known() => {
                    let known = Arc::new(Approval { unhidden: asked.unhidden, ..Approval::clone(&known) });
                    all.insert(known.id.clone(), Arc::clone(&known));
                    Answer::Pending(known)
                }
                known => known,
            });
        }
        let pending = || all.values().filter(|one| one.state == ApprovalState::Pending);
        let of_session = pending().filter(|one| one.session == asked.session).count();
        let bytes: usize = pending().map(|one| one.size()).sum();
        if of_session >= MAX_PENDING_OF_SESSION
            || pending().count() >= MAX_PENDING
            || bytes > MAX_PENDING_BYTES
        {
            return Err(too_many(of_session));
        }
        let asked = self.advance(&mut all, "requested", asked).map_err(|error| not_stored(&error))?;
        Ok(Answer::Pending(asked))
    }

    /// Gives the question of a call that was cut off, and its answer, to the same question of its task: the
    /// person is not asked twice.
    fn take_over(&self, all: &mut All, asked: &Approval, now: i64) -> io::Result<()> {
        let mut newest = all.values().rev();
        if let Some(left) = newest.find(|known| known.is_left_for(asked, now)) {
            let taken = Arc::new(Approval { digest: asked.digest.clone(), ..Approval::clone(left) });
            self.store.write(&taken, None)?;
            all.insert(taken.id.clone(), taken);
        }
        Ok(())
    }

    /// Takes a person's decision. The first one counts.
    pub fn decide(&self, id: &EventId, new: NewDecision) -> Result<Arc<Approval>, DecideError> {
        let now = now_ms();
        self.expire(now).map_err(DecideError::Io)?;
        let mut all = locked(&self.all);
        let known = all.get(id).ok_or(DecideError::Unknown)?;
        if known.state != ApprovalState::Pending {
            return Err(DecideError::Decided(Arc::clone(known)));
        }
        let decided = known.decided(new, now, millis(self.timeout)).map_err(DecideError::Invalid)?;
        self.advance(&mut all, "decided", decided).map_err(DecideError::Io)
    }

    /// Uses a yes for one call, which is about to run and still is what the digest says. It is gone
    /// afterwards.
    pub(crate) fn take_single(&self, id: &EventId, digest: &str, call: &CallIds) -> Result<(), ToolError> {
        let mut all = locked(&self.all);
        let Some(known) = all.get(id).filter(|known| known.digest == digest) else { return Err(no_longer()) };
        if known.has_ended_question() {
            return Ok(());
        }
        if !known.holds_at(now_ms()) {
            return Err(no_longer());
        }
        let used = Arc::new(Approval { state: ApprovalState::Used, ..Approval::clone(known) });
        self.store.write(&used, None).map_err(|error| not_stored(&error))?;
        all.insert(id.clone(), Arc::clone(&used));
        self.record_use(&used, call)
    }

    /// Uses what was allowed for a task or chat for a call that is about to run, as it is now.
    pub(crate) fn take_lasting(&self, wanted: &Wanted, call: &CallIds) -> Result<(), ToolError> {
        let all = locked(&self.all);
        let ids = lasting(&all, wanted, now_ms()).ok_or_else(no_longer)?;
        ids.iter().filter_map(|id| all.get(id)).try_for_each(|known| self.record_use(known, call))
    }

    fn record_use(&self, used: &Arc<Approval>, call: &CallIds) -> Result<(), ToolError> {
        let body = ApprovalUsed {
            approval_id: used.id.clone(),
            tool_name: used.tool.clone(),
            call_id: call.call.clone(),
            session: used.session.clone(),
        };
        let recorded = self.recorder.approval(call, EventId::new(), RecordBody::ApprovalUsed(body));
        recorded.map_err(|error| not_stored(&error))?;
        self.tell("used", used);
        Ok(())
    }

    /// Makes the records that a kill prevented, ends expired approvals and forgets old ones. Call it every
    /// second.
    pub fn expire_now(&self) -> io::Result<()> {
        self.expire(now_ms())
    }

    fn expire(&self, now: i64) -> io::Result<()> {
        let mut all = locked(&self.all);
        let mut owed = locked(&self.owed);
        while let Some((approval, record)) = owed.last() {
            self.record(approval, record.clone())?;
            self.store.write(approval, None)?;
            owed.pop();
        }
        let due: Vec<Arc<Approval>> = all.values().filter(|one| one.is_due(now)).cloned().collect();
        for one in due {
            let expired = Approval {
                state: ApprovalState::Expired,
                unhidden: Unhidden::default(),
                ..Approval::clone(&one)
            };
            self.advance(&mut all, "expired", expired)?;
        }
        let old: Vec<EventId> =
            all.values().filter(|one| one.is_old(now)).map(|one| one.id.clone()).collect();
        for id in old {
            self.store.remove(&id)?;
            all.remove(&id);
        }
        Ok(())
    }

    /// Stores, records and announces an approval's new state, or does none of it. The file names the record
    /// that it owes, so that the next start makes up for one that a kill prevented.
    fn advance(&self, all: &mut All, kind: &'static str, new: Approval) -> io::Result<Arc<Approval>> {
        let record = if new.state == ApprovalState::Pending { new.id.clone() } else { EventId::new() };
        self.store.write(&new, Some(&record))?;
        if let Err(error) = self.record(&new, record) {
            let _ = match all.get(&new.id) {
                Some(before) => self.store.write(before, None),
                None => self.store.remove(&new.id),
            };
            return Err(error);
        }
        // Where this fails, the next start records it once more under the same ID, which counts once.
        let _ = self.store.write(&new, None);
        let new = Arc::new(new);
        all.insert(new.id.clone(), Arc::clone(&new));
        self.tell(kind, &new);
        Ok(new)
    }

    /// Records an approval's state under the parent of the call that was asked for.
    fn record(&self, approval: &Approval, id: EventId) -> io::Result<()> {
        let ids = CallIds {
            call: approval.id.clone(),
            parent: approval.parent_event_id.clone(),
            task: approval.task_id.clone(),
            session: approval.session.clone(),
            token: None,
        };
        self.recorder.approval(&ids, id, record_of(approval))
    }

    fn tell(&self, kind: &'static str, approval: &Arc<Approval>) {
        // There may be no listener.
        let _ = self.changes.send(Change { kind, approval: Arc::clone(approval) });
        self.changed.send_replace(());
    }
}

/// What was decided about a call. The newest counts, of those about the call itself and of those for its task
/// or chat.
fn known(all: &All, asked: &Approval, wanted: &Wanted, now: i64) -> Option<Answer> {
    let itself = all.values().rev().filter(|known| known.is_same(asked)).find_map(|known| {
        let answer = match known.state {
            ApprovalState::Granted if known.holds_at(now) => {
                Answer::Granted(Permit::Single(known.id.clone()))
            }
            ApprovalState::Used | ApprovalState::Expired
                if wanted.finds_answer_again && known.has_ended_question() =>
            {
                Answer::Granted(Permit::Single(known.id.clone()))
            }
            ApprovalState::Denied if now < known.expires_at_ms => Answer::Denied(Arc::clone(known)),
            ApprovalState::Pending => Answer::Pending(Arc::clone(known)),
            _ => return None,
        };
        Some((&known.id, answer))
    });
    let lasting = lasting(all, wanted, now);
    match (itself, lasting) {
        (Some((id, answer)), Some(lasting)) if lasting.iter().all(|other| other < id) => Some(answer),
        (_, Some(_)) => Some(Answer::Granted(Permit::Lasting)),
        (itself, None) => itself.map(|(_, answer)| answer),
    }
}

/// The approvals for a task or chat that cover a call: for each rule that asks one that answers it.
fn lasting(all: &All, wanted: &Wanted, now: i64) -> Option<Vec<EventId>> {
    if wanted.rules.is_empty() {
        return None;
    }
    let answering = |rule: &AskingRule| {
        let mut newest = all.values().rev();
        let known = newest.find(|known| rule.can_last && known.answers(rule, wanted, now))?;
        Some(known.id.clone())
    };
    let mut ids: Vec<EventId> = wanted.rules.iter().map(answering).collect::<Option<_>>()?;
    ids.sort_unstable();
    ids.dedup();
    Some(ids)
}

/// The record of an approval's state.
fn record_of(approval: &Approval) -> RecordBody {
    let (approval_id, tool_name, session) =
        (approval.id.clone(), approval.tool.clone(), approval.session.clone());
    match (approval.state, &approval.decision) {
        (ApprovalState::Pending, _) => RecordBody::ApprovalRequested(requested(approval)),
        (ApprovalState::Granted, Some(decision)) => RecordBody::ApprovalGranted(ApprovalGranted {
            approval_id,
            tool_name,
            scope: decision.scope,
            until_ms: decision.until_ms,
            reason: decision.reason.clone(),
            by: decision.by.clone(),
            answer: decision.answer.clone(),
            session,
        }),
        (ApprovalState::Denied, Some(decision)) => RecordBody::ApprovalDenied(ApprovalDenied {
            approval_id,
            tool_name,
            reason: decision.reason.clone(),
            by: decision.by.clone(),
            session,
        }),
        _ => RecordBody::ApprovalExpired(ApprovalExpired { approval_id, tool_name, session }),
    }
}

fn requested(asked: &Approval) -> ApprovalRequested {
    ApprovalRequested {
        approval_id: asked.id.clone(),
        tool_name: asked.tool.clone(),
        risk: asked.risk,
        arguments: bounded(&asked.arguments),
        preview: head(&asked.preview, RECORDED_PREVIEW_BYTES).to_owned(),
        reason: asked.reason.clone(),
        rule: asked.rule.clone(),
        token: asked.token.clone(),
        digest: asked.digest.clone(),
        expires_at_ms: asked.expires_at_ms,
        session: asked.session.clone(),
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn not_stored(error: &io::Error) -> ToolError {
    tracing::error!(%error, "an approval could not be stored");
    ToolError::new(ErrorCode::IoError, "The approval could not be stored, so the call was not run.")
        .with_hint("Ask the operator to check the journal's disk, then try again.")
}

fn no_longer() -> ToolError {
    let message = "What was approved is no longer what would run, or the approval has ended; the call was \
                   not run.";
    ToolError::new(ErrorCode::ApprovalRequired, message).with_hint("Send the call again to ask again.")
}

fn too_many(of_session: usize) -> ToolError {
    let message = format!("{of_session} calls of this session wait for a person; no more can be asked for.");
    ToolError::new(ErrorCode::Overloaded, message).with_retry_after(10)
}
