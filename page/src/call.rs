//! One tool call: its arguments, its output, and what it changed.

use maud::{Markup, html};
use protocol::journal::{CallEnded, OUTPUT_TEXT_BYTES};
use serde_json::{Map, Value};
use store::queries::audit::Call;

use crate::diff::{diff_or_text, is_diff};
use crate::frame::button;
use crate::time::{span, time};
use crate::words::{encoded, state, task_link, words};

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

/// What is kept of a call beside its events.
#[derive(Debug, Default)]
pub struct KeptOfCall {
    /// All arguments, where the event has shortened ones.
    pub arguments: Option<String>,
    /// The diff that an undo would make, where the event has only the beginning of the change's own.
    pub undo: Option<String>,
    /// Whether there is a file with the whole output, where the event has less.
    pub has_output: bool,
}

/// The whole of a call.
pub fn call_page(call: &Call, kept: &KeptOfCall) -> Markup {
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
                dt { "Task" } dd { (task_link(task)) }
            }
            @if let Some(hash) = &call.arguments_sha256 {
                dt { "SHA-256 of the request" } dd { code.hash { (hash) } }
            }
        }
        @if let Some(error) = call.error() { p.notice.bad { (words(error)) } }
        h2 { "Arguments" }
        @match &kept.arguments {
            Some(text) => pre tabindex="0" { (words(text)) },
            None => (arguments(&call.arguments)),
        }
        (output(call, kept))
    }
}

fn output(call: &Call, kept: &KeptOfCall) -> Markup {
    let Some(ended) = call.ended() else { return html! {} };
    let change = ended.change.as_ref();
    html! {
        h2 { @if is_diff(&ended.output_text) { "Diff" } @else { "Output" } }
        @if !ended.output_text.is_empty() {
            (diff_or_text(&ended.output_text))
        } @else if !kept.has_output {
            p.empty { "The call printed nothing." }
        }
        (rest(call, ended, kept.has_output))
        @if let Some(undo) = &kept.undo {
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

/// How to read on where the event has not all of the output.
fn rest(call: &Call, ended: &CallEnded, has_output: bool) -> Markup {
    html! {
        @if has_output {
            p { a href={ "/calls/" (encoded(&call.id)) "/output" } { "Read all of it" } }
            p.empty {
                "The journal keeps the first " (OUTPUT_TEXT_BYTES) " bytes of stdout. The whole output, "
                "of a command with stderr, is kept for a week."
            }
        } @else if is_cut(ended) {
            p.empty { "The journal keeps the first " (OUTPUT_TEXT_BYTES) " bytes of an output." }
        }
    }
}

/// Whether the event may have only the beginning of the output. What is cut ends with a whole character.
pub fn is_cut(ended: &CallEnded) -> bool {
    ended.output_text.len() + 3 >= OUTPUT_TEXT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(output_text: String) -> CallEnded {
        CallEnded { output_text, ..CallEnded::default() }
    }

    #[test]
    fn an_output_that_was_cut_before_a_long_character_is_cut() {
        let cut = "€".repeat(OUTPUT_TEXT_BYTES / 3);
        assert!(cut.len() < OUTPUT_TEXT_BYTES && is_cut(&ended(cut)));
        assert!(!is_cut(&ended("x".repeat(OUTPUT_TEXT_BYTES - 4))));
    }
}
