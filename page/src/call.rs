//! One tool call: its arguments, its output, and what it changed.

use maud::{Markup, html};
use protocol::journal::OUTPUT_TEXT_BYTES;
use serde_json::{Map, Value};
use store::queries::audit::Call;

use crate::diff::{diff_or_text, is_diff};
use crate::frame::button;
use crate::time::{span, time};
use crate::words::{encoded, short, state, words};

/// Arguments, those with several lines as texts.
pub(crate) fn arguments(arguments: &Map<String, Value>) -> Markup {
    html! {
        @if arguments.is_empty() { p.empty { "No arguments." } }
        dl.arguments {
            @for (name, value) in arguments {
                dt { code { (words(name)) } }
                dd {
                    @match value.as_str() {
                        Some(text) if text.contains('\n') => pre tabindex="0" { (words(text)) },
                        Some(text) => code { (words(text)) },
                        None => code { (words(&value.to_string())) },
                    }
                }
            }
        }
    }
}

/// The whole of a call. `all_arguments` are those of the journal's file, where the event has shortened ones;
/// `undo` is the diff that an undo would make, if there is one.
pub fn call_page(call: &Call, all_arguments: Option<&str>, undo: Option<&str>) -> Markup {
    let ended = call.ended();
    html! {
        dl.facts {
            dt { "Tool" }
            dd { a href={ "/tools/" (encoded(&call.tool_name)) } { code { (words(&call.tool_name)) } } }
            dt { "State" } dd { (state(call.status)) }
            dt { "Began" } dd { (time(call.started_at_ms)) }
            @if let Some(ended) = ended {
                dt { "Took" } dd { (span(i64::try_from(ended.latency_ms).unwrap_or(i64::MAX))) }
                dt { "Exit code" } dd { (ended.exit_code) }
                @if let Some(token) = &ended.token { dt { "Token" } dd { (words(token)) } }
                @if let Some(path) = &ended.path_resolved { dt { "Path" } dd { code { (words(path)) } } }
            }
            @if let Some(session) = &call.session_id { dt { "Session" } dd { (words(session.as_str())) } }
            @if let Some(task) = &call.task_id {
                dt { "Task" } dd { a href={ "/tasks/" (encoded(task)) } { (short(task)) } }
            }
            @if let Some(hash) = &call.arguments_sha256 {
                dt { "SHA-256 of the request" } dd { code.hash { (hash) } }
            }
        }
        @if let Some(error) = call.error() { p.notice.bad { (words(error)) } }
        h2 { "Arguments" }
        @match all_arguments {
            Some(text) => pre tabindex="0" { (words(text)) },
            None => (arguments(&call.arguments)),
        }
        (output(call, undo))
    }
}

fn output(call: &Call, undo: Option<&str>) -> Markup {
    let Some(ended) = call.ended() else { return html! {} };
    let change = ended.change.as_ref();
    html! {
        h2 { @if is_diff(&ended.output_text) { "Diff" } @else { "Output" } }
        @if ended.output_text.is_empty() {
            p.empty { "The call printed nothing." }
        } @else {
            (diff_or_text(&ended.output_text))
        }
        @if ended.output_text.len() >= OUTPUT_TEXT_BYTES {
            p.empty { "The journal keeps the first " (OUTPUT_TEXT_BYTES) " bytes of an output." }
        }
        @if let Some(undo) = undo {
            h2 { "What an undo would change" }
            (diff_or_text(undo))
        }
        @if change.is_some_and(|change| change.can_be_undone) {
            (button("/act/undo", "Undo this change", "bad", &[("id", &call.id)]))
        }
        @if !ended.created_control_files.is_empty() {
            h2 { "Files that other programs would run" }
            ul {
                @for file in &ended.created_control_files {
                    li {
                        code { (words(&file.path)) } " " (words(&file.why))
                        @if file.taken_back { " (in quarantine)" } @else { " (left)" }
                    }
                }
            }
        }
    }
}
