//! OpenAI's responses, streamed and stateless: nothing is stored at the provider, so every request carries
//! the whole conversation, and the model's reasoning goes with it, encrypted.
//!
//! A reply with reasoning goes back as the items that it came in: the provider refuses a reasoning item
//! without the item that followed it, and the other way round. A model that does not reason refuses to
//! encrypt, and is asked without.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use settings::choices::Words as _;
use toolkit::function_schemas::Format;

use super::openai;
use crate::model::endpoint::{
    Ending, Found, FoundReasoning, Protocol, ReplyBuilder, ReplyError, ReplyStage, RequestError, Settings,
    kind, put, usage,
};
use crate::model::{Message, Origin, Request, ToolCall};

/// The parameter that asks for encrypted reasoning.
const INCLUDE: &str = "include";

#[derive(Default)]
pub(super) struct Responses {
    /// Set once the model has refused to encrypt its reasoning.
    has_no_reasoning: OnceLock<()>,
}

impl Protocol for Responses {
    fn default_model(&self) -> &'static str {
        "gpt-5.4-mini"
    }

    fn path(&self, _model: &str) -> String {
        "responses".to_owned()
    }

    fn sign(&self, request: RequestBuilder, settings: &Settings) -> RequestBuilder {
        openai::sign(request, settings)
    }

    fn body(&self, settings: &Settings, origin: &Origin, request: Request<'_>) -> Value {
        let options = &settings.options;
        let items = request.messages.iter().flat_map(|message| items(message, origin, options.vision));
        let mut body = json!({
            "model": settings.model, "input": items.collect::<Value>(), "stream": true, "store": false,
        });
        if self.has_no_reasoning.get().is_none() {
            body[INCLUDE] = json!(["reasoning.encrypted_content"]);
        }
        if !request.system.trim().is_empty() {
            body["instructions"] = json!(request.system);
        }
        if !request.tools.is_empty() {
            body["tools"] = Value::Array(Format::OpenAiResponses.tools(request.tools));
        }
        put(&mut body, &["max_output_tokens"], options.max_output_tokens);
        put(&mut body, &["temperature"], options.temperature);
        put(&mut body, &["reasoning", "effort"], options.reasoning_effort.map(|effort| effort.word()));
        let format = request.schema.map(|schema| {
            json!({"type": "json_schema", "name": schema.name, "schema": schema.schema, "strict": true})
        });
        put(&mut body, &["text", "format"], format);
        body
    }

    fn reply_builder(&self) -> Box<dyn ReplyBuilder> {
        Box::<ResponseBuilder>::default()
    }

    fn amend(&self, refused: &RequestError, body: &mut Value) -> bool {
        refused.is_for(INCLUDE) && body.as_object_mut().is_some_and(|body| body.remove(INCLUDE).is_some())
    }

    fn accepted(&self, body: &Value, _refusals: usize) {
        if body.get(INCLUDE).is_none() {
            self.has_no_reasoning.get_or_init(|| ());
        }
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

fn call(call: &ToolCall) -> Value {
    let arguments = call.arguments_as_object();
    json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments})
}

/// The items of a reply, with the call IDs that the results name. A call that the model wrote as text has no
/// item of its own.
fn as_they_came(items: &[Value], calls: &[ToolCall]) -> Vec<Value> {
    let mut calls = calls.iter();
    let item = |item: &Value| {
        let mut item = item.clone();
        if kind(&item) == "function_call"
            && let Some(call) = calls.next()
        {
            item["call_id"] = json!(call.id);
        }
        item
    };
    let items: Vec<Value> = items.iter().map(item).collect();
    items.into_iter().chain(calls.map(call)).collect()
}

/// A response from the events of a stream or from one body: a list of reasoning, messages and calls. Each
/// arrives whole when it is done, so its deltas only show that the model is at work. Unknown events and items
/// are skipped.
#[derive(Default)]
struct ResponseBuilder {
    /// The items that are done, by their place.
    items: BTreeMap<u64, Value>,
    /// Whether an item is being written that is not reasoning; a model may think for long between items.
    is_writing: bool,
    /// The text as its deltas bring it, which only shows how far the model is.
    written: String,
    incomplete: Option<String>,
    usage: Value,
    is_done: bool,
}

impl ReplyBuilder for ResponseBuilder {
    fn add(&mut self, mut event: Value, is_whole: bool) -> Result<(), ReplyError> {
        match kind(&event) {
            _ if is_whole => return self.end(event),
            "response.output_item.added" => {
                self.is_writing = matches!(kind(&event["item"]), "message" | "function_call");
            }
            "response.output_item.done" => {
                self.is_writing = false;
                self.add_item(event["output_index"].as_u64(), event["item"].take());
            }
            "response.output_text.delta" => {
                self.written.push_str(event["delta"].as_str().unwrap_or_default());
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                return self.end(event["response"].take());
            }
            _ => {}
        }
        Ok(())
    }

    fn stage(&self) -> ReplyStage {
        ReplyStage::of(self.is_writing, false, self.is_done)
    }

    fn text(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.written)
    }

    fn found(self: Box<Self>) -> Found {
        let items: Vec<Value> = self.items.into_values().collect();
        let call = |item: &Value| {
            let field = |name: &str| item[name].as_str().unwrap_or_default();
            ToolCall::new(field("call_id"), field("name"), field("arguments"))
        };
        let calls = items.iter().filter(|item| kind(item) == "function_call").map(call);
        let calls: Vec<ToolCall> = calls.collect();
        Found {
            text: text(&items, calls.is_empty()),
            calls,
            ending: match self.incomplete.as_deref() {
                None => Ending::Whole,
                Some("content_filter") => Ending::Filtered,
                Some(_) => Ending::Cut,
            },
            usage: usage(
                &self.usage,
                &["/input_tokens"],
                "/input_tokens_details/cached_tokens",
                &["/output_tokens"],
            ),
            reasoning: match can_go_back(&items) {
                true => FoundReasoning::Around(Value::Array(items)),
                false => FoundReasoning::None,
            },
        }
    }
}

impl ResponseBuilder {
    fn add_item(&mut self, place: Option<u64>, item: Value) {
        let place = place.unwrap_or_else(|| self.items.last_key_value().map_or(0, |(last, _)| last + 1));
        self.items.insert(place, item);
    }

    /// The response as it is at the end. Its items are those that were done before; not every server repeats
    /// them, and one that does not stream sends them only here.
    fn end(&mut self, mut response: Value) -> Result<(), ReplyError> {
        let Some(Value::Array(items)) = response.get_mut("output").map(Value::take) else {
            return Err(ReplyError::invalid("the response has no output"));
        };
        if self.items.is_empty() {
            items.into_iter().for_each(|item| self.add_item(None, item));
        }
        match response["status"].as_str() {
            Some("incomplete") => {
                let reason = response["incomplete_details"]["reason"].as_str();
                self.incomplete = Some(reason.unwrap_or("unknown").to_owned());
            }
            Some("completed") | None => {}
            Some(other) => return Err(ReplyError::invalid(format!("the response is {other}"))),
        }
        self.usage = response["usage"].take();
        self.is_done = true;
        Ok(())
    }
}

/// Whether the items are worth sending back as they came, and accepted: reasoning that is neither encrypted
/// nor readable is only a name for what the provider did not store.
fn can_go_back(items: &[Value]) -> bool {
    let is_kept = |item: &&Value| kind(item) == "reasoning" || item["phase"].is_string();
    let is_accepted = |item: &Value| {
        kind(item) != "reasoning"
            || item["encrypted_content"].is_string()
            || item["content"].as_array().is_some_and(|content| !content.is_empty())
    };
    items.iter().any(|item| is_kept(&item)) && items.iter().all(is_accepted)
}

/// The text of all messages. Of a reply without calls, only the answer counts, if it is marked as one.
fn text(items: &[Value], is_answer: bool) -> String {
    let messages = || items.iter().filter(|item| kind(item) == "message");
    let is_final = |item: &&Value| item["phase"] == "final_answer";
    let has_final = is_answer && messages().any(|item| is_final(&item));
    let messages = messages().filter(|item| !has_final || is_final(item));
    let part = |part: &Value| {
        let text = part["text"].as_str().or(part["refusal"].as_str());
        text.unwrap_or_default().to_owned()
    };
    let texts = messages.map(|item| item["content"].as_array().into_iter().flatten().map(part).collect());
    texts.filter(|text: &String| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}
