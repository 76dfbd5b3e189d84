//! The body of a request for a chat completion.

use serde_json::{Value, json};
use toolkit::function_schemas::Format;

use super::reasoning;
use crate::model::endpoint::Settings;
use crate::model::{Message, Origin, ReplySchema, Request, ToolCall};

/// Asks for the usage of a streamed reply; some servers do not know it.
const STREAM_OPTIONS: &str = "stream_options";

pub(super) fn body(settings: &Settings, origin: &Origin, request: Request<'_>) -> Value {
    let mut messages = vec![json!({"role": "system", "content": request.system})];
    let sees = settings.options.vision;
    messages.extend(request.messages.iter().map(|message| self::message(message, origin, sees)));
    let mut body = json!({"model": settings.model, "messages": messages, "stream": true});
    body[STREAM_OPTIONS] = json!({"include_usage": true});
    if let Some(tokens) = settings.options.max_output_tokens {
        body[length_limit(settings)] = json!(tokens);
    }
    if let Some(effort) = settings.options.reasoning_effort {
        body["reasoning_effort"] = json!(effort.as_str());
    }
    if let Some(temperature) = settings.options.temperature {
        body["temperature"] = json!(temperature);
    }
    // Some servers refuse an empty list.
    if !request.tools.is_empty() {
        body["tools"] = Value::Array(Format::OpenAi.tools(request.tools));
    }
    if let Some(ReplySchema { name, schema }) = request.schema {
        body["response_format"] = json!({"type": "json_schema", "json_schema": {
            "name": name, "schema": schema, "strict": true,
        }});
    }
    body
}

/// OpenAI's newer models refuse the older name, and most other servers do not know the newer one.
fn length_limit(settings: &Settings) -> &'static str {
    let is_openai = settings.base_url.host_str() == Some("api.openai.com") || settings.is_azure();
    if is_openai { "max_completion_tokens" } else { "max_tokens" }
}

pub(super) fn has_stream_options(body: &Value) -> bool {
    body.get(STREAM_OPTIONS).is_some()
}

/// For a server that refuses the stream options.
pub(super) fn remove_stream_options(body: &mut Value) {
    if let Some(body) = body.as_object_mut() {
        body.remove(STREAM_OPTIONS);
    }
}

fn message(message: &Message, origin: &Origin, sees: bool) -> Value {
    match message {
        // A result can have no image here, so it comes from the user.
        Message::Image(image) => match image.shown(sees) {
            (words, None) => json!({"role": "user", "content": words}),
            (words, Some(picture)) => json!({"role": "user", "content": [
                {"type": "text", "text": words},
                {"type": "image_url", "image_url": {"url": picture.data_url()}},
            ]}),
        },
        Message::User(text) => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls, reasoning } => {
            let calls: Vec<Value> = calls.iter().map(call).collect();
            let text = Some(text).filter(|text| !text.is_empty());
            let mut message = json!({"role": "assistant", "content": text, "tool_calls": calls});
            if let Some(ours) = reasoning.as_ref().and_then(|reasoning| reasoning.content_for(origin)) {
                reasoning::restore(&mut message, ours);
            }
            message
        }
        Message::ToolResult { call_id, text } => {
            json!({"role": "tool", "tool_call_id": call_id, "content": text})
        }
    }
}

/// A call of an earlier turn; a valid object goes back exactly as the model wrote it.
fn call(call: &ToolCall) -> Value {
    let arguments = match call.arguments_object() {
        Ok(_) => call.arguments.clone(),
        Err(wrapped) => Value::Object(wrapped).to_string(),
    };
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_arguments_of_earlier_turns_are_sent_as_an_object() {
        let broken = ToolCall::new("a", "ls", "{\"path\":");
        let function = &call(&broken)["function"];
        assert_eq!(function["arguments"], "{\"invalid_arguments\":\"{\\\"path\\\":\"}");
        let sound = ToolCall { arguments: "{ \"b\":1,  \"a\":2 }".into(), ..broken };
        assert_eq!(call(&sound)["function"]["arguments"], "{ \"b\":1,  \"a\":2 }");
    }

    #[test]
    fn a_request_without_stream_options_is_otherwise_the_same() {
        let request = Request { system: "s", messages: &[], tools: &[], schema: None };
        let settings = Settings::new("http://127.0.0.1/v1".parse().unwrap(), None, "m");
        let mut body = body(&settings, &Origin::new("u", "m"), request);
        assert_eq!(body["stream_options"]["include_usage"], true);
        let expected =
            json!({"model": "m", "messages": [{"role": "system", "content": "s"}], "stream": true});
        remove_stream_options(&mut body);
        assert_eq!(body, expected);
    }
}
