//! Parses a reply in the JSON protocol, tolerating the habits of small models.
//!
//! It accepts code fences, words before and after, arguments as a string, and a single call instead of a
//! list. A text without the protocol's object is plain; only a malformed attempt at the object is unusable.

use serde_json::{Deserializer, Map, Value, json};

use crate::model::ToolCall;

/// How many opening braces are tried.
const MAX_PLACES: usize = 64;

const CALLS: &str = "tool_calls";
const ANSWER: &str = "final_answer";

#[derive(Debug, PartialEq, Eq)]
pub(super) enum ParsedReply {
    /// A text without the protocol's object.
    Plain(String),
    Answer(String),
    /// Calls, with an answer beside them that may be empty.
    Calls {
        said: String,
        calls: Vec<ToolCall>,
        answer: String,
    },
    Unusable,
}

pub(super) fn parse(text: &str) -> ParsedReply {
    let text = text.trim();
    let Some((said, object)) = protocol_object(text) else {
        let is_plain = !text.is_empty() && !looks_like_protocol(text);
        return if is_plain { ParsedReply::Plain(text.to_owned()) } else { ParsedReply::Unusable };
    };
    let answer = match &object[ANSWER] {
        Value::Null => String::new(),
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    match calls(&object[CALLS]) {
        Some(calls) if !calls.is_empty() => ParsedReply::Calls { said: without_fence(said), calls, answer },
        Some(_) if !answer.is_empty() => ParsedReply::Answer(answer),
        Some(_) | None => ParsedReply::Unusable,
    }
}

/// Whether a text was meant as the protocol's object.
pub(super) fn looks_like_protocol(text: &str) -> bool {
    [CALLS, ANSWER].iter().any(|name| text.contains(&format!("\"{name}\"")))
}

/// The calls of an earlier turn in the protocol's form.
pub(super) fn written(said: &str, calls: &[ToolCall]) -> String {
    let written = calls.iter().map(|call| {
        let arguments =
            serde_json::from_str(&call.arguments).map_or_else(|_| json!(call.arguments), Value::Object);
        json!({"name": call.name, "arguments": arguments})
    });
    let object = json!({CALLS: written.collect::<Vec<_>>(), ANSWER: ""});
    if said.is_empty() { object.to_string() } else { format!("{said}\n{object}") }
}

/// The first object with a field of the protocol, and the text before it.
fn protocol_object(text: &str) -> Option<(&str, Value)> {
    let mut from = 0;
    for _ in 0..MAX_PLACES {
        let start = from + text[from..].find('{')?;
        let mut objects = Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match objects.next() {
            Some(Ok(object)) if object.get(CALLS).is_some() || object.get(ANSWER).is_some() => {
                return Some((&text[..start], object));
            }
            Some(Ok(_)) => from = start + objects.byte_offset(),
            _ => from = start + 1,
        }
    }
    None
}

/// The calls in a value; none if one of them is malformed.
fn calls(value: &Value) -> Option<Vec<ToolCall>> {
    let listed = match value {
        Value::Null => &[],
        Value::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    listed.iter().enumerate().map(|(index, value)| call(index, value)).collect()
}

/// `{"name": …, "arguments": …}`, or the same inside `function`, as models learnt it elsewhere.
fn call(index: usize, value: &Value) -> Option<ToolCall> {
    let call = value.get("function").filter(|function| function.is_object()).unwrap_or(value);
    let name = call["name"].as_str().map(str::trim).filter(|name| !name.trim_matches('.').is_empty())?;
    let arguments = match &call["arguments"] {
        Value::Null => Value::Object(Map::new()).to_string(),
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()).to_string(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(ToolCall::new(format!("call_{index}"), name, arguments))
}

fn without_fence(said: &str) -> String {
    let said = said.trim();
    let said = said.strip_suffix("json").filter(|before| before.ends_with("```")).unwrap_or(said);
    said.trim_end_matches('`').trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call(arguments: &str) -> ToolCall {
        ToolCall::new("call_0", "ls", arguments)
    }

    fn check_call(text: &str, said: &str, arguments: &str) {
        check_call_with_answer(text, said, arguments, "");
    }

    fn check_call_with_answer(text: &str, said: &str, arguments: &str, answer: &str) {
        let calls = vec![call(arguments)];
        let expected = ParsedReply::Calls { said: said.into(), calls, answer: answer.into() };
        assert_eq!(parse(text), expected, "{text}");
    }

    #[test]
    fn calls_are_found_in_surrounding_text() {
        let object = r#"{"tool_calls":[{"name":"ls","arguments":{"path":"."}}],"final_answer":""}"#;
        let arguments = r#"{"path":"."}"#;
        check_call(object, "", arguments);
        check_call(&format!("```json\n{object}\n```"), "", arguments);
        check_call(&format!("I look {{first}}:\n```\n{object}\n```\nDone!"), "I look {first}:", arguments);
        check_call(&format!("{{\"a\":{object}}} {object}"), &format!("{{\"a\":{object}}}"), arguments);
    }

    #[test]
    fn calls_are_accepted_in_the_forms_that_models_write() {
        check_call(r#"{"tool_calls":{"name":"ls","arguments":"{\"path\":"}}"#, "", "{\"path\":");
        check_call(r#"{"tool_calls":[{"type":"function","function":{"name":"ls"}}]}"#, "", "{}");
        let with_answer = r#"{"tool_calls":[{"name":" ls ","arguments":" "}],"final_answer":"too early"}"#;
        check_call_with_answer(with_answer, "", "{}", "too early");
        check_call(r#"{"tool_calls":[{"name":"ls","arguments":[1]}]}"#, "", "[1]");
    }

    #[test]
    fn a_text_without_the_protocols_object_is_plain() {
        for text in
            ["There are 3 files.", r#"{"files":["a","b"]}"#, r#"{"name":"ls","arguments":{}}"#, "{", "[1]"]
        {
            assert_eq!(parse(text), ParsedReply::Plain(text.into()));
        }
        assert_eq!(parse(r#"Sure: {"final_answer":" 3 files "}"#), ParsedReply::Answer("3 files".into()));
        assert_eq!(
            parse(r#"{"tool_calls":null,"final_answer":{"n":3}}"#),
            ParsedReply::Answer(r#"{"n":3}"#.into())
        );
    }

    #[test]
    fn an_empty_or_malformed_object_is_unusable() {
        for text in [
            "",
            "  \n",
            r#"{"tool_calls":[],"final_answer":" "}"#,
            r#"{"tool_calls":[{"name":"ls","arguments":{"path":"#,
            r#"{"tool_calls":[{"arguments":{}}]}"#,
            r#"{"tool_calls":["ls"]}"#,
            "{\"tool_calls\":[],\"final_answer\":\"two\nlines\"}",
        ] {
            assert_eq!(parse(text), ParsedReply::Unusable, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn written_calls_parse_back(path in "\\PC{0,20}", said in "[a-z .]{0,20}") {
            let call = call(&json!({"path": path}).to_string());
            let text = written(said.trim(), std::slice::from_ref(&call));
            let said = said.trim().to_owned();
            let expected = ParsedReply::Calls { said, calls: vec![call], answer: String::new() };
            prop_assert_eq!(parse(&text), expected);
        }

        #[test]
        fn no_text_panics_the_parser(text in "[{}\\[\\]\":,a-z`\\\\ é\n]{0,80}") {
            parse(&text);
        }
    }
}
