//! The provider without a model: the user's message *is* the tool call, and its result is the answer.
//!
//! `ls path=src`, `ls path="a b" limit=5`, or `/grep {"pattern":"TODO"}`. It lets a fresh installation work
//! before it has a key. The first turn makes the call, the second returns the result unchanged; nothing
//! else in the worker knows that this provider is special. A call that an earlier attempt began is not made
//! again unless it only reads: here no model looks first at what it left behind.

use std::fmt::Write as _;

use protocol::{EarlierAttempts, PastCall, PastCallStatus, ReplyFormat, ToolSpec};
use serde_json::{Map, Value};

use super::{Message, Model, Reply, ReplyFuture, Request, ToolCall};
use crate::untrusted;

#[derive(Debug)]
pub(crate) struct Direct;

impl Model for Direct {
    fn name(&self) -> &str {
        "direct"
    }

    fn provider(&self) -> &'static str {
        "direct"
    }

    fn is_language_model(&self) -> bool {
        false
    }

    /// A tool's result is shown as it is.
    fn reply_format(&self) -> ReplyFormat {
        ReplyFormat::Plain
    }

    fn answer_to_retry(&self, earlier: &EarlierAttempts, tools: &[ToolSpec]) -> Option<String> {
        let reads = |call: &PastCall| {
            tools.iter().any(|tool| tool.name == call.tool_name && tool.annotations.read_only)
        };
        earlier.calls.iter().rfind(|call| !reads(call)).map(told)
    }

    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a> {
        Box::pin(async move { Ok(reply(request)) })
    }
}

/// The record of a call that an earlier attempt made, and how to repeat it.
fn told(call: &PastCall) -> String {
    let known = match call.status {
        PastCallStatus::Interrupted => {
            "was interrupted, and its outcome is unknown: it may have had its effect fully, partly or not at \
             all. Look at what it left behind."
        }
        PastCallStatus::Done => "was made, but its answer was lost on the way. It succeeded.",
        PastCallStatus::Failed => "was made, but its answer was lost on the way. It failed.",
    };
    let mut text = format!("The call of `{}` {known}", call.tool_name);
    if !call.output.is_empty() {
        let _ = write!(text, " This is known of its output:\n\n{}\n", call.output.trim_end());
    }
    let _ = write!(
        text,
        "\nIt was not made again. To make it again, send the message again: its arguments were {}",
        call.arguments
    );
    text
}

fn reply(request: Request<'_>) -> Reply {
    match request.messages.last() {
        Some(Message::ToolResult { text, .. }) => Reply::answer(untrusted::unmarked(text)),
        Some(Message::User(text)) => match call(text, request.tools) {
            Ok(call) => Reply { calls: vec![call], ..Reply::default() },
            Err(Fault::NoCall) => Reply::answer(how_to_get_a_model(request.tools)),
            Err(Fault::Call(problem)) => Reply::answer(help(&problem, request.tools)),
        },
        Some(Message::Assistant { .. } | Message::Image(_)) | None => {
            Reply::answer(help("There is no message.", request.tools))
        }
    }
}

/// Why a message is not made into a call.
#[derive(Debug)]
enum Fault {
    /// It is no attempt at one.
    NoCall,
    /// What is wrong with the call.
    Call(String),
}

/// The call that a message stands for, or its fault.
fn call(message: &str, tools: &[ToolSpec]) -> Result<ToolCall, Fault> {
    let message = message.trim();
    let message = message.strip_prefix('/').unwrap_or(message);
    let (name, rest) = message.split_once(char::is_whitespace).unwrap_or((message, ""));
    if name.is_empty() {
        return Err(Fault::Call("The message is empty.".to_owned()));
    }
    let rest = rest.trim();
    let tool = tools.iter().find(|tool| tool.name == name);
    let arguments = match tool.map(|tool| &tool.input_schema["properties"]) {
        _ if rest.starts_with('{') => rest.to_owned(),
        Some(types) => pairs(rest, types).map_err(Fault::Call)?,
        // A tool that is not offered here: the call says why.
        None => pairs(rest, &Value::Null).ok().filter(|_| rest.contains('=')).ok_or(Fault::NoCall)?,
    };
    Ok(ToolCall::new("call_1", name, arguments))
}

fn pairs(text: &str, types: &Value) -> Result<String, String> {
    let mut arguments = Map::new();
    for word in words(text)? {
        let Some((name, value)) = word.split_once('=') else {
            return Err(format!("{word:?} is not an argument: write name=value."));
        };
        let value = typed(value, &types[name]);
        if arguments.insert(name.to_owned(), value).is_some() {
            return Err(format!("The argument {name:?} is given twice."));
        }
    }
    Ok(Value::Object(arguments).to_string())
}

/// Splits at spaces outside quotes; in double quotes a backslash escapes the next character.
fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            (_, _) => word.get_or_insert_default().push(character),
        }
    }
    if let Some(open) = quote {
        return Err(format!("The quote {open} is not closed."));
    }
    words.extend(word);
    Ok(words)
}

/// A value of the type in the tool's schema; a string if the schema names none or the value does not fit,
/// so that the tool server explains which arguments it expects.
fn typed(value: &str, schema: &Value) -> Value {
    let text = || Value::from(value);
    if accepts(schema, "string") {
        return text();
    }
    let parsed: Value = serde_json::from_str(value).unwrap_or_default();
    let kinds: &[&str] = match &parsed {
        Value::Bool(_) => &["boolean"],
        Value::Number(_) => &["integer", "number"],
        Value::Array(_) => &["array"],
        Value::Object(_) => &["object"],
        Value::Null | Value::String(_) => &[],
    };
    if kinds.iter().any(|kind| accepts(schema, kind)) { parsed } else { text() }
}

fn accepts(schema: &Value, kind: &str) -> bool {
    let is_kind = |value: &Value| value.as_str() == Some(kind);
    let named = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(is_kind),
        one => is_kind(one),
    };
    let branches = ["anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    named || branches.into_iter().any(|branch| accepts(branch, kind))
}

/// What somebody reads who wrote to a model that is not there.
fn how_to_get_a_model(tools: &[ToolSpec]) -> String {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let mut text = format!(
        "No model is configured, so I cannot answer that. Stop the supervisor, and start it with the key of \
         a model in its environment, or with the address of a model server of your own:\n\
         ANTHROPIC_API_KEY=… (or OPENAI_API_KEY, GEMINI_API_KEY)\n\
         OPENAI_BASE_URL=http://127.0.0.1:11434/v1 AUTONOUS_MODEL_NAME=…\n\
         docs/models.md has all providers.\n\
         Until then, a message is the call of a tool: {}.",
        names.join(", ")
    );
    add_example(&mut text, tools);
    text
}

fn add_example(text: &mut String, tools: &[ToolSpec]) {
    if let Some(tool) = tools.iter().find(|tool| tool.name == "ls").or(tools.first()) {
        text.push_str(&format!("\nExample: {}", example(tool)));
    }
}

fn help(problem: &str, tools: &[ToolSpec]) -> String {
    let mut text = format!(
        "{problem}\nNo model is configured, so a message is a tool call: the tool's name, then its \
         arguments as name=value or as one JSON object.\nTools:"
    );
    for tool in tools {
        let summary = tool.description.lines().next().unwrap_or_default();
        text.push_str(&format!("\n- {}: {summary}", tool.name));
    }
    add_example(&mut text, tools);
    text
}

fn example(tool: &ToolSpec) -> String {
    let required = tool.input_schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut names: Vec<&str> = required.collect();
    if names.is_empty() && tool.input_schema["properties"]["path"].is_object() {
        names.push("path");
    }
    names.iter().fold(tool.name.clone(), |line, name| match *name {
        "path" => format!("{line} path=."),
        name => format!("{line} {name}=…"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_tool;
    use serde_json::json;

    fn tool(name: &str, properties: Value, required: &[&str]) -> ToolSpec {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        test_tool(name, &format!("Does {name}.\nAnd more."), schema)
    }

    fn tools() -> Vec<ToolSpec> {
        let ls = json!({
            "path": {"type": "string"},
            "recursive": {"type": "boolean"},
            "limit": {"type": ["integer", "null"]},
            "cursor": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "type": {"$ref": "#/$defs/Type"},
            "args": {"type": "array"},
        });
        vec![
            tool("grep", json!({"pattern": {"type": "string"}, "path": {"type": "string"}}), &["pattern"]),
            tool("ls", ls, &[]),
        ]
    }

    fn check(message: &str, name: &str, arguments: Value) {
        let call = call(message, &tools()).unwrap();
        let found: Value = serde_json::from_str(&call.arguments).unwrap();
        assert_eq!((call.name.as_str(), found), (name, arguments), "{message}");
    }

    fn answer(message: &str) -> Reply {
        let messages = [Message::User(message.into())];
        reply(Request { messages: &messages, tools: &tools(), ..Request::default() })
    }

    #[test]
    fn a_call_of_an_earlier_attempt_is_told_unless_it_only_reads() {
        let mut writes = test_tool("write", "Writes.", json!({}));
        writes.annotations = protocol::Annotations::ACTS;
        let tools = [test_tool("ls", "Lists.", json!({})), writes];
        let check = |name: &str, status, output: &str, expected: Option<&[&str]>| {
            let (tool_name, arguments) = (name.to_owned(), "{\"path\":\"a\"}".to_owned());
            let (output, subject) = (output.to_owned(), String::new());
            let call = PastCall { tool_name, arguments, status, output, subject, dry_run: false };
            let told = Direct.answer_to_retry(
                &EarlierAttempts { calls: vec![call], ..EarlierAttempts::default() },
                &tools,
            );
            match (told, expected) {
                (Some(told), Some(parts)) => {
                    for part in
                        parts.iter().chain(&["not made again", "send the message again", "{\"path\":\"a\"}"])
                    {
                        assert!(told.contains(part), "{part}: {told}");
                    }
                }
                (told, expected) => assert_eq!(told.is_none(), expected.is_none(), "{name}: {told:?}"),
            }
        };
        check("ls", PastCallStatus::Interrupted, "", None);
        check("write", PastCallStatus::Interrupted, "", Some(&["`write` was interrupted", "unknown"]));
        check("write", PastCallStatus::Done, "Created a.", Some(&["It succeeded.", "\n\nCreated a.\n"]));
        check("write", PastCallStatus::Failed, "DISK", Some(&["It failed.", "DISK"]));
        assert_eq!(Direct.answer_to_retry(&EarlierAttempts::default(), &tools), None);
    }

    #[test]
    fn a_message_is_read_as_a_call() {
        check("ls", "ls", json!({}));
        check(" /ls ", "ls", json!({}));
        check("ls path=src", "ls", json!({"path": "src"}));
        let typed = json!({"path": "a b", "recursive": true, "limit": 5});
        check("ls path=\"a b\" recursive=true limit=5", "ls", typed);
        check(r#"ls path='a "b"'"#, "ls", json!({"path": "a \"b\""}));
        check(r#"ls path="a \"b\\""#, "ls", json!({"path": "a \"b\\"}));
        check("ls path=", "ls", json!({"path": ""}));
        check("ls path=a=b", "ls", json!({"path": "a=b"}));
    }

    #[test]
    fn values_get_the_type_in_the_tools_schema() {
        check("ls path=5 cursor=7 type=dir", "ls", json!({"path": "5", "cursor": "7", "type": "dir"}));
        check("ls limit=many recursive=1", "ls", json!({"limit": "many", "recursive": "1"}));
        check("ls args='[\"a\"]' nonsense=1", "ls", json!({"args": ["a"], "nonsense": "1"}));
    }

    #[test]
    fn an_object_is_passed_on_unchanged_even_if_malformed() {
        for arguments in [r#"{"pattern":  "TODO"}"#, "{\"pattern\":"] {
            let call = call(&format!("/grep  {arguments} "), &tools()).unwrap();
            assert_eq!((call.name.as_str(), call.arguments.as_str()), ("grep", arguments));
        }
    }

    #[test]
    fn a_message_that_is_not_a_call_gets_help_with_the_tools_and_an_example() {
        for (message, problem) in [
            ("", "The message is empty."),
            ("/", "The message is empty."),
            ("ls src", "\"src\" is not an argument: write name=value."),
            ("ls path=a path=b", "The argument \"path\" is given twice."),
            ("ls path=\"a", "The quote \" is not closed."),
        ] {
            let answer = answer(message);
            assert!(answer.text.starts_with(problem), "{message:?}: {}", answer.text);
            assert!(answer.text.ends_with("- ls: Does ls.\nExample: ls path=."), "{}", answer.text);
            assert!(answer.calls.is_empty());
        }
    }

    #[test]
    fn a_message_to_a_model_that_is_not_there_is_answered_with_how_to_get_one() {
        for message in ["hello there", "hi", "exit", "what is 2 = 2?", "/start me up"] {
            let answer = answer(message);
            for part in ["No model is configured", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "docs/models.md"] {
                assert!(answer.text.contains(part), "{message:?}: {}", answer.text);
            }
            assert!(
                answer.text.ends_with("call of a tool: grep, ls.\nExample: ls path=."),
                "{}",
                answer.text
            );
            assert!(answer.calls.is_empty());
        }
    }

    #[test]
    fn an_example_shows_the_required_arguments() {
        assert_eq!(example(&tools()[0]), "grep pattern=…");
    }
}
