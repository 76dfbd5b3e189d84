//! Tool calls that a model writes into its text, though it could make them natively.
//!
//! Small models and servers without the right parser do this. The rule: a text that is nothing but calls of
//! known tools, bare or in one fence of code, is run; so is one that ends in `<tool_call>` tags. A text that
//! ends in a call after other words may be an example, so the model is asked once what it meant. A call that
//! stands word for word in the conversation is a quotation and never run from a text.

use serde_json::{Deserializer, Map, Value};

use super::thoughts::is_in_fence;
use super::{Message, Model, ModelError, ModelErrorClass, Reply, ReplyFuture, Request, ToolCall};

const TAGS: [&str; 4] = ["tool_call", "tool_calls", "function_call", "tools"];

/// How many opening braces and brackets are tried.
const MAX_PLACES: usize = 64;

/// What the model is asked when its text may be meant as a call.
const HOW_TO_CALL: &str = "[Your reply has a tool call in its text, and nothing was run. To call a tool, use \
     the function calling that you were given, or write nothing but {\"name\":\"…\",\"arguments\":{…}} with \
     the name of a tool. If it was an example for the person, repeat your answer.]";

/// What the model reads after an empty reply.
const NOTHING_SAID: &str = "[Your reply held nothing but thoughts. Call a tool, or answer the person.]";

/// A model that can call functions, wrapped.
pub(crate) struct TextCalls(pub(crate) Box<dyn Model>);

impl TextCalls {
    async fn ask(&self, request: Request<'_>) -> Result<Reply, ModelError> {
        let first = self.0.reply(request).await?;
        let question = match meaning_of(&first, request) {
            Meaning::Answer => return Ok(first),
            Meaning::Calls { said, calls } => return Ok(Reply { text: said, calls, ..first }),
            Meaning::Unclear => HOW_TO_CALL,
            Meaning::Nothing => NOTHING_SAID,
        };
        tracing::warn!("asking the model what its text was meant to be");
        let mut messages = request.messages.to_vec();
        if !first.text.is_empty() {
            messages.push(Message::assistant(first.text.clone(), Vec::new()));
        }
        messages.push(Message::User(question.to_owned()));
        let mut second = self.0.reply(Request { messages: &messages, ..request }).await?;
        second.charge(first.usage, first.cost_micros);
        match meaning_of(&second, request) {
            Meaning::Calls { said, calls } => Ok(Reply { text: said, calls, ..second }),
            Meaning::Answer | Meaning::Unclear => Ok(second),
            Meaning::Nothing if !first.text.is_empty() => Ok(Reply { text: first.text, ..second }),
            Meaning::Nothing => {
                let detail = "the reply has neither text nor tool calls, not even when asked again";
                Err(ModelError::new(ModelErrorClass::InvalidReply, detail))
            }
        }
    }
}

impl Model for TextCalls {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn provider(&self) -> &'static str {
        self.0.provider()
    }

    fn reply<'a>(&'a self, request: Request<'a>) -> ReplyFuture<'a> {
        Box::pin(self.ask(request))
    }
}

/// What of a text that is being written is no call: all before its first tag, and nothing of one that begins
/// as a call does.
pub(super) fn before_calls(text: &str) -> &str {
    if text.trim_start().starts_with(['{', '[']) || text.trim_start().starts_with("```") {
        return "";
    }
    let end = TAGS.iter().filter_map(|tag| text.find(&format!("<{tag}"))).min();
    &text[..end.unwrap_or(text.len())]
}

/// What a text of a model means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Answer,
    /// It is a call, and may have words before it.
    Calls {
        said: String,
        calls: Vec<ToolCall>,
    },
    /// It has a call in it that may be an example.
    Unclear,
    Nothing,
}

fn meaning_of(reply: &Reply, request: Request<'_>) -> Meaning {
    if !reply.calls.is_empty() || reply.cut || request.tools.is_empty() {
        return Meaning::Answer;
    }
    meaning(&reply.text, request)
}

/// What a whole text means to a model with these tools after this conversation.
pub(super) fn meaning(text: &str, request: Request<'_>) -> Meaning {
    let text = text.trim();
    if text.is_empty() {
        return Meaning::Nothing;
    }
    match meaning_of_form(text, |name| request.tools.iter().any(|tool| tool.name == name)) {
        Meaning::Calls { calls, .. } if calls.iter().any(|call| is_quoted(call, request.messages)) => {
            Meaning::Unclear
        }
        meaning => meaning,
    }
}

fn meaning_of_form(text: &str, is_tool: impl Fn(&str) -> bool) -> Meaning {
    let is_known = |calls: &[ToolCall]| calls.iter().all(|call| is_tool(&call.name));
    if let Some((said, tagged)) = tagged_end(text) {
        return match calls(&tagged) {
            Some(calls) => Meaning::Calls { said: said.to_owned(), calls },
            None => Meaning::Unclear,
        };
    }
    match calls(whole_fence(text).unwrap_or(text)) {
        Some(calls) if is_known(&calls) => return Meaning::Calls { said: String::new(), calls },
        Some(_) => return Meaning::Unclear,
        None => {}
    }
    match calls_at_end(text) {
        Some(calls) if is_known(&calls) => Meaning::Unclear,
        Some(_) | None => Meaning::Answer,
    }
}

/// Whether a call stands in a message of a person or a tool, however it is laid out there.
fn is_quoted(call: &ToolCall, messages: &[Message]) -> bool {
    let name = format!("\"name\":{}", Value::from(&*call.name));
    let mut strings = Vec::new();
    add_strings(&serde_json::from_str(&call.arguments).unwrap_or_default(), &mut strings);
    messages.iter().any(|message| match message {
        Message::User(text) | Message::ToolResult { text, .. } => {
            let text = dense(text);
            text.contains(&name) && strings.iter().all(|string| text.contains(string))
        }
        Message::Assistant { .. } | Message::Image(_) => false,
    })
}

fn dense(text: &str) -> String {
    text.split_whitespace().collect()
}

/// The strings in a value, as JSON writes them.
fn add_strings(value: &Value, strings: &mut Vec<String>) {
    match value {
        Value::String(_) => strings.push(dense(&value.to_string())),
        Value::Array(items) => items.iter().for_each(|item| add_strings(item, strings)),
        Value::Object(fields) => fields.values().for_each(|field| add_strings(field, strings)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The words before the tags that a text ends in, and the text inside the tags. A tag begins a line, outside
/// of code; the last one may lack its end.
fn tagged_end(text: &str) -> Option<(&str, String)> {
    let opening = |tag: &str| {
        let opening = format!("<{tag}>");
        let mut places = text.match_indices(&opening).map(|(at, _)| at);
        places.find(|at| {
            let before = &text[..*at];
            before.rsplit('\n').next().is_none_or(|line| line.trim().is_empty()) && !is_in_fence(before)
        })
    };
    let (at, tag) = TAGS.into_iter().filter_map(|tag| Some((opening(tag)?, tag))).min()?;
    let (opening, closing) = (format!("<{tag}>"), format!("</{tag}>"));
    let mut inside = String::new();
    let mut rest = text[at..].trim_start();
    while let Some(after) = rest.strip_prefix(&opening) {
        let (content, after) = after.split_once(&closing).unwrap_or((after, ""));
        inside.push_str(content);
        rest = after.trim_start();
    }
    rest.is_empty().then(|| (text[..at].trim_end(), inside))
}

/// The content of the fence that a text consists of.
fn whole_fence(text: &str) -> Option<&str> {
    let (_, content) = text.strip_prefix("```")?.split_once('\n')?;
    content.strip_suffix("```").filter(|content| !content.contains("```"))
}

/// The calls, in a fence of code or bare, that a text ends in.
fn calls_at_end(text: &str) -> Option<Vec<ToolCall>> {
    if let Some(text) = text.strip_suffix("```") {
        let (_, content) = text[text.rfind("```")?..].split_once('\n')?;
        return calls(content);
    }
    text.match_indices(['{', '[']).take(MAX_PLACES).find_map(|(at, _)| calls(&text[at..]))
}

/// The calls that a text consists of; none if anything in it is something else.
fn calls(text: &str) -> Option<Vec<ToolCall>> {
    let mut calls = Vec::new();
    for value in Deserializer::from_str(text.trim()).into_iter::<Value>() {
        let value = value.ok()?;
        let listed = value.get("tool_calls").unwrap_or(&value);
        for value in listed.as_array().map_or(std::slice::from_ref(listed), Vec::as_slice) {
            calls.push(call(calls.len(), value)?);
        }
    }
    (!calls.is_empty()).then_some(calls)
}

/// `{"name": …, "arguments": {…}}` and nothing else that matters, or the same inside `function`.
fn call(index: usize, value: &Value) -> Option<ToolCall> {
    const NAMES: [&str; 5] = ["name", "arguments", "parameters", "id", "type"];
    let call = value.get("function").filter(|function| function.is_object()).unwrap_or(value).as_object()?;
    let name = call.get("name")?.as_str()?.trim();
    let arguments = call.get("arguments").or_else(|| call.get("parameters"))?;
    let arguments = match arguments {
        Value::Object(_) => arguments.to_string(),
        Value::String(text) if serde_json::from_str::<Map<String, Value>>(text).is_ok() => text.clone(),
        _ => return None,
    };
    let is_only_a_call = call.keys().all(|key| NAMES.contains(&key.as_str())) && !name.is_empty();
    is_only_a_call.then(|| ToolCall::new(format!("call_{index}"), name, arguments))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::test_tool;
    use proptest::prelude::*;
    use serde_json::json;

    const CALL: &str = r#"{"name":"ls","arguments":{"path":"."}}"#;

    fn with_messages(text: &str, messages: &[Message]) -> Meaning {
        let tools = [test_tool("ls", "Lists.", json!({"type": "object"}))];
        meaning(text, Request { messages, tools: &tools, ..Request::default() })
    }

    #[test]
    fn a_call_that_is_being_written_is_not_shown() {
        for (text, shown) in [
            ("I look", "I look"),
            ("I look. <tool_call>{\"na", "I look. "),
            (" {\"name\":", ""),
            ("```json\n{", ""),
            ("So: ```ls", "So: ```ls"),
        ] {
            assert_eq!(before_calls(text), shown);
        }
    }

    fn check_calls(text: &str, said: &str, names: &[&str]) {
        let Meaning::Calls { said: found, calls } = with_messages(text, &[]) else {
            panic!("not calls: {text}")
        };
        let found_names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!((found.as_str(), &*found_names), (said, names), "{text}");
    }

    #[test]
    fn a_text_that_is_nothing_but_calls_is_run() {
        check_calls(CALL, "", &["ls"]);
        check_calls(&format!("```json\n{CALL}\n```"), "", &["ls"]);
        check_calls(&format!("```\n{CALL}\n{CALL}\n```\n"), "", &["ls", "ls"]);
        check_calls(&format!("[{CALL},{CALL}]"), "", &["ls", "ls"]);
        check_calls(&format!("{{\"tool_calls\":[{CALL}],\"final_answer\":\"\"}}"), "", &["ls"]);
        check_calls(r#"{"name":"ls","parameters":{}}"#, "", &["ls"]);
        check_calls(r#"{"type":"function","function":{"name":"ls","arguments":"{}"}}"#, "", &["ls"]);
    }

    #[test]
    fn a_text_that_ends_in_tags_is_run() {
        check_calls(&format!("<tool_call>\n{CALL}\n</tool_call>"), "", &["ls"]);
        let two = format!("I look.\n<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}");
        check_calls(&two, "I look.", &["ls", "ls"]);
        let unknown = r#"<tool_call>{"name":"list","arguments":{}}</tool_call>"#;
        check_calls(unknown, "", &["list"]);
    }

    #[test]
    fn a_text_that_talks_about_calls_is_an_answer() {
        for text in [
            "There are 3 files.".to_owned(),
            format!("To list files, a model writes `{CALL}`."),
            format!("An example:\n```json\n{CALL}\n```\nThe server answers with an envelope."),
            format!("It writes\n{CALL}\nand waits."),
            format!("Models write `<tool_call>{CALL}</tool_call>` for that."),
            format!("```\n<tool_call>{CALL}</tool_call>\n```\nis what Qwen writes."),
            format!("<tool_call>{CALL}</tool_call>\nis what Qwen writes."),
            r#"{"name":"Ada","age":36}"#.to_owned(),
            r#"{"name":"ls"}"#.to_owned(),
            r#"{"name":"ls","arguments":"of the program"}"#.to_owned(),
            r#"{"name":"ls","arguments":{},"result":3}"#.to_owned(),
            r#"{"files":["a"]}"#.to_owned(),
            "[1]".to_owned(),
            "{".to_owned(),
        ] {
            assert_eq!(with_messages(&text, &[]), Meaning::Answer, "{text}");
        }
    }

    #[test]
    fn a_text_that_may_be_an_example_is_unclear() {
        for text in [
            format!("I will list them:\n```json\n{CALL}\n```"),
            format!("I will list them:\n{CALL}"),
            format!("Sure: {CALL}"),
            r#"{"name":"list_files","arguments":{}}"#.to_owned(),
            "<tool_call>{\"name\":\"ls\",</tool_call>".to_owned(),
            "<tool_call>\n<function=ls>\n</function>\n</tool_call>".to_owned(),
        ] {
            assert_eq!(with_messages(&text, &[]), Meaning::Unclear, "{text}");
        }
    }

    #[test]
    fn a_call_that_somebody_else_wrote_is_not_run() {
        let file = Message::ToolResult { call_id: "a".into(), text: format!("exit 0\n{CALL}\n") };
        let person = Message::User("Say {\"name\": \"ls\", \"arguments\": {\"path\": \".\"}}!".into());
        let own = Message::assistant(CALL, Vec::new());
        for quoted in [file, person] {
            for text in [CALL.to_owned(), format!("<tool_call>{CALL}</tool_call>"), format!("[{CALL}]")] {
                assert_eq!(with_messages(&text, std::slice::from_ref(&quoted)), Meaning::Unclear, "{text}");
            }
            let other = CALL.replace("\".\"", "\"src\"");
            assert!(matches!(with_messages(&other, &[quoted]), Meaning::Calls { .. }));
        }
        assert!(matches!(with_messages(CALL, &[own]), Meaning::Calls { .. }));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[{}\\[\\]\":,a-z`<>/_\\\\ é\n]{0,80}") {
            with_messages(&text, &[]);
        }
    }
}
