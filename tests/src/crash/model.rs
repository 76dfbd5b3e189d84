//! The played model: it writes the word that it is asked to note into a file, once for each attempt, and
//! answers with the word. It reads only what it is sent.

use serde_json::{Value, json};

use crate::ModelReply;

/// How a request to note something begins.
const ASKED: &str = "Please note ";

/// What somebody asks for: that a word is noted in a file.
pub(super) fn request_for(word: &str, file: &str) -> String {
    format!("{ASKED}{word} in {file}")
}

/// How the answer to that begins.
pub(super) fn answer_to(word: &str) -> String {
    format!("Noted {word}: ")
}

/// The model's next step.
pub(super) fn note_down(request: &Value) -> ModelReply {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let asked = messages.iter().enumerate().rev().find_map(|(at, message)| Some((at, asked(message)?)));
    let Some((at, (word, file))) = asked else { return ModelReply::Text("Nothing to note.".to_owned()) };
    let result = messages[at..].iter().rfind(|message| message["role"] == "tool");
    match result.and_then(|result| result["content"].as_str()) {
        Some(result) => {
            let status = result.lines().next().unwrap_or_default();
            ModelReply::Text(format!("{}{status}", answer_to(word)))
        }
        None => act(word, file),
    }
}

/// Half of the words are noted by a file tool, half by a command.
fn act(word: &str, file: &str) -> ModelReply {
    if word.ends_with(|last: char| "02468ace".contains(last)) {
        let content = format!("{word}\n");
        ModelReply::call("write", &json!({"path": file, "content": content, "mode": "append"}))
    } else {
        ModelReply::call("bash", &json!({"cmd": format!("echo {word} >> {file}")}))
    }
}

/// The word and the file of a message that asks for one to be noted.
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
    fn the_last_request_is_acted_upon_and_then_answered() {
        let first = user(&request_for("word-01", "1.txt"));
        let second = user(&request_for("word-02", "1.txt"));
        let answered = json!({"role": "assistant", "content": answer_to("word-01")});
        let mut messages = vec![first, answered, second];
        let acted = note_down(&json!({"messages": messages}));
        let expected = json!({"path": "1.txt", "content": "word-02\n", "mode": "append"});
        assert_eq!(acted, ModelReply::call("write", &expected));
        messages.push(json!({"role": "tool", "content": "exit 0\nmore"}));
        let answered = note_down(&json!({"messages": messages}));
        assert_eq!(answered, ModelReply::Text("Noted word-02: exit 0".to_owned()));
    }
}
