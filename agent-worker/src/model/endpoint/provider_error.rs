//! A provider's error object, and the error class that it stands for.
//!
//! Both protocols use much the same object, and servers that imitate them mix the words, so one function
//! reads all of them. The class comes from the status and from the words in the fields `type` and `code`.
//! Only a conversation that is too long has no such field everywhere: for it alone we compare the message
//! with the sentences that providers are known to write.

use std::time::Duration;

use serde_json::Value;

use crate::model::ModelErrorClass::{
    self, Auth, BadRequest, ContextTooLong, NoCredit, Overloaded, RateLimit,
};

/// How providers without a field for it report a conversation that is too long: the first two are
/// Anthropic's, the third comes from vLLM and from behind OpenRouter, the last is Google's.
const TOO_LONG: [&str; 4] = [
    "prompt is too long",
    "exceed context limit",
    "maximum context length",
    "exceeds the maximum number of tokens allowed",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::model) struct ProviderError {
    pub(in crate::model) class: ModelErrorClass,
    pub(in crate::model) message: String,
    /// The parameter that is refused.
    pub(in crate::model) param: Option<String>,
    /// How long to wait, where it is not in a header: Google's servers write it here.
    pub(in crate::model) wait: Option<Duration>,
}

impl ProviderError {
    pub(super) fn of_status(status: u16, body: &[u8]) -> Self {
        let parsed: Value = serde_json::from_slice(body).unwrap_or_default();
        // Google's server wraps the object in a list.
        let error = if parsed.is_array() { &parsed[0]["error"] } else { &parsed["error"] };
        let message = message(error);
        let message = message.unwrap_or_else(|| String::from_utf8_lossy(body).trim().to_owned());
        let class = match (by_words(error), by_status(status)) {
            // More specific than the status.
            (Some(word @ (ContextTooLong | Auth | NoCredit)), _) => word,
            (_, BadRequest) if is_too_long(&message) => ContextTooLong,
            (_, class) => class,
        };
        Self { class, message, ..Self::rest(error) }
    }

    /// Reads an error object that arrives instead of a reply, or of the rest of one.
    pub(in crate::model) fn in_reply(error: &Value) -> Self {
        let message = message(error).unwrap_or_else(|| error.to_string());
        let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        // A server that accepts a request and then fails is broken, unless it says otherwise.
        let class = by_words(error).or(status.map(by_status)).unwrap_or(Overloaded);
        let too_long = class == BadRequest && is_too_long(&message);
        let class = if too_long { ContextTooLong } else { class };
        Self { class, message, ..Self::rest(error) }
    }

    fn rest(error: &Value) -> Self {
        let param = error["param"].as_str().map(str::to_owned);
        let mut waits = details(error).filter_map(|detail| detail["retryDelay"].as_str()?.strip_suffix('s'));
        let wait = waits.find_map(|seconds| Duration::try_from_secs_f64(seconds.parse().ok()?).ok());
        Self { class: BadRequest, message: String::new(), param, wait }
    }
}

/// `{"message": …}` or just a string; a router adds the message of the provider behind it.
fn message(error: &Value) -> Option<String> {
    let message = error["message"].as_str().or(error.as_str())?;
    Some(match error["metadata"]["raw"].as_str() {
        Some(raw) => format!("{message}: {raw}"),
        None => message.to_owned(),
    })
}

/// Google's details: objects of many types.
fn details(error: &Value) -> impl Iterator<Item = &Value> {
    error["details"].as_array().into_iter().flatten()
}

fn by_words(error: &Value) -> Option<ModelErrorClass> {
    let fields = [&error["code"], &error["type"], &error["status"]].into_iter();
    fields.chain(details(error).map(|detail| &detail["reason"])).filter_map(Value::as_str).find_map(by_word)
}

fn by_word(word: &str) -> Option<ModelErrorClass> {
    Some(match word {
        "context_length_exceeded" | "exceed_context_size_error" | "request_too_large" => ContextTooLong,
        "insufficient_quota" | "billing_error" | "billing_not_active" => NoCredit,
        "invalid_api_key"
        | "authentication_error"
        | "permission_error"
        | "API_KEY_INVALID"
        | "UNAUTHENTICATED"
        | "PERMISSION_DENIED" => Auth,
        "rate_limit_exceeded" | "rate_limit_error" | "RESOURCE_EXHAUSTED" => RateLimit,
        "overloaded_error" | "server_error" | "api_error" | "timeout_error" | "unavailable_error"
        | "UNAVAILABLE" | "INTERNAL" | "DEADLINE_EXCEEDED" => Overloaded,
        "invalid_request_error" | "not_found_error" => BadRequest,
        _ => return None,
    })
}

fn by_status(status: u16) -> ModelErrorClass {
    match status {
        401 | 403 => Auth,
        402 => NoCredit,
        413 => ContextTooLong,
        429 => RateLimit,
        408 | 500..=599 => Overloaded,
        _ => BadRequest,
    }
}

fn is_too_long(message: &str) -> bool {
    TOO_LONG.iter().any(|words| message.contains(words))
}
