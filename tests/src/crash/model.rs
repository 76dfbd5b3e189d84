//! The fake model: notes the word that it is asked to note, in a file or as the caption of a file that it
//! sends to the chat, and answers with the word. It repeats a call of an earlier attempt only if the outcome
//! is unknown, without checking first. What was added to a task is noted after what the task asked for.

use serde_json::{Value, json};

use crate::ModelReply;
use crate::facts::{self, Outcome};

const ASKED: &str = "Please note ";

/// The files that are sent: one that a person is asked about, and another.
pub(super) const ASKED_FILE: &str = "asked.txt";
pub(super) const FREE_FILE: &str = "free.txt";

pub(super) fn request_for(word: &str, file: &str) -> String {
    format!("{ASKED}{word} in {file}")
}

pub(super) fn answer_to(word: &str) -> String {
    format!("Noted {word}: ")
}

pub(super) fn note_down(request: &Value) -> ModelReply {
    let messages = facts::messages(request);
    let Some(at) = messages.iter().rposition(|message| asked(message).is_some() && !is_addition(message))
    else {
        return ModelReply::text("Nothing to note.");
    };
    let facts = facts::of(messages, at);
    let mut answers = Vec::new();
    for (word, file) in messages[at..].iter().filter_map(asked) {
        let (tool, arguments) = action(word, file);
        match facts.iter().rfind(|fact| fact.is(tool, &arguments)) {
            Some(fact) if fact.outcome == Outcome::Done || fact.result.is_some() => {
                answers.push(format!("{}{:?}", answer_to(word), fact.outcome));
            }
            Some(_) | None => return ModelReply::call(tool, &arguments),
        }
    }
    ModelReply::Text(answers.join("\n"))
}

fn is_addition(message: &Value) -> bool {
    let text = message["content"].as_str().unwrap_or_default();
    text.lines().next().is_some_and(|first| first.ends_with("adds:]"))
}

/// Whether a word is noted with a call that a person is asked about.
pub(super) fn needs_approval(word: &str) -> bool {
    word.ends_with(|last: char| "02468ace".contains(last))
}

/// Whether a word is noted with a call whose effect the supervisor makes.
pub(super) fn is_sent(word: &str) -> bool {
    word.ends_with(['0', '1', '4', '5'])
}

/// A quarter of the words are sent, the others noted with a file tool or a command.
fn action(word: &str, file: &str) -> (&'static str, Value) {
    match (is_sent(word), needs_approval(word)) {
        (true, true) => ("telegram_send_file", json!({"path": ASKED_FILE, "caption": word})),
        (true, false) => ("telegram_send_file", json!({"path": FREE_FILE, "caption": word})),
        (false, true) => ("write", json!({"path": file, "content": format!("{word}\n"), "mode": "append"})),
        (false, false) => ("bash", json!({"cmd": format!("echo {word} >> {file}")})),
    }
}

fn asked(message: &Value) -> Option<(&str, &str)> {
    let text = message["content"].as_str().filter(|_| message["role"] == "user")?;
    let (_, rest) = text.split_once(ASKED)?;
    let (word, rest) = rest.split_once(" in ")?;
    Some((word, rest.split_whitespace().next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": text})
    }

    #[test]
    fn the_last_request_is_carried_out_once_and_then_answered() {
        let first = user(&request_for("word-01", "1.txt"));
        let answered = json!({"role": "assistant", "content": answer_to("word-01")});
        let second = user(&request_for("word-02", "1.txt"));
        let acted = note_down(&json!({"messages": [first, answered, second]}));
        let arguments = json!({"path": "1.txt", "content": "word-02\n", "mode": "append"});
        assert_eq!(acted, ModelReply::call("write", &arguments));
        for (outcome, expected) in [
            ("done", ModelReply::text("Noted word-02: Done")),
            ("was running, its outcome is unknown", ModelReply::call("write", &arguments)),
        ] {
            let note = user(&format!("[An earlier attempt …\n- write {arguments}: {outcome}"));
            assert_eq!(note_down(&json!({"messages": [first, answered, note, second]})), expected);
        }
        let added = user(&format!("[Ada (ID 1) adds:]\n{}", request_for("word-03", "1.txt")));
        let note = user(&format!("[An earlier attempt …\n- write {arguments}: done"));
        let next = ModelReply::call("bash", &json!({"cmd": "echo word-03 >> 1.txt"}));
        assert_eq!(note_down(&json!({"messages": [first, answered, note, second, added]})), next);
    }
}
