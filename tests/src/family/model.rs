//! The fake model of the family: does what the words of a request name, in their order, and answers with all
//! of them. A word is asked for as `please VERB word-…`; a request of several messages has several.

use serde_json::{Value, json};

use crate::ModelReply;
use crate::facts::{self, Fact};

const ANSWER: &str = "Done: ";

/// What a person wants done with a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    /// To be answered at once.
    Note,
    /// A command that takes two seconds.
    Work,
    /// A command that takes longer than anybody waits for.
    Toil,
    /// A file, about which a person is asked.
    Write,
    /// A question with buttons.
    Choose,
    /// A question that is answered in one's own words.
    Name,
    /// To come again later, as another word.
    Remind,
}

const VERBS: [(Verb, &str); 7] = [
    (Verb::Note, "note"),
    (Verb::Work, "work"),
    (Verb::Toil, "toil"),
    (Verb::Write, "write"),
    (Verb::Choose, "choose"),
    (Verb::Name, "name"),
    (Verb::Remind, "remind"),
];

impl Verb {
    pub(super) fn asks(self, word: &str) -> String {
        let (_, name) = VERBS.iter().find(|(verb, _)| *verb == self).expect("each verb has a name");
        format!("please {name} {word}")
    }

    /// Its call for a word; none if it is answered at once.
    fn call(self, word: &str) -> Option<(&'static str, Value)> {
        let sleeping = |seconds: u32| json!({"cmd": format!("sleep {seconds}; echo {word}")});
        let call = match self {
            Self::Note => return None,
            Self::Work => ("bash", sleeping(2)),
            Self::Toil => ("bash", sleeping(60)),
            Self::Write => ("write", json!({"path": format!("{word}.txt"), "content": word})),
            Self::Choose => {
                let question = format!("Which colour for {word}?");
                ("ask_user", json!({"question": question, "options": ["Red", "Deep blue"]}))
            }
            Self::Name => ("ask_user", json!({"question": format!("Which name for {word}?")})),
            Self::Remind => {
                let text = Self::Note.asks(&reminder_of(word));
                ("schedule_task", json!({"text": text, "at": in_seconds(2)}))
            }
        };
        Some(call)
    }
}

/// The word that a reminder of `word` brings.
pub(super) fn reminder_of(word: &str) -> String {
    format!("word-r{}", word.trim_start_matches("word-"))
}

pub(super) fn reply(request: &Value) -> ModelReply {
    let messages = facts::messages(request);
    let Some(at) = messages.iter().rposition(is_request) else {
        return ModelReply::text("There is nothing to do.");
    };
    let said: Vec<&str> = messages[at..].iter().filter_map(user_text).filter(|text| !is_note(text)).collect();
    let asked: Vec<(Verb, String)> = said.iter().flat_map(|text| asked(text)).collect();
    let facts = facts::of(messages, at);
    let next = asked.iter().find_map(|(verb, word)| {
        let (tool, arguments) = verb.call(word)?;
        (!is_done(&facts, tool, word)).then_some((tool, arguments))
    });
    match next {
        Some((tool, arguments)) => {
            let words = "I look at it now, and tell you what I find.".to_owned();
            ModelReply::TextAndCalls(words, vec![(tool.to_owned(), arguments.to_string())])
        }
        None => {
            let words: Vec<&str> = asked.iter().map(|(_, word)| word.as_str()).collect();
            ModelReply::Text(format!("{ANSWER}{}", words.join(" ")))
        }
    }
}

/// The words of an answer; none if this is no answer.
pub(super) fn answered(text: &str) -> Vec<&str> {
    let words = text.strip_prefix(ANSWER).unwrap_or_default();
    words.split_whitespace().filter(|word| word.starts_with("word-")).collect()
}

/// The requests in a text, in order; a word counts once.
fn asked(text: &str) -> Vec<(Verb, String)> {
    let mut found: Vec<(Verb, String)> = Vec::new();
    let pieces: Vec<&str> = text.split(|c: char| c.is_whitespace() || "\"“”.,".contains(c)).collect();
    for three in pieces.windows(3).filter(|three| three[0] == "please" && three[2].starts_with("word-")) {
        let verb = VERBS.iter().find(|(_, name)| *name == three[1]);
        if let Some((verb, _)) = verb.filter(|_| found.iter().all(|(_, word)| word != three[2])) {
            found.push((*verb, three[2].to_owned()));
        }
    }
    found
}

fn user_text(message: &Value) -> Option<&str> {
    message["content"].as_str().filter(|_| message["role"] == "user")
}

/// A message that begins a task: nothing that was added to one, and no note of the worker's.
fn is_request(message: &Value) -> bool {
    user_text(message).is_some_and(|text| {
        let is_addition = text.lines().next().is_some_and(|first| first.ends_with("adds:]"));
        !is_addition && !is_note(text) && !asked(text).is_empty()
    })
}

fn is_note(text: &str) -> bool {
    ["[An earlier attempt", "[An attempt to go on"].iter().any(|note| text.starts_with(note))
}

/// A call with this word has ended, with a result or in an earlier attempt.
fn is_done(facts: &[Fact], tool: &str, word: &str) -> bool {
    // A reminder's word has the digits of the one that asked for it.
    let digits = word.trim_start_matches("word-");
    let is_it = |fact: &&Fact| fact.call.starts_with(tool) && fact.call.contains(digits);
    facts
        .iter()
        .rfind(is_it)
        .is_some_and(|fact| fact.result.is_some() || fact.outcome == facts::Outcome::Done)
}

/// A moment so far from now, in RFC 3339.
fn in_seconds(seconds: i64) -> String {
    let sql = "select strftime('%Y-%m-%dT%H:%M:%SZ', 'now', ?1)";
    let connection = rusqlite::Connection::open_in_memory().expect("memory is there");
    let at = connection.query_row(sql, [format!("{seconds:+} seconds")], |row| row.get(0));
    at.expect("SQLite knows the time")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": text})
    }

    #[test]
    fn what_is_asked_and_added_is_done_in_order_and_answered_at_once() {
        let before = user("please note word-0");
        let request = user("[From Ada (ID 1)]\nplease work word-1\n\nand please note word-2.");
        let begun = reply(&json!({"messages": [before, request]}));
        let ModelReply::TextAndCalls(_, calls) = begun else { panic!("{begun:?}") };
        assert_eq!(calls[0].1, r#"{"cmd":"sleep 2; echo word-1"}"#);
        let call = json!({"id": "c", "function": {"name": "bash", "arguments": calls[0].1}});
        let messages = json!([
            before, request, {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "exit 0"},
            user("[Ada (ID 1) adds:]\nplease note word-3"),
        ]);
        let ended = reply(&json!({"messages": messages}));
        assert_eq!(ended, ModelReply::text("Done: word-1 word-2 word-3"));
        assert_eq!(answered("Done: word-1 word-2"), ["word-1", "word-2"]);
    }
}
