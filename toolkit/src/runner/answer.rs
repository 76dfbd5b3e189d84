//! From a tool's outcome to the envelope that answers it, and to the record of its end.

use std::borrow::Cow;

use protocol::journal::{CallChange, CallEnded, CallFailure, OUTPUT_TEXT_BYTES};
use protocol::text_form::stderr_of;
use protocol::{Context, Envelope, Meta, Stats, Status, ToolError};
use serde::Deserialize as _;
use serde_json::{Map, Value};

use super::Opened;
use crate::Redactor;
use crate::arguments;
use crate::output::head;
use crate::tool::Output;

/// What an answer says when a secret was taken out of it.
const REDACTED: &str =
    "Secrets in this answer were replaced by ***REDACTED***; do not write that back, edit around it.";

/// The answer to a call.
pub(super) fn envelope(opened: &Opened, cwd: &str, result: Result<Output<Value>, ToolError>) -> Envelope {
    let (output, error) = match result {
        Ok(mut output) => {
            let error = output.error.take();
            (output, error)
        }
        Err(error) => (Output::default(), Some(error)),
    };
    let status = match (&error, output.partial) {
        (Some(_), _) => Status::Error,
        (None, true) => Status::Partial,
        (None, false) => Status::Success,
    };
    Envelope {
        ok: error.is_none(),
        exit_code: output.exit_code.unwrap_or(error.as_ref().map_or(0, ToolError::exit_code)),
        stdout: output.stdout,
        stderr: output.stderr.unwrap_or_else(|| stderr_of(error.as_ref(), &output.notices)),
        truncated_lines: output.truncated_lines,
        truncated_bytes: output.truncated_bytes,
        next_page_cursor: output.next_page_cursor,
        meta: Meta {
            tool: arguments::elide(&opened.request.tool, 60),
            call_id: opened.ids.call.clone(),
            status,
            risk: opened.risk,
            error,
            notices: output.notices,
            data: if output.data.is_null() { Value::Object(Default::default()) } else { output.data },
            stats: Stats { time_ms: u64::try_from(opened.since.elapsed().as_millis()).unwrap_or(u64::MAX) },
            context: Context {
                cwd: cwd.to_owned(),
                params_input: opened.arguments.as_ref().map(arguments::bounded).unwrap_or_default(),
                path_resolved: output.path_resolved,
            },
            full_output: output.full_output,
            redacted: false,
        },
    }
}

/// The record of a call's end.
pub(super) fn record(envelope: &Envelope) -> CallEnded {
    CallEnded {
        tool_name: envelope.meta.tool.clone(),
        latency_ms: envelope.meta.stats.time_ms,
        exit_code: envelope.exit_code,
        truncated_lines: envelope.truncated_lines,
        truncated_bytes: envelope.truncated_bytes,
        output_text: head(&envelope.stdout, OUTPUT_TEXT_BYTES).to_owned(),
        path_resolved: envelope.meta.context.path_resolved.clone(),
        change: change(envelope),
        created_control_files: serde_json::from_value(envelope.meta.data["created_control_files"].clone())
            .unwrap_or_default(),
        failure: envelope.meta.error.as_ref().map(|error| CallFailure {
            error: error.message.clone(),
            error_class: error.class,
            error_code: error.code.as_str().to_owned(),
            redacted: envelope.meta.redacted,
        }),
    }
}

/// What a call changed, by the facts in its answer: only tools that change files name an operation.
fn change(envelope: &Envelope) -> Option<CallChange> {
    let data = &envelope.meta.data;
    let changed = envelope.ok && data["dry_run"] != true && data["operation"].is_string();
    changed.then(|| CallChange::deserialize(data).ok()).flatten()
}

/// Replaces secrets everywhere in an answer, and says so in it.
pub(super) fn redact(envelope: &mut Envelope, redactor: &Redactor) {
    let mut found = redact_text(&mut envelope.stdout, redactor) | redact_text(&mut envelope.stderr, redactor);
    for notice in &mut envelope.meta.notices {
        found |= redact_text(notice, redactor);
    }
    if let Some(error) = &mut envelope.meta.error {
        found |= redact_text(&mut error.message, redactor) | redact_text(&mut error.hint, redactor);
    }
    found |= redactor.redact_value(&mut envelope.meta.data);
    found |= redact_object(&mut envelope.meta.context.params_input, redactor);
    if found {
        envelope.meta.redacted = true;
        envelope.meta.notices.push(REDACTED.to_owned());
    }
}

/// Replaces secrets in the values of an object.
pub(super) fn redact_object(object: &mut Map<String, Value>, redactor: &Redactor) -> bool {
    let mut value = Value::Object(std::mem::take(object));
    let found = redactor.redact_value(&mut value);
    if let Value::Object(redacted) = value {
        *object = redacted;
    }
    found
}

fn redact_text(text: &mut String, redactor: &Redactor) -> bool {
    match redactor.redact(text) {
        Cow::Borrowed(_) => false,
        Cow::Owned(redacted) => {
            *text = redacted;
            true
        }
    }
}
