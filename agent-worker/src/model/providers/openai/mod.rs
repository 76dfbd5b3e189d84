//! Chat completions, as OpenAI defined them and vLLM, Ollama, llama.cpp and OpenRouter speak them.
//!
//! Native function calling, streamed, so that a stalled connection is noticed. A server that refuses
//! `stream_options` is asked without them.

mod reasoning;
mod reply;

use std::sync::OnceLock;

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use settings::choices::Words as _;
use toolkit::function_schemas::Format;

use crate::model::endpoint::{Protocol, ReplyBuilder, RequestError, Settings, put};
use crate::model::{Message, Origin, Request, ToolCall};
use reply::CompletionBuilder;

/// The parameter that OpenAI names when it takes no tools from a model that thinks.
const EFFORT: &str = "reasoning_effort";

const TOOLS_NEED_RESPONSES: &str = "set AUTONOUS_MODEL_PROVIDER=openai-responses, with which this model \
     thinks and calls tools, or AUTONOUS_MODEL_REASONING_EFFORT=none";

/// Asks for the usage of a streamed reply; some servers do not know it.
const STREAM_OPTIONS: &str = "stream_options";

#[derive(Default)]
pub(super) struct OpenAi {
    /// Whether the server accepts `stream_options`; unknown until it has accepted or refused them.
    accepts_options: OnceLock<bool>,
    /// Set once the model has sent `reasoning_content`, which it then demands with every call.
    demands_reasoning: OnceLock<()>,
}

impl Protocol for OpenAi {
    fn default_model(&self) -> &'static str {
        "gpt-4.1-mini"
    }

    fn path(&self, _model: &str) -> String {
        "chat/completions".to_owned()
    }

    fn sign(&self, request: RequestBuilder, settings: &Settings) -> RequestBuilder {
        sign(request, settings)
    }

    fn body(&self, settings: &Settings, origin: &Origin, request: Request<'_>) -> Value {
        let options = &settings.options;
        let mut messages = vec![json!({"role": "system", "content": request.system})];
        messages
            .extend(request.messages.iter().map(|message| self::message(message, origin, options.vision)));
        let mut body = json!({"model": settings.model, "messages": messages, "stream": true});
        if self.accepts_options.get() != Some(&false) {
            body[STREAM_OPTIONS] = json!({"include_usage": true});
        }
        if self.demands_reasoning.get().is_some() {
            reasoning::add_empty(&mut body["messages"]);
        }
        put(&mut body, &[length_limit(settings)], options.max_output_tokens);
        put(&mut body, &[EFFORT], options.reasoning_effort.map(|effort| effort.word()));
        put(&mut body, &["temperature"], options.temperature);
        // Some servers refuse an empty list.
        if !request.tools.is_empty() {
            body["tools"] = Value::Array(Format::OpenAi.tools(request.tools));
        }
        let format = request.schema.map(|schema| {
            let schema = json!({"name": schema.name, "schema": schema.schema, "strict": true});
            json!({"type": "json_schema", "json_schema": schema})
        });
        put(&mut body, &["response_format"], format);
        body
    }

    fn reply_builder(&self) -> Box<dyn ReplyBuilder> {
        Box::<CompletionBuilder>::default()
    }

    /// First without the options. Then with empty reasoning: another model may have made the calls, and this
    /// one may demand it with them.
    fn amend(&self, refused: &RequestError, body: &mut Value) -> bool {
        if !refused.may_be_the_body() {
            return false;
        }
        let is_known = self.accepts_options.get().is_some();
        let without_options =
            body.as_object_mut().filter(|_| !is_known).and_then(|it| it.remove(STREAM_OPTIONS));
        without_options.is_some() || reasoning::add_empty(&mut body["messages"])
    }

    /// After two refusals it is unknown what the first was for.
    fn accepted(&self, body: &Value, refusals: usize) {
        let has_options = body.get(STREAM_OPTIONS).is_some();
        if has_options || refusals == 1 {
            self.accepts_options.get_or_init(|| has_options);
        }
    }

    fn replied(&self, reasoning: &Value) {
        if reasoning::is_demanded(reasoning) {
            self.demands_reasoning.get_or_init(|| ());
        }
    }

    fn remedy(&self, refused: &RequestError, body: &Value) -> Option<&'static str> {
        (refused.is_for(EFFORT) && !body["tools"].is_null()).then_some(TOOLS_NEED_RESPONSES)
    }
}

pub(super) fn sign(request: RequestBuilder, settings: &Settings) -> RequestBuilder {
    match &settings.key {
        Some(key) if settings.is_azure() => request.header("api-key", key.expose()),
        Some(key) => request.bearer_auth(key.expose()),
        None => request,
    }
}

/// OpenAI's newer models refuse the older name, and most other servers do not know the newer one.
fn length_limit(settings: &Settings) -> &'static str {
    let is_openai = settings.base_url.host_str() == Some("api.openai.com") || settings.is_azure();
    if is_openai { "max_completion_tokens" } else { "max_tokens" }
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

fn call(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments_as_object()});
    json!({"id": call.id, "type": "function", "function": function})
}
