//! From an outcome to the envelope that answers the call, and to the record of its end.
//!
//! Only this file knows how a success, a partial success and a failure look in an envelope.

use protocol::journal::{CallChange, CallEnded, CallFailure, OUTPUT_TEXT_BYTES};
use protocol::text_form::{parts, stderr_of};
use protocol::{
    Context, Data, Envelope, ErrorCode, EventId, Meta, Risk, Stats, Status, ToolError, millis, visible,
};
use redaction::Redactor;
use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;

use super::call::CallInfo;
use crate::arguments;
use crate::output::head;
use crate::{Failure, Outcome, PartialReason, Success};

/// The notice of an answer in which a secret was replaced.
const REDACTED: &str =
    "Secrets in this answer were replaced by ***REDACTED***. Do not write that back; edit around it.";

/// The redacted answer to a call.
pub(super) fn envelope(
    info: &CallInfo,
    cwd: String,
    outcome: Outcome<Data>,
    redactor: &Redactor,
) -> Envelope {
    let shown = info.shown_arguments();
    let header = Header {
        tool: info.tool.clone(),
        call_id: info.ids.call.clone(),
        risk: info.risk,
        stats: Stats { time_ms: millis(info.took()) },
        context: Context { cwd, params_input: shown.arguments, path_resolved: None },
    };
    let mut envelope = header.answer(outcome);
    if redact(&mut envelope, redactor) || shown.redacted || envelope.meta.redacted {
        envelope.meta.redacted = true;
        envelope.meta.notices.push(REDACTED.to_owned());
    }
    escape(&mut envelope);
    envelope
}

/// The answer to a request that never became a call. It is not recorded.
pub fn refusal(tool: &str, error: ToolError) -> Envelope {
    answer::<()>(tool, Err(error.into()))
}

/// The answer to a call that needs no guard and no record.
pub fn answer<T: Serialize>(tool: &str, outcome: Outcome<T>) -> Envelope {
    let header = Header {
        tool: arguments::elide(tool, 60),
        call_id: EventId::new(),
        risk: Risk::Low,
        stats: Stats::default(),
        context: Context::default(),
    };
    let mut envelope = header.answer(outcome.map(Success::erase));
    escape(&mut envelope);
    envelope
}

/// What an answer repeats of its call.
struct Header {
    tool: String,
    call_id: EventId,
    risk: Risk,
    stats: Stats,
    context: Context,
}

impl Header {
    fn answer(self, outcome: Outcome<Data>) -> Envelope {
        let (status, exit_code, error, mut success) = match outcome {
            Ok(success) => match success.partial {
                Some(reason) => (Status::Partial, reason.exit_code(), None, success),
                None => (Status::Success, 0, None, success),
            },
            Err(Failure { error, exit_code, shown }) => {
                (Status::Error, exit_code, Some(error), shown.map(|shown| *shown).unwrap_or_default())
            }
        };
        let said = success.partial.filter(|_| error.is_none()).and_then(PartialReason::notice);
        success.notices.extend(said.map(str::to_owned));
        Envelope {
            ok: error.is_none() && exit_code == 0,
            exit_code,
            stdout: success.stdout,
            stderr: success.stderr.unwrap_or_else(|| stderr_of(error.as_ref(), &success.notices)),
            truncated_lines: success.truncated_lines,
            truncated_bytes: success.truncated_bytes,
            next_page_cursor: success.next_page_cursor,
            meta: Meta {
                tool: self.tool,
                call_id: self.call_id,
                status,
                risk: self.risk,
                error,
                notices: success.notices,
                data: success.data,
                stats: self.stats,
                context: Context { path_resolved: success.path_resolved, ..self.context },
                full_output: success.full_output,
                redacted: success.redacted,
                untrusted: success.untrusted,
            },
        }
    }
}

/// The record of an answer that restricts its task to `allowed_tools`.
pub(super) fn record(envelope: &Envelope, allowed_tools: Option<Vec<String>>) -> CallEnded {
    CallEnded {
        tool_name: envelope.meta.tool.clone(),
        token: None,
        latency_ms: envelope.meta.stats.time_ms,
        exit_code: envelope.exit_code,
        truncated_lines: envelope.truncated_lines,
        truncated_bytes: envelope.truncated_bytes,
        output_text: head(&envelope.stdout, OUTPUT_TEXT_BYTES).to_owned(),
        output_file: None,
        path_resolved: envelope.meta.context.path_resolved.clone(),
        change: change(envelope),
        created_control_files: listed(&envelope.meta.data, "created_control_files"),
        network_refused: listed(&envelope.meta.data, "network_refused"),
        allowed_tools,
        failure: envelope.meta.error.as_ref().map(|error| CallFailure {
            error: error.message.clone(),
            error_class: error.class,
            error_code: error.code.as_str().to_owned(),
            redacted: envelope.meta.redacted,
            approval_id: awaited(error.code, &envelope.meta.data),
        }),
    }
}

/// Whether a command has run. Other tools have no stderr of their own.
pub(super) fn is_of_command<T>(outcome: &Outcome<T>) -> bool {
    match outcome {
        Ok(success) => success.stderr.is_some(),
        Err(failure) => failure.shown.as_ref().is_some_and(|shown| shown.stderr.is_some()),
    }
}

/// Whether the command of an answer is a background process.
pub(super) fn runs_on(envelope: &Envelope) -> bool {
    envelope.meta.data.get("process_id").is_some_and(Value::is_string)
}

/// The output in an answer, if the record of the answer will not have all of it. Only a command's stderr is
/// output.
pub(super) fn unrecorded_output(envelope: &Envelope, is_of_command: bool) -> Option<String> {
    let has_stderr = is_of_command && !envelope.stderr.is_empty();
    let is_recorded = envelope.stdout.len() <= OUTPUT_TEXT_BYTES && !has_stderr;
    (!is_recorded).then(|| parts(envelope).content)
}

/// The approval that a call waits for, or that refused it.
fn awaited(code: ErrorCode, data: &Data) -> Option<EventId> {
    let is_asked = matches!(code, ErrorCode::ApprovalRequired | ErrorCode::ApprovalDenied);
    is_asked.then(|| data.get("approval_id")?.as_str()?.parse().ok()).flatten()
}

/// A list in a call's data; only commands have one.
fn listed<T: DeserializeOwned>(data: &Data, name: &str) -> Vec<T> {
    let listed = data.get(name).map(Vec::deserialize);
    listed.and_then(Result::ok).unwrap_or_default()
}

/// What a call changed. Only tools that change files name an operation in their data.
fn change(envelope: &Envelope) -> Option<CallChange> {
    let data = &envelope.meta.data;
    let is_change = envelope.ok && data.get("operation").is_some_and(Value::is_string);
    let changed = is_change && data["dry_run"] != true;
    changed.then(|| CallChange::deserialize(&**data).ok()).flatten()
}

/// Replaces secrets in the whole answer but its arguments, which were redacted before; true if it found one.
fn redact(envelope: &mut Envelope, redactor: &Redactor) -> bool {
    let mut found = texts(envelope).fold(false, |found, text| redactor.redact_text(text) | found);
    if let Some(path) = &mut envelope.meta.context.path_resolved {
        found |= redactor.redact_text(path);
    }
    found | redactor.redact_data(&mut envelope.meta.data)
}

/// The texts of an answer for its caller.
fn texts(Envelope { stdout, stderr, meta, .. }: &mut Envelope) -> impl Iterator<Item = &mut String> {
    let of_error = meta.error.iter_mut().flat_map(|error| [&mut error.message, &mut error.hint]);
    [stdout, stderr].into_iter().chain(&mut meta.notices).chain(of_error)
}

/// Escapes what would steer a terminal or hide text, wherever it came from, so that no tool has to think of
/// it. Tools whose answers have a bound escape before they cut.
fn escape(envelope: &mut Envelope) {
    let found = texts(envelope).fold(false, |found, text| visible::escape(text) | found);
    let meta = &mut envelope.meta;
    if visible::escape_data(&mut meta.data) | found {
        meta.notices.push(visible::NOTICE.to_owned());
    }
    // What the caller sent and what the server named are shown without a word on it.
    visible::escape(&mut meta.tool);
    let context = &mut meta.context;
    [&mut context.cwd].into_iter().chain(&mut context.path_resolved).for_each(|path| {
        visible::escape(path);
    });
    let mut sent = Value::Object(std::mem::take(&mut context.params_input));
    visible::escape_value(&mut sent);
    if let Value::Object(sent) = sent {
        context.params_input = sent;
    }
}
