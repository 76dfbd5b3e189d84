//! One model as the settings describe it: its provider, its abilities, and additions to its requests.
//!
//! Each value checks itself when it is read, so that an error stands at the line of its file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use settings::Provider;
use settings::choices::{Effort, PromptForm};
use settings::table::{MODEL_API_KEY, MODEL_CONTEXT_TOKENS, MODEL_MAX_OUTPUT_TOKENS, MODEL_TEMPERATURE};

/// What the worker itself puts into a request, whatever the protocol.
const OWN_FIELDS: [&str; 8] = [
    "contents", "input", "instructions", "messages", "system", "systemInstruction", "system_instruction",
    "tools",
];

/// What the connection decides about.
const OWN_HEADERS: [HeaderName; 4] = [CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING];

/// A model: a `[[model]]` of `models.toml`, or what the variables say.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// How the settings call it.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// Which protocol its server speaks.
    #[serde(deserialize_with = "provider")]
    pub provider: Provider,
    /// How its server calls it; its name if absent.
    pub model: Option<String>,
    /// Where its server is; the provider's own address if absent.
    #[serde(default, deserialize_with = "base_url")]
    pub base_url: Option<Url>,
    /// The variable with its key.
    #[serde(default, deserialize_with = "key_variable")]
    pub api_key_env: Option<String>,
    /// The file with its key, absolute or relative to that of `models.toml`.
    pub api_key_file: Option<PathBuf>,
    /// Its window for prompt, tools, conversation and reply.
    #[serde(default = "default_context_tokens", deserialize_with = "context_tokens")]
    pub context_tokens: u64,
    /// The longest reply; the provider's own limit if absent.
    #[serde(default, deserialize_with = "output_tokens")]
    pub max_output_tokens: Option<u64>,
    /// Whether it sees images; if absent, it does when the provider's own server has it.
    pub vision: Option<bool>,
    /// How much it thinks; its own default if absent.
    pub reasoning_effort: Option<Effort>,
    /// How much chance there is in its replies; its own default if absent.
    #[serde(default, deserialize_with = "temperature")]
    pub temperature: Option<f64>,
    /// Merged into the body of each request at the end.
    #[serde(default)]
    pub extra_body: ExtraBody,
    /// Added to each request at the end.
    #[serde(default)]
    pub extra_headers: ExtraHeaders,
    /// What its tokens cost.
    pub prices: Option<Prices>,
    /// The chats in which it always answers, as `telegram:4711` or, for a topic, `telegram:-100:7`.
    #[serde(default)]
    pub chats: Vec<String>,
    /// The form of its prompt; by its size and its window if absent.
    pub prompt: Option<PromptForm>,
}

impl ModelEntry {
    /// A model about which only this is said.
    pub fn new(name: impl Into<String>, provider: Provider) -> Self {
        Self {
            name: name.into(),
            provider,
            model: None,
            base_url: None,
            api_key_env: None,
            api_key_file: None,
            context_tokens: default_context_tokens(),
            max_output_tokens: None,
            vision: None,
            reasoning_effort: None,
            temperature: None,
            extra_body: ExtraBody::default(),
            extra_headers: ExtraHeaders::default(),
            prices: None,
            chats: Vec::new(),
            prompt: None,
        }
    }

    /// The fault of the settings together, although each is valid.
    pub(super) fn contradiction(&self) -> Option<String> {
        if self.api_key_env.is_some() && self.api_key_file.is_some() {
            return Some("api_key_env and api_key_file are both set: keep one".to_owned());
        }
        if let Some(chat) = self.chats.iter().find(|chat| !is_chat(chat)) {
            let form = "CHANNEL:CHAT, such as \"telegram:4711\" or, for a topic, \"telegram:-100:7\"";
            return Some(format!("chats has {chat:?}: expected {form}"));
        }
        let longest = self.context_tokens / 2;
        match self.max_output_tokens {
            Some(tokens) if tokens > longest => Some(format!(
                "max_output_tokens is {tokens}: expected at most {longest}, half of context_tokens"
            )),
            Some(_) | None => None,
        }
    }
}

/// Whether a text has the form of a chat: a channel, then what its chats are called.
fn is_chat(text: &str) -> bool {
    text.split_once(':').is_some_and(|(channel, chat)| !channel.is_empty() && !chat.is_empty())
        && !text.contains(char::is_whitespace)
}

/// Fields for the body of each request, merged as a JSON merge patch (RFC 7396): objects are merged, anything
/// else replaces what was there, and null removes it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct ExtraBody(Map<String, Value>);

impl TryFrom<Map<String, Value>> for ExtraBody {
    type Error = String;

    fn try_from(fields: Map<String, Value>) -> Result<Self, String> {
        if let Some(own) = OWN_FIELDS.iter().find(|own| fields.contains_key(**own)) {
            return Err(format!("extra_body must not have {own:?}, which the worker fills in"));
        }
        if fields.values().any(is_date) {
            return Err("extra_body has a date, which JSON has not: put it in quotes".to_owned());
        }
        Ok(Self(fields))
    }
}

impl ExtraBody {
    /// Merges these fields into a body.
    pub fn merge_into(&self, body: &mut Value) {
        if let Some(body) = body.as_object_mut() {
            merge(body, &self.0);
        }
    }
}

fn merge(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match (value, target.get_mut(name)) {
            (Value::Null, _) => drop(target.remove(name)),
            (Value::Object(patch), Some(Value::Object(inner))) => merge(inner, patch),
            (Value::Object(patch), _) => {
                let mut inner = Map::new();
                merge(&mut inner, patch);
                target.insert(name.clone(), Value::Object(inner));
            }
            (_, _) => drop(target.insert(name.clone(), value.clone())),
        }
    }
}

/// How the TOML parser hands a date on.
fn is_date(value: &Value) -> bool {
    match value {
        Value::Object(fields) => {
            fields.contains_key("$__toml_private_datetime") || fields.values().any(is_date)
        }
        Value::Array(values) => values.iter().any(is_date),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Headers for each request. They may hold keys, so they do not print.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>")]
pub struct ExtraHeaders(HeaderMap);

impl TryFrom<BTreeMap<String, String>> for ExtraHeaders {
    type Error = String;

    fn try_from(texts: BTreeMap<String, String>) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in texts {
            let header =
                HeaderName::try_from(&name).map_err(|_| format!("{name:?} is not a header's name"))?;
            if OWN_HEADERS.contains(&header) {
                return Err(format!("the header {name:?} is the connection's own: leave it out"));
            }
            let mut value = HeaderValue::try_from(&value).map_err(|_| {
                format!("the value of the header {name:?} has a character that headers cannot have")
            })?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        Ok(Self(headers))
    }
}

impl ExtraHeaders {
    /// The headers; their values are marked as sensitive.
    pub fn headers(&self) -> &HeaderMap {
        &self.0
    }
}

/// The price of a million tokens, in the currency in which the operator counts.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Input that no cache had.
    #[serde(deserialize_with = "price")]
    pub input: f64,
    /// Input from the provider's cache; as other input if absent.
    #[serde(default, deserialize_with = "optional_price")]
    pub cached_input: Option<f64>,
    /// Output, thinking included.
    #[serde(deserialize_with = "price")]
    pub output: f64,
}

fn default_context_tokens() -> u64 {
    MODEL_CONTEXT_TOKENS.default_value()
}

/// Reads a value of type `T` and turns it into another one, or says which values are expected.
fn checked<'de, D, T, U>(value: D, check: impl FnOnce(T) -> Result<U, String>) -> Result<U, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    check(T::deserialize(value)?).map_err(serde::de::Error::custom)
}

fn name<'de, D: serde::Deserializer<'de>>(value: D) -> Result<String, D::Error> {
    checked(value, |name: String| {
        let is_plain = !name.is_empty() && name.trim() == name && !name.contains([',', '\n']);
        is_plain.then_some(name).ok_or_else(|| "a name must not be empty or have a comma in it".to_owned())
    })
}

fn provider<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Provider, D::Error> {
    checked(value, |name: String| {
        let names = || Provider::ALL.map(Provider::name).join(", ");
        Provider::by_name(&name)
            .ok_or_else(|| format!("unknown provider {name:?}: expected one of {}", names()))
    })
}

fn base_url<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Url>, D::Error> {
    checked(value, |text: String| {
        settings::base_url(&text).map(Some).map_err(|right| format!("expected {right}"))
    })
}

/// Our own variables are refused, or the bot's token could be sent to a model's server.
fn key_variable<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    checked(value, |name: String| {
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
            && !name.as_bytes()[0].is_ascii_digit();
        if !is_name {
            return Err("expected the name of a variable, such as GROQ_API_KEY; the key itself stays in it"
                .to_owned());
        }
        if name.starts_with("AUTONOUS_") && name != MODEL_API_KEY.name() {
            return Err(format!(
                "{name} holds no model's key: expected another variable, or {}",
                MODEL_API_KEY.name()
            ));
        }
        Ok(Some(name))
    })
}

fn context_tokens<'de, D: serde::Deserializer<'de>>(value: D) -> Result<u64, D::Error> {
    checked(value, |tokens: i64| {
        MODEL_CONTEXT_TOKENS.parse(&tokens.to_string()).map_err(|right| not(&right, tokens))
    })
}

fn output_tokens<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<u64>, D::Error> {
    checked(value, |tokens: i64| {
        MODEL_MAX_OUTPUT_TOKENS.parse(&tokens.to_string()).map(Some).map_err(|right| not(&right, tokens))
    })
}

fn not(right: &str, number: i64) -> String {
    format!("expected {right}, not {number}")
}

fn temperature<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<f64>, D::Error> {
    checked(value, |Number(number)| {
        MODEL_TEMPERATURE.parse(&number.to_string()).map(Some).map_err(|right| format!("expected {right}"))
    })
}

fn price<'de, D: serde::Deserializer<'de>>(value: D) -> Result<f64, D::Error> {
    checked(value, |Number(price)| {
        let is_price = price.is_finite() && price >= 0.0;
        is_price.then_some(price).ok_or_else(|| "expected a price per million tokens, at least 0".to_owned())
    })
}

fn optional_price<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<f64>, D::Error> {
    price(value).map(Some)
}

/// A number that may be written without a point.
#[derive(Deserialize)]
struct Number(f64);
