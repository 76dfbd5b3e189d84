//! The shapes of chat completions on the wire, and nothing that sends them.

use protocol::ToolSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::{Message, Reply, Request, ToolCall, Usage};

/// The body of a request.
pub(super) fn body(model: &str, request: Request<'_>) -> Value {
    let mut messages = vec![json!({"role": "system", "content": request.system})];
    messages.extend(request.messages.iter().map(message));
    let mut body = json!({"model": model, "messages": messages});
    // An empty list is refused by some servers.
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
    }
    body
}

fn message(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls } => {
            let calls: Vec<Call> = calls.iter().map(Call::again).collect();
            let text = Some(text).filter(|text| !text.is_empty());
            json!({"role": "assistant", "content": text, "tool_calls": calls})
        }
        Message::ToolResult { call_id, text } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": text})
        }
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema,
    }})
}

/// The reply in the body of a success, or why there is none.
pub(super) fn reply(body: &[u8]) -> Result<Reply, String> {
    let completion: Completion = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let choice = completion.choices.into_iter().next().ok_or("the reply has no choice")?;
    let cut = choice.finish_reason.as_deref() == Some("length");
    let text = choice.message.content.or(choice.message.refusal).unwrap_or_default();
    let calls = choice.message.tool_calls.unwrap_or_default().into_iter().enumerate();
    let calls: Vec<ToolCall> = calls.map(|(index, call)| call.taken(index)).collect::<Result<_, _>>()?;
    if text.trim().is_empty() && calls.is_empty() && !cut {
        return Err("the reply has neither text nor tool calls".to_owned());
    }
    let usage = completion.usage.unwrap_or_default().taken();
    Ok(Reply { text, calls, cut, usage, model_name: None })
}

/// What the body of a refusal says.
pub(super) struct Refusal {
    /// In the server's words.
    pub(super) message: String,
    /// The account's quota is used up: waiting does not help.
    pub(super) out_of_money: bool,
}

/// Reads a refusal: `{"error": {"message": …}}`, `{"error": "…"}`, or whatever else there is.
pub(super) fn refusal(body: &[u8]) -> Refusal {
    let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = &parsed["error"];
    let message = error["message"].as_str().or(error.as_str());
    Refusal {
        message: message.map_or_else(|| String::from_utf8_lossy(body).trim().to_owned(), str::to_owned),
        out_of_money: error["code"] == "insufficient_quota",
    }
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
    usage: Option<WireUsage>,
}

#[derive(Deserialize)]
struct Choice {
    message: AssistantMessage,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct AssistantMessage {
    content: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Serialize, Deserialize)]
struct Call {
    #[serde(default)]
    id: String,
    #[serde(rename = "type", default)]
    kind: String,
    function: Function,
}

#[derive(Serialize, Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Value,
}

impl Call {
    fn taken(self, index: usize) -> Result<ToolCall, String> {
        let Self { id, function: Function { name, arguments }, .. } = self;
        if name.trim_matches(['.', ' ']).is_empty() {
            return Err(format!("a tool call has no usable name: {name:?}"));
        }
        let id = if id.is_empty() { format!("call_{index}") } else { id };
        let arguments = match arguments {
            // This is how several servers write that there are no arguments.
            Value::Null => "{}".to_owned(),
            Value::String(text) if text.trim().is_empty() => "{}".to_owned(),
            Value::String(text) => text,
            other => other.to_string(),
        };
        Ok(ToolCall { id, name, arguments })
    }

    /// A call of an earlier turn. Broken arguments are wrapped: several servers parse what they are sent
    /// and would refuse the whole conversation for the sake of one bad call.
    fn again(call: &ToolCall) -> Self {
        let is_object = serde_json::from_str::<serde_json::Map<String, Value>>(&call.arguments).is_ok();
        let arguments = if is_object {
            call.arguments.clone()
        } else {
            json!({"invalid_arguments": call.arguments}).to_string()
        };
        let function = Function { name: call.name.clone(), arguments: Value::from(arguments) };
        Self { id: call.id.clone(), kind: "function".to_owned(), function }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

impl WireUsage {
    fn taken(self) -> Usage {
        Usage {
            input_tokens: self.prompt_tokens.unwrap_or(0),
            cached_input_tokens: self.prompt_tokens_details.unwrap_or_default().cached_tokens.unwrap_or(0),
            output_tokens: self.completion_tokens.unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(message: Value, finish_reason: &str) -> Result<Reply, String> {
        let body = json!({"choices": [{"message": message, "finish_reason": finish_reason}]});
        reply(body.to_string().as_bytes())
    }

    fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
        ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    #[test]
    fn arguments_stay_the_text_that_the_model_wrote() {
        for (arguments, expected) in [
            (json!("{\"path\": \".\" }"), "{\"path\": \".\" }"),
            (json!("{\"path\":"), "{\"path\":"),
            (json!({"path": "."}), "{\"path\":\".\"}"),
            (json!("  "), "{}"),
            (Value::Null, "{}"),
        ] {
            let message = json!({"content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "ls", "arguments": arguments}}
            ]});
            assert_eq!(taken(message, "tool_calls").unwrap().calls, [call("a", "ls", expected)]);
        }
    }

    #[test]
    fn an_answer_that_happens_to_be_json_is_an_answer() {
        let text = r#"{"tool_calls":[{"name":"ls","arguments":{}}],"final_answer":""}"#;
        assert_eq!(taken(json!({"content": text}), "stop").unwrap(), Reply::answer(text));
    }

    #[test]
    fn a_reply_that_was_cut_by_length_says_so() {
        assert!(taken(json!({"content": "half a"}), "length").unwrap().cut);
        assert!(taken(json!({"content": null}), "length").unwrap().cut);
    }

    #[test]
    fn what_is_no_reply_is_refused_with_the_reason() {
        for (message, expected) in [
            (json!({}), "the reply has neither text nor tool calls"),
            (json!({"content": " \n"}), "the reply has neither text nor tool calls"),
            (json!({"tool_calls": [{"function": {"name": ".."}}]}), "a tool call has no usable name: \"..\""),
        ] {
            assert_eq!(taken(message, "stop").unwrap_err(), expected);
        }
        assert_eq!(reply(br#"{"choices":[]}"#).unwrap_err(), "the reply has no choice");
        assert!(reply(b"<html>").is_err());
    }

    #[test]
    fn cached_tokens_are_told_apart() {
        let body = json!({"choices": [{"message": {"content": "a"}}], "usage": {
            "prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}
        }});
        let usage = reply(body.to_string().as_bytes()).unwrap().usage;
        assert_eq!(usage, Usage { input_tokens: 10, cached_input_tokens: 8, output_tokens: 2 });
    }

    #[test]
    fn broken_arguments_of_earlier_turns_are_sent_as_an_object() {
        let function = Call::again(&call("a", "ls", "{\"path\":")).function;
        assert_eq!(function.arguments, json!("{\"invalid_arguments\":\"{\\\"path\\\":\"}"));
    }

    #[test]
    fn a_refusal_is_read_in_every_shape() {
        for (body, message, out_of_money) in [
            (r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#, "slow down", false),
            (r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#, "pay", true),
            (r#"{"error":"model not found"}"#, "model not found", false),
            ("bad gateway\n", "bad gateway", false),
        ] {
            let refusal = refusal(body.as_bytes());
            assert_eq!((refusal.message.as_str(), refusal.out_of_money), (message, out_of_money));
        }
    }
}
