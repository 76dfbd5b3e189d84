//! The body of a request for a response: the conversation as a list of items.
//!
//! A reply with reasoning goes back as the items that it came in: the provider refuses a reasoning item
//! without the item that followed it, and the other way round.

use serde_json::{Value, json};
use toolkit::function_schemas::Format;

use crate::model::endpoint::Settings;
use crate::model::{Message, Origin, ReplySchema, Request, ToolCall};

/// The parameter that asks for encrypted reasoning.
pub(super) const INCLUDE: &str = "include";

pub(super) fn body(settings: &Settings, origin: &Origin, request: Request<'_>) -> Value {
    let sees = settings.options.vision;
    let mut body = json!({
        "model": settings.model,
        "input": request.messages.iter().flat_map(|message| items(message, origin, sees)).collect::<Value>(),
        "stream": true,
        "store": false,
        INCLUDE: ["reasoning.encrypted_content"],
    });
    if !request.system.trim().is_empty() {
        body["instructions"] = json!(request.system);
    }
    if !request.tools.is_empty() {
        body["tools"] = Value::Array(Format::OpenAiResponses.tools(request.tools));
    }
    let options = &settings.options;
    if let Some(tokens) = options.max_output_tokens {
        body["max_output_tokens"] = json!(tokens);
    }
    if let Some(temperature) = options.temperature {
        body["temperature"] = json!(temperature);
    }
    if let Some(effort) = options.reasoning_effort {
        body["reasoning"] = json!({"effort": effort.as_str()});
    }
    if let Some(ReplySchema { name, schema }) = request.schema {
        body["text"]["format"] =
            json!({"type": "json_schema", "name": name, "schema": schema, "strict": true});
    }
    body
}

/// For a model that has no reasoning to encrypt.
pub(super) fn remove_include(body: &mut Value) {
    if let Some(body) = body.as_object_mut() {
        body.remove(INCLUDE);
    }
}

fn items(message: &Message, origin: &Origin, sees: bool) -> Vec<Value> {
    match message {
        Message::User(text) => vec![said("user", text)],
        Message::Image(image) => match image.shown(sees) {
            (words, None) => vec![said("user", &words)],
            (words, Some(picture)) => vec![json!({"role": "user", "content": [
                {"type": "input_text", "text": words},
                {"type": "input_image", "image_url": picture.data_url()},
            ]})],
        },
        Message::ToolResult { call_id, text } => {
            vec![json!({"type": "function_call_output", "call_id": call_id, "output": text})]
        }
        Message::Assistant { text, calls, reasoning } => {
            let ours = reasoning.as_ref().and_then(|reasoning| reasoning.content_for(origin));
            if let Some(items) = ours.and_then(Value::as_array) {
                return as_they_came(items, calls);
            }
            let text = Some(text).filter(|text| !text.trim().is_empty()).map(|text| said("assistant", text));
            text.into_iter().chain(calls.iter().map(call)).collect()
        }
    }
}

fn said(role: &str, text: &str) -> Value {
    json!({"role": role, "content": text})
}

/// A call of an earlier turn; a valid object goes back exactly as the model wrote it.
fn call(call: &ToolCall) -> Value {
    let arguments = match call.arguments_object() {
        Ok(_) => call.arguments.clone(),
        Err(wrapped) => Value::Object(wrapped).to_string(),
    };
    json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
}

/// The items of a reply, with the call IDs that the results name. A call that the model wrote as text has no
/// item of its own.
fn as_they_came(items: &[Value], calls: &[ToolCall]) -> Vec<Value> {
    let mut calls = calls.iter();
    let item = |item: &Value| {
        let mut item = item.clone();
        if item["type"] == "function_call"
            && let Some(call) = calls.next()
        {
            item["call_id"] = json!(call.id);
        }
        item
    };
    let items: Vec<Value> = items.iter().map(item).collect();
    items.into_iter().chain(calls.map(call)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Reasoning;

    fn settings() -> Settings {
        Settings::new("http://127.0.0.1/v1".parse().unwrap(), None, "m")
    }

    fn input(messages: &[Message]) -> Value {
        let request = Request { system: "", messages, tools: &[], schema: None };
        body(&settings(), &Origin::new("u", "m"), request)["input"].take()
    }

    fn turn(calls: &[(&str, &str)], reasoning: Option<Reasoning>) -> Message {
        let call = |(id, arguments): &(&str, &str)| ToolCall::new(*id, "ls", *arguments);
        Message::Assistant { text: "I look.".into(), calls: calls.iter().map(call).collect(), reasoning }
    }

    #[test]
    fn a_conversation_is_a_list_of_items() {
        let result = Message::ToolResult { call_id: "a".into(), text: "exit 0".into() };
        let kind = "function_call";
        let call = |id: &str, arguments: &str| {
            let (name, call_id) = ("ls", id);
            json!({"type": kind, "call_id": call_id, "name": name, "arguments": arguments})
        };
        assert_eq!(
            input(&[Message::User("hi".into()), turn(&[("a", "{ }"), ("b", "{")], None), result]),
            json!([
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "I look."},
                call("a", "{ }"),
                call("b", r#"{"invalid_arguments":"{"}"#),
                {"type": "function_call_output", "call_id": "a", "output": "exit 0"},
            ])
        );
    }

    #[test]
    fn items_with_reasoning_go_back_as_they_came_to_the_same_model_only() {
        let call = json!({"type": "function_call", "id": "fc_1", "call_id": "twice", "name": "ls"});
        let items = json!([{"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}, call, call]);
        let of = |model: &str| {
            let reasoning = Reasoning::beside(&Origin::new("u", model), items.clone());
            turn(&[("twice", "{}"), ("call_1", "{}")], Some(reasoning))
        };
        let mut expected = items.clone();
        expected[2]["call_id"] = json!("call_1");
        assert_eq!(input(&[of("m")]), expected);
        let as_text = Reasoning::beside(&Origin::new("u", "m"), json!([items[0]]));
        let sent = input(&[turn(&[("a", "{}")], Some(as_text))]);
        assert_eq!((&sent[0]["id"], &sent[1]["call_id"]), (&json!("rs_1"), &json!("a")));
        assert!(!input(&[of("other")]).to_string().contains("rs_1"));
    }

    #[test]
    fn nothing_is_stored_and_optional_arguments_stay_optional() {
        let tools = [crate::model::test_tool("ls", "Lists.", json!({"type": "object"}))];
        let mut body = body(
            &settings(),
            &Origin::new("u", "m"),
            Request { system: "s", messages: &[], tools: &tools, schema: None },
        );
        remove_include(&mut body);
        assert_eq!(
            body,
            json!({"model": "m", "input": [], "stream": true, "store": false, "instructions": "s", "tools": [
                {"type": "function", "name": "ls", "description": "Lists.", "parameters": {"type": "object"},
                 "strict": false},
            ]})
        );
    }
}
