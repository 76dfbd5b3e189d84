//! Gemini's own protocol: `generateContent`, streamed.
//!
//! Its server takes no field that it does not know. A thinking model signs the parts of its reply, and wants
//! each signature back in the part that it came with, so a reply goes back as the parts that it came in.
//! Gemini 3 refuses the first call of a step without one. Calls that another model made have none, and get
//! the value that Google documents for them.

use std::borrow::Cow;

use reqwest::RequestBuilder;
use serde_json::{Value, json};
use settings::choices::Words as _;
use toolkit::function_schemas::Format;

use super::turns::Turns;
use crate::model::endpoint::{
    Ending, Found, FoundReasoning, Protocol, ReplyBuilder, ReplyError, ReplyStage, Settings, put, usage,
};
use crate::model::{Message, Origin, Picture, Request, ToolCall};

/// What Google takes instead of a signature for a call that its model did not make.
const FOREIGN_CALL: &str = "skip_thought_signature_validator";

/// The models before signatures were checked, by the beginnings of their names.
const WITHOUT_CHECK: [&str; 3] = ["gemini-1", "gemini-2", "gemma"];

/// The counts of a usage report.
const INPUT: [&str; 2] = ["/promptTokenCount", "/toolUsePromptTokenCount"];
const CACHED: &str = "/cachedContentTokenCount";
const OUTPUT: [&str; 2] = ["/candidatesTokenCount", "/thoughtsTokenCount"];

pub(super) struct Gemini;

impl Protocol for Gemini {
    fn default_model(&self) -> &'static str {
        "gemini-flash-latest"
    }

    fn path(&self, model: &str) -> String {
        // The list of models has names with a folder; a tuned model is in another one.
        let folder = if model.contains('/') { "" } else { "models/" };
        format!("{folder}{model}:streamGenerateContent?alt=sse")
    }

    fn sign(&self, request: RequestBuilder, settings: &Settings) -> RequestBuilder {
        match &settings.key {
            Some(key) => request.header("x-goog-api-key", key.expose()),
            None => request,
        }
    }

    fn body(&self, settings: &Settings, origin: &Origin, request: Request<'_>) -> Value {
        let name = settings.model.rsplit('/').next().unwrap_or_default();
        let options = &settings.options;
        let mut contents = Contents {
            turns: Turns::new(|text| json!({"text": text})),
            calls: Vec::new(),
            checks: !WITHOUT_CHECK.iter().any(|beginning| name.starts_with(beginning)),
            sees: options.vision,
        };
        request.messages.iter().for_each(|message| contents.add(message, origin));
        let mut body = json!({"contents": contents.turns.finish("parts")});
        if !request.system.trim().is_empty() {
            body["systemInstruction"] = json!({"parts": [{"text": request.system}]});
        }
        if !request.tools.is_empty() {
            body["tools"] = Value::Array(Format::Gemini.tools(request.tools));
        }
        let effort = options.reasoning_effort.map(|effort| effort.word());
        put(&mut body, &["generationConfig", "maxOutputTokens"], options.max_output_tokens);
        put(&mut body, &["generationConfig", "temperature"], options.temperature);
        put(&mut body, &["generationConfig", "thinkingConfig", "thinkingLevel"], effort);
        if let Some(schema) = request.schema {
            body["generationConfig"]["responseMimeType"] = json!("application/json");
            body["generationConfig"]["responseJsonSchema"] = schema.schema.clone();
        }
        body
    }

    fn reply_builder(&self) -> Box<dyn ReplyBuilder> {
        Box::<ContentBuilder>::default()
    }
}

/// The contents of a request under construction.
struct Contents {
    turns: Turns,
    /// The newest calls: our ID, the name, and the ID on the wire, if the model gave one.
    calls: Vec<(String, String, Value)>,
    /// Whether the model checks signatures.
    checks: bool,
    /// Whether it sees images.
    sees: bool,
}

impl Contents {
    fn add(&mut self, message: &Message, origin: &Origin) {
        match message {
            Message::User(text) => self.turns.push_text("user", text),
            Message::Image(image) => {
                let (words, picture) = image.shown(self.sees);
                self.turns.push_text("user", &words);
                if let Some(Picture { media_type, base64, .. }) = picture {
                    let data = json!({"mimeType": media_type, "data": base64});
                    self.turns.push("user", json!({"inlineData": data}));
                }
            }
            Message::ToolResult { call_id, text } => {
                let known = self.calls.iter().find(|(ours, _, _)| ours == call_id);
                let (name, id) = known.map_or((call_id, &Value::Null), |(_, name, id)| (name, id));
                let mut response = json!({"name": name, "response": {"output": text}});
                put(&mut response, &["id"], Some(id.clone()).filter(|id| !id.is_null()));
                self.turns.push("user", json!({"functionResponse": response}));
            }
            Message::Assistant { text, calls, reasoning } => {
                self.calls.clear();
                let ours = reasoning.as_ref().and_then(|reasoning| reasoning.content_for(origin));
                match ours.and_then(Value::as_array) {
                    Some(parts) => self.push_parts(parts, calls),
                    None => {
                        self.turns.push_text("model", text);
                        calls.iter().for_each(|call| self.push_call(call));
                    }
                }
            }
        }
    }

    fn push_parts(&mut self, parts: &[Value], calls: &[ToolCall]) {
        let mut calls = calls.iter();
        for part in parts {
            let call = &part["functionCall"];
            if let Some(name) = call["name"].as_str()
                && let Some(ours) = calls.next()
            {
                self.calls.push((ours.id.clone(), name.to_owned(), call["id"].clone()));
            }
            self.turns.push("model", part.clone());
        }
        // A call that the model wrote as text has no part of its own, and no signature.
        calls.for_each(|call| self.push_call(call));
    }

    fn push_call(&mut self, call: &ToolCall) {
        let arguments = call.arguments_object().unwrap_or_else(|wrapped| wrapped);
        let mut part = json!({"functionCall": {"name": call.name, "args": arguments}});
        put(&mut part, &["thoughtSignature"], (self.checks && self.calls.is_empty()).then_some(FOREIGN_CALL));
        self.calls.push((call.id.clone(), call.name.clone(), Value::Null));
        self.turns.push("model", part);
    }
}

/// Content from the events of a stream or from one body. The parts of all events follow each other. Pieces
/// of text without a signature are joined; a part with one stays as it came. Thoughts are parts, too, but no
/// part of the text.
#[derive(Default)]
struct ContentBuilder {
    parts: Vec<Value>,
    has_begun: bool,
    /// Why the reply ended, or its request was blocked.
    reason: Option<String>,
    usage: Value,
    is_done: bool,
}

impl ReplyBuilder for ContentBuilder {
    fn add(&mut self, mut event: Value, is_whole: bool) -> Result<(), ReplyError> {
        self.is_done |= is_whole;
        if event["usageMetadata"].is_object() {
            self.usage = event["usageMetadata"].take();
        }
        // We only ask for one candidate.
        let reasons = [&event["promptFeedback"]["blockReason"], &event["candidates"][0]["finishReason"]];
        if let Some(reason) = reasons.into_iter().find_map(Value::as_str) {
            self.reason = Some(reason.to_owned());
        }
        let parts = event.pointer_mut("/candidates/0/content/parts");
        if let Some(Value::Array(parts)) = parts.map(Value::take) {
            parts.into_iter().for_each(|part| self.add_part(part));
        }
        Ok(())
    }

    fn stage(&self) -> ReplyStage {
        ReplyStage::of(self.has_begun, self.reason.is_some(), self.is_done)
    }

    fn text(&self) -> Cow<'_, str> {
        let is_said = |part: &&Value| part["thought"] != true;
        self.parts.iter().filter(is_said).filter_map(|part| part["text"].as_str()).collect()
    }

    fn found(self: Box<Self>) -> Found {
        let text = self.text().into_owned();
        let call = |call: &Value| {
            let field = |name: &str| call[name].as_str().unwrap_or_default();
            let arguments = call.get("args").filter(|args| !args.is_null()).map(Value::to_string);
            ToolCall::new(field("id"), field("name"), arguments.unwrap_or_default())
        };
        let calls = self.parts.iter().filter_map(|part| part.get("functionCall")).map(call);
        let is_kept = |part: &Value| {
            part.get("thoughtSignature").is_some()
                || part["thought"] == true
                || !part["functionCall"]["id"].is_null()
        };
        Found {
            text,
            calls: calls.collect(),
            ending: ending(self.reason.as_deref()),
            usage: usage(&self.usage, &INPUT, CACHED, &OUTPUT),
            reasoning: match self.parts.iter().any(is_kept) {
                true => FoundReasoning::Around(Value::Array(self.parts)),
                false => FoundReasoning::None,
            },
        }
    }
}

impl ContentBuilder {
    fn add_part(&mut self, part: Value) {
        self.has_begun |= part["thought"] != true && part["text"] != "";
        if let (Some(last), Some(more)) = (self.parts.last_mut(), part["text"].as_str())
            && is_plain_text(last)
            && is_plain_text(&part)
            && last["thought"] == part["thought"]
            && let Value::String(so_far) = &mut last["text"]
        {
            so_far.push_str(more);
            return;
        }
        self.parts.push(part);
    }
}

/// Whether a part is text, perhaps of a thought, and nothing else.
fn is_plain_text(part: &Value) -> bool {
    part.as_object().is_some_and(|part| part.keys().all(|key| key == "text" || key == "thought"))
}

fn ending(reason: Option<&str>) -> Ending {
    match reason {
        // Google ends calls with STOP; others that speak its protocol name them.
        Some("STOP" | "FUNCTION_CALL" | "FINISH_REASON_UNSPECIFIED") | None => Ending::Whole,
        Some("MAX_TOKENS") => Ending::Cut,
        Some(
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "BLOCK_REASON_UNSPECIFIED",
        ) => Ending::Filtered,
        // Such as a call that is no call; another try may do better.
        Some(other) => Ending::Failed(other.to_owned()),
    }
}
