//! What a request tells a fake model about its calls: first those of earlier attempts, in one note, then
//! those of this attempt with their results. It is read from what the real worker sends, as a real model
//! would.

use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Failed,
    /// It was interrupted.
    Unknown,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fact {
    /// The tool and its arguments.
    pub(crate) call: String,
    pub(crate) outcome: Outcome,
    /// Its result; none for a call of an earlier attempt.
    pub(crate) result: Option<String>,
}

impl Fact {
    pub(crate) fn is(&self, tool: &str, arguments: &Value) -> bool {
        self.call == format!("{tool} {arguments}")
    }
}

pub(crate) fn messages(request: &Value) -> &[Value] {
    request["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// All calls for the user's message at this index, in order.
pub(crate) fn of(messages: &[Value], asked: usize) -> Vec<Fact> {
    let note = asked.checked_sub(1).and_then(|before| messages[before]["content"].as_str());
    let earlier = note.unwrap_or_default().lines().filter_map(earlier);
    earlier.chain(own(&messages[asked..])).collect()
}

/// A call in the note on earlier attempts: `- TOOL ARGUMENTS: OUTCOME`.
fn earlier(line: &str) -> Option<Fact> {
    let (call, outcome) = line.strip_prefix("- ")?.rsplit_once("}: ")?;
    let outcome = match outcome {
        "done" => Outcome::Done,
        "failed" => Outcome::Failed,
        _ => Outcome::Unknown,
    };
    Some(Fact { call: format!("{call}}}"), outcome, result: None })
}

/// The calls of this attempt, each with its result.
fn own(messages: &[Value]) -> Vec<Fact> {
    let result = |id: &Value| messages.iter().find(|message| message["tool_call_id"] == *id);
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
    let facts = calls.filter_map(|call| {
        let (name, arguments) = (call["function"]["name"].as_str()?, call["function"]["arguments"].as_str()?);
        let text = result(&call["id"])?["content"].as_str()?;
        let outcome = if text.starts_with("exit 0") { Outcome::Done } else { Outcome::Failed };
        Some(Fact { call: format!("{name} {arguments}"), outcome, result: Some(text.to_owned()) })
    });
    facts.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_of_earlier_attempts_come_before_those_of_this_one() {
        let note =
            "[An earlier attempt …\n- ls {\"path\":\".\"}: done\n- edit {\"a\":1}: was running, its …]";
        let call = json!({"id": "c1", "function": {"name": "read", "arguments": "{\"b\":2}"}});
        let request = json!({"messages": [
            {"role": "user", "content": note},
            {"role": "user", "content": "go"},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "exit 2 · error\nNOT_FOUND"},
        ]});
        let found = of(messages(&request), 1);
        let shown: Vec<(&str, Outcome)> =
            found.iter().map(|fact| (fact.call.as_str(), fact.outcome)).collect();
        let expected = [
            ("ls {\"path\":\".\"}", Outcome::Done),
            ("edit {\"a\":1}", Outcome::Unknown),
            ("read {\"b\":2}", Outcome::Failed),
        ];
        assert_eq!(shown, expected);
    }
}
