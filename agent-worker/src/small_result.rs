//! The result of a call as a small model reads it: what was found, in a fence, and nothing that looks like a
//! failure when there was none.
//!
//! The status line, the tags around content and the diff after a change are for models that know what to make
//! of them. A small one was seen to make a call again as if it had seen no result. docs/small-models.md has
//! the runs with one part changed at a time.
//!
//! A heading ends in a colon exactly before a fence, by which [`crate::untrusted`] knows it.

use protocol::text_form::parts;
use protocol::{Envelope, ErrorCode, Risk, Status};

use crate::untrusted;

/// How much of the task the last word repeats.
const MAX_TASK_CHARS: usize = 200;

/// How many of its files the last word names.
const MAX_UNSEEN_FILES: usize = 5;

/// What follows a turn's last result: small models were seen to call on and on, to forget after an obstacle
/// what they were about to do, and to answer before they had read all files that the task is about. `calls`
/// are the arguments of all calls until now.
pub(crate) fn last_word(task: &str, calls: &[&str]) -> String {
    let words = task.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = words.chars().take(MAX_TASK_CHARS).collect();
    let more = if shown.len() < words.len() { " …" } else { "" };
    let unseen = unseen_files(&words, calls);
    let unseen = match unseen.is_empty() {
        true => String::new(),
        false => format!("You have not looked at {} yet.\n", unseen.join(", ")),
    };
    format!(
        "The task was: {shown}{more}\n\
         {unseen}If all of it is done now, answer the person. If it is not, make the next call."
    )
}

/// The files that the task names and no call does.
fn unseen_files<'t>(task: &'t str, calls: &[&str]) -> Vec<&'t str> {
    let is_in_name = |letter: char| letter.is_alphanumeric() || "._-/".contains(letter);
    let words = task.split(|letter| !is_in_name(letter)).map(|word| word.trim_end_matches('.'));
    let is_file = |word: &&str| {
        word.rsplit_once('.').is_some_and(|(stem, extension)| {
            let is_extension = (1..=5).contains(&extension.len())
                && extension.starts_with(|first: char| first.is_ascii_alphabetic());
            is_extension && !stem.is_empty() && !word.starts_with('/')
        })
    };
    let mut files: Vec<&str> = Vec::new();
    for file in words.filter(is_file).filter(|file| !calls.iter().any(|call| call.contains(file))) {
        if files.len() < MAX_UNSEEN_FILES && !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// The doubt of an answer without any call before it: small models were seen to invent the content of files.
pub(crate) const SECOND_LOOK: &str = "You have made no call yet. If the answer depends on files or on the \
     output of a command, make the call now. If it does not, give the same answer again.";

/// The result as text. Only what the server itself says stands outside of the fence.
pub(crate) fn text(envelope: &Envelope) -> String {
    let found = parts(envelope);
    let content = content(envelope, found.content);
    let mut lines = vec![heading(envelope, &content)];
    if !content.is_empty() {
        lines.push(untrusted::fence(&content));
    }
    lines.extend(line_count(envelope));
    let is_refused = envelope.meta.error.is_some() && !has_ended_badly(envelope);
    let says_more = is_refused || !envelope.meta.notices.is_empty();
    lines.extend(Some(found.remarks).filter(|remarks| says_more && !remarks.is_empty()));
    lines.extend(what_is_missing(envelope));
    lines.join("\n")
}

fn heading(envelope: &Envelope, content: &str) -> String {
    let code = envelope.exit_code;
    match (&envelope.meta.error, content.is_empty()) {
        (None, false) => "Output:".to_owned(),
        (None, true) if envelope.meta.tool == "grep" => {
            "No line matches. To see what a file says, read it.".to_owned()
        }
        (None, true) if envelope.meta.risk == Risk::Low => "Nothing was found.".to_owned(),
        (None, true) => "Done. There is no output.".to_owned(),
        (Some(_), false) if has_ended_badly(envelope) => {
            format!("The command failed with exit code {code}. Output:")
        }
        (Some(_), true) if has_ended_badly(envelope) => format!("The command failed with exit code {code}."),
        (Some(_), false) => "The call failed:".to_owned(),
        (Some(_), true) => "The call failed.".to_owned(),
    }
}

/// Whether a command ran and reported a failure of its own.
fn has_ended_badly(envelope: &Envelope) -> bool {
    envelope.error_code() == Some(ErrorCode::ExitNonzero)
}

fn content(envelope: &Envelope, whole: String) -> String {
    let data = &envelope.meta.data;
    if !envelope.ok {
        whole
    } else if data["operation"].is_string() {
        // The first line says what was changed, and the diff follows.
        whole.lines().next().unwrap_or_default().to_owned()
    } else if let Some(first) = data["start_line"].as_u64() {
        without_numbers(&whole, first).unwrap_or(whole)
    } else {
        whole
    }
}

/// The lines of a file without their numbers; none if one of them has no number.
fn without_numbers(text: &str, first: u64) -> Option<String> {
    let lines = text.split('\n').zip(first..).map(|(line, number)| {
        let (found, line) = line.split_once('\t')?;
        (found == number.to_string()).then_some(line)
    });
    Some(lines.collect::<Option<Vec<_>>>()?.join("\n"))
}

/// How long a file is: a small model counts badly.
fn line_count(envelope: &Envelope) -> Option<String> {
    let data = &envelope.meta.data;
    let (total, _) = (data["total_lines"].as_u64()?, data["start_line"].as_u64()?);
    Some(match total {
        1 => "[The file has 1 line.]".to_owned(),
        lines => format!("[The file has {lines} lines.]"),
    })
}

fn what_is_missing(envelope: &Envelope) -> Option<String> {
    let is_cut = envelope.truncated_lines || envelope.truncated_bytes || envelope.next_page_cursor.is_some();
    if !is_cut && (envelope.meta.status != Status::Partial || envelope.meta.error.is_some()) {
        return None;
    }
    let whole = envelope.meta.full_output.as_ref().map(|full| format!(" The whole is in {}.", full.path));
    Some(format!(
        "[This is only a part.{} Use grep to find something in the rest.]",
        whole.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use harness::fake_tool_server::success;
    use serde_json::{Value, json};

    use super::*;

    fn envelope(stdout: &str, exit_code: i32, data: Value) -> Envelope {
        let mut envelope = Envelope { ok: exit_code == 0, exit_code, ..success(stdout) };
        (envelope.meta.tool, envelope.meta.data) = ("read".to_owned(), data.into());
        envelope
    }

    #[test]
    fn the_last_word_names_the_files_of_the_task_that_no_call_has_named() {
        let task = "a.txt has a name and b.md has a city, not 3.5 of /etc/x.conf. Look at a.txt first.";
        for (calls, expected) in [
            (&[][..], "a.txt, b.md"),
            (&[r#"{"path":"a.txt"}"#], "b.md"),
            (&[r#"{"cmd":"cat a.txt b.md"}"#], ""),
        ] {
            let word = last_word(task, calls);
            let unseen =
                word.split_once("looked at ").map_or("", |(_, rest)| rest.split(" yet").next().unwrap());
            assert_eq!(unseen, expected, "{word}");
        }
        assert_eq!(last_word(&"x".repeat(300), &[]).lines().next().unwrap().len(), 14 + 200 + 4);
    }

    #[test]
    fn a_result_is_its_content_in_a_fence() {
        let check = |stdout: &str, code, data: Value, expected: &str| {
            assert_eq!(text(&envelope(stdout, code, data)), expected);
        };
        check("a\nb\n", 0, json!(null), "Output:\n```\na\nb\n```");
        check("", 0, json!(null), "Nothing was found.");
        check("a ``` b", 0, json!(null), "Output:\n````\na ``` b\n````");
        let change = json!({"operation": "update"});
        check(
            "Updated a: 1 place replaced.\n--- a\n+++ a\n",
            0,
            change,
            "Output:\n```\nUpdated a: 1 place replaced.\n```",
        );
        let lines = json!({"start_line": 9, "total_lines": 10});
        check("9\tx\ty\n10\tz\n", 0, lines.clone(), "Output:\n```\nx\ty\nz\n```\n[The file has 10 lines.]");
        check("9\tx\nz\n", 0, lines, "Output:\n```\n9\tx\nz\n```\n[The file has 10 lines.]");
    }

    #[test]
    fn a_command_that_failed_says_so_once() {
        let failed = |stdout: &str| {
            let mut failed = envelope(stdout, 3, json!(null));
            failed.stderr = "no\n".to_owned();
            failed.meta.error =
                Some(protocol::ToolError::new(ErrorCode::ExitNonzero, "ended").with_hint("Look."));
            failed
        };
        assert_eq!(text(&failed("a\n")), "The command failed with exit code 3. Output:\n```\na\nno\n```");
        let silent = Envelope { stderr: String::new(), ..failed("") };
        assert_eq!(text(&silent), "The command failed with exit code 3.");
        let mut done = envelope("", 0, json!(null));
        done.meta.risk = Risk::High;
        assert_eq!(text(&done), "Done. There is no output.");
    }

    #[test]
    fn a_part_says_that_it_is_one_and_an_error_has_its_hint() {
        let page = Envelope { next_page_cursor: Some("abc".to_owned()), ..envelope("a\n", 0, json!(null)) };
        assert!(text(&page).ends_with("```\n[This is only a part. Use grep to find something in the rest.]"));
        let mut refused = envelope("", 2, json!(null));
        let error = protocol::ToolError::new(ErrorCode::PathDenied, "no").with_hint("Look.");
        refused.stderr = protocol::text_form::stderr_of(Some(&error), &[]);
        refused.meta.error = Some(error);
        assert_eq!(text(&refused), "The call failed.\nPATH_DENIED: no\nhint: Look.");
    }
}
