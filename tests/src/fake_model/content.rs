//! Gemini's content: its server knows every field of a request, and refuses all others.

use std::sync::Arc;

use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::{Dialect, House, Memory, Refusal, Said, Shared, Usage, has_the_key, pieces};

const DIALECT: Dialect = Dialect { whole, events, end: "", check };

/// What Google takes instead of a signature.
const FOREIGN_CALL: &str = "skip_thought_signature_validator";

/// The fields of a schema.
const SCHEMA: [&str; 21] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "example",
    "anyOf",
    "propertyOrdering",
    "items",
    "minimum",
    "maximum",
];

/// `POST …/models/NAME:streamGenerateContent?alt=sse`; the model and the method are in the path.
pub(super) async fn generate(
    state: State<Arc<Shared>>,
    Path(call): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    axum::Json(mut request): axum::Json<Value>,
) -> Response {
    if !has_the_key(&headers) {
        let reason =
            json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"});
        let error = json!({"code": 400, "message": "API key not valid. Please pass a valid API key.",
                           "status": "INVALID_ARGUMENT", "details": [reason]});
        return (StatusCode::BAD_REQUEST, axum::Json(json!({"error": error}))).into_response();
    }
    let is_streamed = match (call.split_once(':'), query.as_deref()) {
        (Some((_, "streamGenerateContent")), Some("alt=sse")) => true,
        (Some((_, "generateContent")), _) => false,
        _ => return StatusCode::NOT_FOUND.into_response(),
    };
    if let Err(refusal) = check_fields(&request, "", &TOP) {
        return refusal.into_response();
    }
    // Where the other protocols have them.
    request["model"] = json!(call.split(':').next());
    request["stream"] = json!(is_streamed);
    super::reply(state, headers, axum::Json(request), &DIALECT).await
}

fn whole(said: &Said) -> Value {
    let end = if said.is_cut { "MAX_TOKENS" } else { "STOP" };
    event(said, &json!(parts(said)), Some(end))
}

/// A thought, then text, then calls, the first of which is signed; without calls an empty part is.
fn parts(said: &Said) -> Vec<Value> {
    let mut parts = Vec::new();
    let thought = said.thought.as_deref();
    if let Some(thought) = thought.filter(|thought| !thought.is_empty()) {
        parts.push(json!({"text": thought, "thought": true}));
    }
    if !said.text.is_empty() {
        parts.push(json!({"text": said.text}));
    }
    for (index, (name, arguments)) in said.calls.iter().enumerate() {
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_else(|_| json!({}));
        let mut part = json!({"functionCall": {"name": name, "args": arguments}});
        if said.house == House::Google {
            part["functionCall"]["id"] = json!(said.call_id(index));
        }
        if thought.is_some() && index == 0 {
            part["thoughtSignature"] = json!(said.signature(0));
        }
        parts.push(part);
    }
    if thought.is_some() && said.calls.is_empty() {
        parts.push(json!({"text": "", "thoughtSignature": said.signature(0)}));
    }
    parts
}

fn events(said: &Said) -> Vec<Value> {
    let mut streamed = Vec::new();
    for part in parts(said) {
        match part["text"].as_str().filter(|text| !text.is_empty()) {
            Some(text) => streamed.extend(pieces(text).into_iter().map(|piece| {
                let mut part = part.clone();
                part["text"] = json!(piece);
                part
            })),
            None => streamed.push(part),
        }
    }
    let end = if said.is_cut { "MAX_TOKENS" } else { "STOP" };
    let last = streamed.len().saturating_sub(1);
    let of_part = |(index, part): (usize, Value)| event(said, &json!([part]), (index == last).then_some(end));
    streamed.into_iter().enumerate().map(of_part).collect()
}

fn event(said: &Said, parts: &Value, finish_reason: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if let Some(reason) = finish_reason {
        candidate["finishReason"] = json!(reason);
    }
    let Usage { input, cached, output } = said.usage;
    let thoughts = output / 2;
    let usage = json!({
        "promptTokenCount": input,
        "cachedContentTokenCount": cached,
        "candidatesTokenCount": output - thoughts,
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": input + output,
    });
    json!({"candidates": [candidate], "usageMetadata": usage, "modelVersion": said.model, "responseId": "r"})
}

/// The fields of a message, and their content.
struct Fields(&'static [(&'static str, Option<&'static Fields>)]);

static TOP: Fields = Fields(&[
    ("contents", Some(&CONTENT)),
    ("systemInstruction", Some(&CONTENT)),
    ("tools", Some(&TOOL)),
    ("toolConfig", None),
    ("safetySettings", None),
    ("generationConfig", Some(&GENERATION)),
    ("cachedContent", None),
]);
static GENERATION: Fields = Fields(&[
    ("temperature", None),
    ("topP", None),
    ("topK", None),
    ("candidateCount", None),
    ("maxOutputTokens", None),
    ("stopSequences", None),
    ("responseMimeType", None),
    ("responseSchema", None),
    ("responseJsonSchema", None),
    ("seed", None),
    (
        "thinkingConfig",
        Some(&Fields(&[("includeThoughts", None), ("thinkingBudget", None), ("thinkingLevel", None)])),
    ),
]);
static CONTENT: Fields = Fields(&[("role", None), ("parts", Some(&PART))]);
static PART: Fields = Fields(&[
    ("text", None),
    ("thought", None),
    ("thoughtSignature", None),
    ("inlineData", Some(&Fields(&[("mimeType", None), ("data", None)]))),
    ("functionCall", Some(&Fields(&[("id", None), ("name", None), ("args", None)]))),
    ("functionResponse", Some(&Fields(&[("id", None), ("name", None), ("response", None), ("parts", None)]))),
]);
static TOOL: Fields = Fields(&[("functionDeclarations", Some(&FUNCTION))]);
static FUNCTION: Fields = Fields(&[("name", None), ("description", None), ("parameters", None)]);

fn check_fields(value: &Value, at: &str, fields: &Fields) -> Result<(), Refusal> {
    if let Value::Array(values) = value {
        let deeper = |(index, value): (usize, &Value)| check_fields(value, &format!("{at}[{index}]"), fields);
        return values.iter().enumerate().try_for_each(deeper);
    }
    value.as_object().into_iter().flatten().try_for_each(|(name, value)| {
        match fields.0.iter().find(|(known, _)| known == name) {
            None => Err(unknown(name, at)),
            Some((_, Some(inner))) => check_fields(value, &format!("{at}.{name}"), inner),
            Some((_, None)) if name == "parameters" => check_schema(value, &format!("{at}.parameters")),
            Some((_, None)) => Ok(()),
        }
    })
}

fn unknown(name: &str, at: &str) -> Refusal {
    let message =
        format!("Invalid JSON payload received. Unknown name \"{name}\" at '{at}': Cannot find field.");
    Refusal::of_google(&message)
}

fn check_schema(schema: &Value, at: &str) -> Result<(), Refusal> {
    let refuse = |what: &str| Err(Refusal::of_google(&format!("Invalid value at '{at}': {what}")));
    let Some(fields) = schema.as_object() else { return refuse("a schema is an object") };
    if let Some(name) = fields.keys().find(|name| !SCHEMA.contains(&name.as_str())) {
        return Err(unknown(name, at));
    }
    let properties = schema["properties"].as_object();
    match schema["type"].as_str() {
        None if schema["anyOf"].is_null() => {
            return refuse("Proto field is not repeating, cannot start list.");
        }
        Some("OBJECT") if properties.is_none_or(serde_json::Map::is_empty) => {
            return refuse("should be non-empty for OBJECT type");
        }
        Some("ARRAY") if schema["items"].is_null() => return refuse("items: missing field."),
        Some("STRING") if !matches!(schema["format"].as_str(), None | Some("enum" | "date-time")) => {
            return refuse("only 'enum' and 'date-time' are supported for STRING type");
        }
        _ => {}
    }
    let strings = |name: &str| schema[name].as_array().into_iter().flatten().all(Value::is_string);
    if !strings("enum") || !strings("required") {
        return refuse("(TYPE_STRING)");
    }
    let inner = properties.into_iter().flatten().map(|(_, schema)| schema);
    let inner = inner.chain(schema.get("items")).chain(schema["anyOf"].as_array().into_iter().flatten());
    inner.into_iter().try_for_each(|schema| check_schema(schema, at))
}

fn check(request: &Value, memory: &Memory) -> Result<(), Refusal> {
    let refuse = |message: &str| Err(Refusal::of_google(message));
    let contents = request["contents"].as_array().map_or(&[][..], Vec::as_slice);
    if contents.is_empty() {
        return refuse("* GenerateContentRequest.contents: contents is not specified");
    }
    let parts = |content: &Value, kind: &str| -> Vec<Value> {
        content["parts"].as_array().into_iter().flatten().filter_map(|part| part.get(kind)).cloned().collect()
    };
    let is_turn =
        |content: &Value| content["role"] == "user" && parts(content, "functionResponse").is_empty();
    let turn = contents.iter().rposition(is_turn).unwrap_or(0);
    for (index, content) in contents.iter().enumerate() {
        let calls = parts(content, "functionCall");
        if !calls.is_empty() {
            let answers =
                contents.get(index + 1).map(|next| parts(next, "functionResponse")).unwrap_or_default();
            let is_answered = |(call, answer): (&Value, &Value)| {
                call["name"] == answer["name"] && call["id"] == answer["id"] && answer["response"].is_object()
            };
            if answers.len() != calls.len() || !calls.iter().zip(&answers).all(is_answered) {
                return refuse(
                    "Please ensure that the number of function response parts is equal to \
                     the number of function call parts of the function call turn.",
                );
            }
        }
        let given = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
        let first = given.iter().find(|part| part.get("functionCall").is_some());
        if let Some(first) = first.filter(|first| index > turn && first.get("thoughtSignature").is_none()) {
            let name = &first["functionCall"]["name"];
            return refuse(&format!(
                "Function call is missing a thought_signature in functionCall parts. \
                 Additional data, function call {name}."
            ));
        }
        let signed = given.iter().filter(|part| part.get("thoughtSignature").is_some());
        for part in signed.filter(|part| part["thoughtSignature"] != FOREIGN_CALL) {
            let said = memory.signed(&part["thoughtSignature"]).filter(|said| request["model"] == said.model);
            if said.is_none_or(|said| !self::parts(said).contains(part)) {
                return refuse("Thought signature is not valid.");
            }
        }
    }
    Ok(())
}
