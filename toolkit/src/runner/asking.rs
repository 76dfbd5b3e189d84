//! Asks a person about a call, and waits for the decision as long as the caller does.
//!
//! A call is asked about with what it would do, so it is tried out first: one that would fail anyway is not
//! asked about. The call that a person saw is bound by a digest, which is made again when there is a
//! decision, and once more just before the call runs.

use redaction::Redactor;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use protocol::hash::sha256;
use protocol::{ErrorCode, EventId, ToolError, now_ms, visible};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, timeout_at};

use super::approvals::{Answer, Approval, ApprovalState, Approvals, Permit, Unhidden, Wanted};
use super::call::{CallInfo, PendingCall};
use super::replay::Replay;
use super::settings::RunnerSettings;
use super::stop::Stop;
use crate::locks::Locks;
use crate::policy::{AskingRule, Caller, Decision, Touches, Verdict};
use crate::registry::AnyTool;
use crate::{Call, Failure, PersonAnswer, Scope, Slot};

/// How long a trial run may take.
const TRIAL: Duration = Duration::from_secs(10);

/// What a question needs of its server.
#[derive(Clone)]
pub(super) struct Asking {
    settings: Arc<RunnerSettings>,
    locks: Arc<Locks>,
    redactor: Arc<Redactor>,
}

impl Asking {
    pub(super) fn new(settings: &RunnerSettings, locks: &Arc<Locks>, redactor: &Arc<Redactor>) -> Self {
        let settings = Arc::new(settings.clone());
        Self { settings, locks: Arc::clone(locks), redactor: Arc::clone(redactor) }
    }

    /// Passes once a person has allowed the call. The time that this takes is not the call's.
    pub(super) async fn ask(&self, call: &mut PendingCall, verdict: Verdict) -> Result<(), Stop> {
        let since = Instant::now();
        let answered = self.answered(call, verdict).await;
        let waited = since.elapsed();
        call.timeout = call.timeout.saturating_add(waited);
        let _ = call.info.waited.set(waited);
        answered
    }

    async fn answered(&self, call: &mut PendingCall, verdict: Verdict) -> Result<(), Stop> {
        let Some(approvals) = &self.settings.approvals else {
            return Err(self.refused(call, &verdict, None, "and nobody can be asked here"));
        };
        if call.attachment.is_some() {
            return Err(self.refused(call, &verdict, None, "and nobody can be asked about a raw file"));
        }
        if call.info.is_unattended {
            return self.standing(call, &verdict, approvals).await;
        }
        let until = Instant::now() + call.wait;
        let mut changed = approvals.watch();
        loop {
            changed.borrow_and_update();
            let question = self.question(call, &verdict)?;
            let pending = match blocking(question, approvals, Question::put).await? {
                Answer::Granted(permit) => {
                    call.permit = Some(permit);
                    return Ok(());
                }
                Answer::Denied(approval) => return Err(Stop::Refused(denied(&approval))),
                Answer::Pending(approval) => approval,
            };
            let left = u64::try_from(pending.expires_at_ms.saturating_sub(now_ms())).unwrap_or(0);
            let expires = Instant::now() + Duration::from_millis(left);
            while approvals.get(&pending.id).is_some_and(|one| one.state == ApprovalState::Pending) {
                let is_over = approvals.is_closing()
                    || timeout_at(until.min(expires), changed.changed()).await.is_err();
                if is_over && (approvals.is_closing() || Instant::now() >= until) {
                    return Err(self.refused(call, &verdict, Some(&pending), "and nobody has decided yet"));
                }
                if is_over && expire(approvals).await {
                    break;
                }
            }
            let ended = approvals.get(&pending.id).filter(|one| one.state == ApprovalState::Expired);
            if let Some(expired) = ended {
                if expired.question.is_some() {
                    call.permit = Some(Permit::Single(expired.id.clone()));
                    return Ok(());
                }
                let what = "and nobody decided in time";
                return Err(self.refused(call, &verdict, Some(&expired), what));
            }
        }
    }

    /// Passes with a yes that was given before.
    async fn standing(
        &self,
        call: &mut PendingCall,
        verdict: &Verdict,
        approvals: &Arc<Approvals>,
    ) -> Result<(), Stop> {
        let question = self.question(call, verdict)?;
        let standing = |question: Question, approvals: &Approvals| Ok(approvals.standing(&question.wanted()));
        call.permit = blocking(question, approvals, standing).await?;
        let what = "and nobody can be asked: its task is unattended";
        call.permit.as_ref().map(|_| ()).ok_or_else(|| self.refused(call, verdict, None, what))
    }

    fn question(&self, call: &PendingCall, verdict: &Verdict) -> Result<Question, Stop> {
        let (tool, arguments) = call.parts()?;
        Ok(Question {
            asking: self.clone(),
            tool: Arc::clone(tool),
            arguments: arguments.clone(),
            info: Arc::clone(&call.info),
            caller: call.caller(),
            token_sha256: call.token_sha256.clone(),
            verdict: verdict.clone(),
            key: call.question_key().map(str::to_owned),
        })
    }

    /// The refusal of a call that a person would have to allow.
    fn refused(
        &self,
        call: &PendingCall,
        verdict: &Verdict,
        approval: Option<&Approval>,
        what: &str,
    ) -> Stop {
        let (tool, reason) = (&call.info.tool, &verdict.reason);
        let message = match call.asks_question() {
            true => format!("`{tool}` waits for the answer of a person, {what}."),
            false => format!("`{tool}` needs the approval of a person ({reason}), {what}."),
        };
        let replay = Replay::of(call, &self.settings.url, self.settings.token_variable);
        let hint = match approval.map(|approval| approval.state) {
            Some(ApprovalState::Pending) if call.asks_question() => {
                "Send the same call again, with the same Idempotency-Key, for the answer; `Prefer: wait=N` \
                 waits for it."
                    .into()
            }
            Some(ApprovalState::Pending) => {
                "Send the same call again once it is approved; `Prefer: wait=N` waits for that.".into()
            }
            Some(_) => "Go on without it, or ask the user; the same call would ask again.".into(),
            None if call.asks_question() => "Continue without the answer, and say what you lack.".into(),
            None => replay.hint(),
        };
        let error = ToolError::new(ErrorCode::ApprovalRequired, message).with_hint(hint);
        let mut data = json!({
            "reason": verdict.reason,
            "rule": verdict.rule,
        });
        if let Some(replay) = replay.sendable() {
            data["replay"] = json!(replay);
        }
        if let Some(approval) = approval {
            data["approval_id"] = json!(approval.id);
            data["expires_at_ms"] = json!(approval.expires_at_ms);
            data["state"] = json!(approval.state);
        }
        Stop::Refused(Failure::with_data(error, &data))
    }
}

/// Looks at a question on a thread that may wait for files.
async fn blocking<T: Send + 'static>(
    question: Question,
    approvals: &Arc<Approvals>,
    look: impl FnOnce(Question, &Approvals) -> Result<T, Stop> + Send + 'static,
) -> Result<T, Stop> {
    let approvals = Arc::clone(approvals);
    let looked = tokio::task::spawn_blocking(move || look(question, &approvals)).await;
    looked.map_err(|error| {
        tracing::error!(%error, "a person could not be asked");
        ToolError::new(ErrorCode::Internal, "A person could not be asked; the call was not run.")
    })?
}

async fn expire(approvals: &Arc<Approvals>) -> bool {
    let approvals = Arc::clone(approvals);
    let expired = tokio::task::spawn_blocking(move || approvals.expire_now()).await;
    !matches!(expired, Ok(Ok(())))
}

/// What a person is asked.
struct Question {
    asking: Asking,
    tool: Arc<dyn AnyTool>,
    arguments: Value,
    info: Arc<CallInfo>,
    caller: Caller,
    token_sha256: Option<String>,
    verdict: Verdict,
    /// The idempotency key of a call that asks a question.
    key: Option<String>,
}

/// A call as a person sees it, and what that hides.
struct Shown {
    arguments: Map<String, Value>,
    preview: String,
    unhidden: Unhidden,
}

impl Question {
    fn wanted(&self) -> Wanted {
        let touches = self.tool.touches(&self.arguments, &self.info.scope);
        let mut wanted = wanted(&self.info, &self.verdict, touches);
        if self.tool.question(&self.arguments).is_some() {
            // No answer is one for further questions.
            wanted.rules.clear();
            wanted.finds_answer_again = self.key.is_some();
        }
        wanted
    }

    fn put(self, approvals: &Approvals) -> Result<Answer, Stop> {
        let scope = &self.info.scope;
        let wanted = self.wanted();
        if let Some(permit) = approvals.standing(&wanted) {
            return Ok(Answer::Granted(permit));
        }
        let preview = self.preview().map_err(Stop::Refused)?;
        let cwd = self.asking.settings.cwd.of(scope);
        let digest = digest(self.tool.as_ref(), &self.arguments, scope, (&cwd, self.key.as_deref()))?;
        let shown = self.shown(preview);
        let answer = approvals.ask(&wanted, |now| self.approval(&wanted, shown, digest, now));
        Ok(answer?)
    }

    /// The arguments and the preview as a person sees them.
    fn shown(&self, whole_preview: String) -> Shown {
        let redactor = &self.asking.redactor;
        let (mut arguments, mut preview) = (self.arguments.clone(), whole_preview.clone());
        if self.tool.slot() == Slot::Command {
            redactor.note_command(&mut arguments);
            if let Some(env) = arguments.get_mut("env") {
                redactor.note_value(env);
            }
        } else {
            redactor.note_value(&mut arguments);
        }
        if let Cow::Owned(noted) = redactor.noted(&preview) {
            preview = noted;
        }
        let hides = arguments != self.arguments || preview != whole_preview;
        let unhidden = if hides {
            let (arguments, preview) = escaped(self.arguments.clone(), whole_preview);
            Unhidden::new(arguments, preview)
        } else {
            Unhidden::default()
        };
        let (arguments, preview) = escaped(arguments, preview);
        Shown { arguments, preview, unhidden }
    }

    fn approval(&self, wanted: &Wanted, shown: Shown, digest: String, created_at_ms: i64) -> Approval {
        let ids = &self.info.ids;
        let question = self.tool.question(&Value::Object(shown.arguments.clone()));
        Approval {
            id: EventId::new(),
            state: ApprovalState::Pending,
            tool: self.info.tool.clone(),
            risk: self.info.risk,
            arguments: shown.arguments,
            preview: shown.preview,
            reason: self.verdict.reason.clone(),
            rule: self.verdict.rule.clone(),
            rules: wanted.rules.clone(),
            covers: covers(wanted),
            session: ids.session.clone(),
            task_id: ids.task.clone(),
            parent_event_id: ids.parent.clone(),
            token: self.info.scope.token().unwrap_or(self.caller.name()).to_owned(),
            hosts: wanted.hosts.clone(),
            unhidden: shown.unhidden,
            circumstances: wanted.circumstances.clone(),
            is_scheduled: wanted.is_scheduled,
            digest,
            question,
            created_at_ms,
            expires_at_ms: created_at_ms,
            decision: None,
        }
    }

    /// What the call would do; an error if it would fail.
    fn preview(&self) -> Result<String, Failure> {
        let (info, settings) = (&self.info, &self.asking.settings);
        let trial = Call {
            id: info.ids.call.clone(),
            scope: info.scope.clone(),
            task: info.ids.task.clone(),
            token_sha256: self.token_sha256.clone(),
            bounds: settings.bounds,
            locks: Arc::clone(&self.asking.locks),
            policy: settings.policy.get(),
            ..Call::own(TRIAL)
        };
        self.tool.preview(&self.arguments, &trial)
    }
}

/// The fields of the arguments and the preview, with odd characters escaped.
fn escaped(mut arguments: Value, mut preview: String) -> (Map<String, Value>, String) {
    visible::escape_value(&mut arguments);
    visible::escape(&mut preview);
    let fields = if let Value::Object(fields) = arguments { fields } else { Map::new() };
    (fields, preview)
}

/// Takes the call's permit, if what it was given for is still what would run, and rules still only ask.
pub(super) fn take_permit(
    settings: &RunnerSettings,
    call: &PendingCall,
    permit: &Permit,
) -> Result<(), ToolError> {
    let (tool, arguments) = call.parts()?;
    let ids = &call.info.ids;
    let Some(approvals) = &settings.approvals else {
        return Err(ToolError::new(ErrorCode::Internal, "There are no approvals."));
    };
    let verdict = tool.verdict(&settings.policy.get(), arguments, &call.info.scope, call.caller());
    if verdict.decision == Decision::Deny {
        return Err(denied_by_rule(&call.info.tool, &verdict));
    }
    match permit {
        Permit::Single(id) => {
            let bound_to = (settings.cwd.of(&call.info.scope), call.question_key());
            let digest = digest(tool.as_ref(), arguments, &call.info.scope, (&bound_to.0, bound_to.1))?;
            approvals.take_single(id, &digest, ids)
        }
        Permit::Lasting => {
            let touches = tool.touches(arguments, &call.info.scope);
            approvals.take_lasting(&wanted(&call.info, &verdict, touches), ids)
        }
    }
}

/// What a yes has to cover.
fn wanted(info: &CallInfo, verdict: &Verdict, touches: Touches) -> Wanted {
    Wanted {
        tool: info.tool.clone(),
        session: info.ids.session.clone(),
        task_id: info.ids.task.clone(),
        rules: verdict.asks.clone(),
        is_scheduled: info.is_scheduled,
        circumstances: touches.circumstances.iter().map(|special| special.name().to_owned()).collect(),
        hosts: touches.reached(),
        finds_answer_again: false,
    }
}

/// What a person has answered to the question of a call with this permit.
pub(super) fn answer(settings: &RunnerSettings, permit: Option<&Permit>) -> Option<PersonAnswer> {
    match (&settings.approvals, permit?) {
        (Some(approvals), Permit::Single(id)) => approvals.get(id)?.person_answer(),
        (_, Permit::Single(_) | Permit::Lasting) => None,
    }
}

/// What a yes for a task or chat would let run without a question, in words; none if it can be for one call
/// alone.
fn covers(wanted: &Wanted) -> Option<String> {
    let rules = &wanted.rules;
    if rules.is_empty() || !rules.iter().all(|rule| rule.can_last) {
        return None;
    }
    let about = |rule: &AskingRule| format!("{} ({})", rule.about, rule.rule);
    let mut words = rules.iter().map(about).collect::<Vec<_>>().join(", and ");
    if !wanted.hosts.is_empty() {
        words.push_str(&format!(", at {} alone", wanted.hosts.join(", ")));
    }
    Some(words)
}

/// The refusal of a call that a rule denies.
pub(super) fn denied_by_rule(tool: &str, verdict: &Verdict) -> ToolError {
    let message = format!("The operator's policy denies this call of `{tool}`: {}.", verdict.reason);
    ToolError::new(ErrorCode::ToolNotAllowed, message)
        .with_hint("Do not repeat it; continue without it, or ask the user.")
}

/// Binds a decision: it changes with everything that a person was shown, and with each file that is named.
/// The answer to a question is for the call with its idempotency key: a model may ask the same again.
fn digest(
    tool: &dyn AnyTool,
    arguments: &Value,
    scope: &Scope,
    (cwd, question_key): (&str, Option<&str>),
) -> Result<String, ToolError> {
    let files = tool.named_files(arguments, scope)?;
    let name = &tool.spec().name;
    let mut all =
        json!({"tool": name, "arguments": arguments, "session": scope.session(), "cwd": cwd, "files": files});
    if let Some(token) = scope.token() {
        all["token"] = token.into();
    }
    if let Some(key) = question_key {
        all["key"] = key.into();
    }
    let mut text = String::new();
    canonical(&all, &mut text);
    Ok(sha256(text.as_bytes()))
}

/// JSON without blanks, the keys of every object sorted.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, &Value> = fields.iter().collect();
            for (index, (key, value)) in sorted.into_iter().enumerate() {
                text.push(if index == 0 { '{' } else { ',' });
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                canonical(value, text);
            }
            text.push_str(if fields.is_empty() { "{}" } else { "}" });
        }
        Value::Array(values) => {
            for (index, value) in values.iter().enumerate() {
                text.push(if index == 0 { '[' } else { ',' });
                canonical(value, text);
            }
            text.push_str(if values.is_empty() { "[]" } else { "]" });
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            text.push_str(&value.to_string());
        }
    }
}

fn denied(approval: &Approval) -> Failure {
    let decision = approval.decision.as_ref();
    let by = decision.and_then(|decision| decision.by.clone());
    let reason = decision.and_then(|decision| decision.reason.clone());
    let who = by.as_deref().unwrap_or("A person");
    let why = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    let message = format!("{who} denied this call of `{}`{why}.", approval.tool);
    let error = ToolError::new(ErrorCode::ApprovalDenied, message);
    let data = json!({
        "approval_id": approval.id,
        "expires_at_ms": approval.expires_at_ms,
        "reason": reason,
        "by": by,
    });
    Failure::with_data(error, &data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_json_has_sorted_keys_and_no_blanks() {
        let mut text = String::new();
        canonical(&json!({"b": [1, {"z": null, "a": "\n"}], "a": {}, "c": []}), &mut text);
        assert_eq!(text, r#"{"a":{},"b":[1,{"a":"\n","z":null}],"c":[]}"#);
    }
}
