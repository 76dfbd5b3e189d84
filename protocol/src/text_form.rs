//! The text form: the envelope as a model reads it.
//!
//! One formatter for the worker, for MCP and for `Accept: text/plain`, so that every model sees the same
//! thing: a status line that says the exit code, what was cut and how to get the rest; then the result;
//! then stderr. `meta.data` is not part of it.

use std::fmt::Write as _;

use crate::{Envelope, Status};

/// The envelope as text.
pub fn text_form(envelope: &Envelope) -> String {
    let mut text = status_line(envelope);
    for part in [&envelope.stdout, &envelope.stderr] {
        if !part.is_empty() {
            text.push('\n');
            text.push_str(part.strip_suffix('\n').unwrap_or(part));
        }
    }
    // A command's stderr is its own, so what the server has to say stands after it.
    if let Some(error) =
        envelope.meta.error.as_ref().filter(|error| !envelope.stderr.contains(&error.message))
    {
        let _ = write!(text, "\nerror: {}\nhint: {}", error.message, error.hint);
    }
    for notice in envelope.meta.notices.iter().filter(|notice| !envelope.stderr.contains(notice.as_str())) {
        text.push_str("\nnotice: ");
        text.push_str(notice);
    }
    if envelope.stdout.is_empty() && envelope.stderr.is_empty() && envelope.meta.error.is_none() {
        text.push_str("\nno output");
    }
    text
}

fn status_line(envelope: &Envelope) -> String {
    let mut line = format!("exit {}", envelope.exit_code);
    match (&envelope.meta.error, envelope.meta.status) {
        (Some(error), _) => {
            let _ = write!(line, " · error {}", error.code);
        }
        (None, Status::Partial) => line.push_str(" · partial"),
        (None, Status::Success | Status::Error) => {}
    }
    if let Some(cut) = cut_in_words(envelope) {
        let _ = write!(line, " · {cut}");
    }
    if let Some(cursor) = &envelope.next_page_cursor {
        let _ = write!(line, " · more: call again with cursor={cursor}");
    }
    line
}

fn cut_in_words(envelope: &Envelope) -> Option<String> {
    let bound = match (envelope.truncated_lines, envelope.truncated_bytes) {
        (false, false) => return None,
        (true, false) => "lines",
        (false, true) => "bytes",
        (true, true) => "lines and bytes",
    };
    let Some(full) = &envelope.meta.full_output else {
        return Some(format!("cut at the bound of {bound}"));
    };
    let shown = envelope.stdout.lines().count();
    Some(format!("cut: {shown} of {} lines, whole output: {}", full.lines, full.path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, EventId, Meta, Risk, Stats};

    fn envelope(stdout: &str) -> Envelope {
        Envelope {
            ok: true,
            exit_code: 0,
            stdout: stdout.to_owned(),
            stderr: String::new(),
            truncated_lines: false,
            truncated_bytes: false,
            next_page_cursor: None,
            meta: Meta {
                tool: "ls".to_owned(),
                call_id: EventId::new(),
                status: Status::Success,
                risk: Risk::Low,
                error: None,
                notices: Vec::new(),
                data: serde_json::Value::Null,
                stats: Stats::default(),
                context: Context::default(),
                full_output: None,
                redacted: false,
            },
        }
    }

    #[test]
    fn a_plain_result_is_its_status_and_its_text() {
        assert_eq!(text_form(&envelope("a\nb\n")), "exit 0\na\nb");
    }

    #[test]
    fn an_empty_result_says_so() {
        assert_eq!(text_form(&envelope("")), "exit 0\nno output");
    }

    #[test]
    fn a_page_names_the_cursor_of_the_next() {
        let mut page = envelope("a\n");
        page.meta.status = Status::Partial;
        page.next_page_cursor = Some("abc".to_owned());
        page.stderr = "1 more\n".to_owned();
        assert_eq!(text_form(&page), "exit 0 · partial · more: call again with cursor=abc\na\n1 more");
    }
}
