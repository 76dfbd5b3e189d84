//! Calls of Telegram's Bot API: one HTTP request each, and what it failed with. Of the updates, each is read
//! by itself: one that cannot be read must not hold up the others.
//!
//! Nothing here waits or tries again; the caller decides that. The bot's token is part of every address,
//! so no error is shown before the token was removed from it.

use std::sync::Arc;
use std::time::Duration;

use channel::reach::Reach;
use http_body_util::{BodyExt as _, Limited};
use process::{Secret, error_chain};
use reqwest::multipart::Form;
use reqwest::{RequestBuilder, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use teloxide::requests::Payload;
use teloxide::types::{Update, UpdateKind};

const PUBLIC: &str = "https://api.telegram.org";
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// How long a call may take that sends no file and waits for nothing.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How long a file of the largest size may take.
const DOWNLOAD_PATIENCE: Duration = Duration::from_secs(300);
/// The most that is read of a response: a hundred updates of the largest messages, with all they quote, take
/// less.
const MAX_RESPONSE_BYTES: usize = 8 << 20;
/// A longer description is not Telegram's.
const MAX_DESCRIPTION_CHARS: usize = 300;

/// A client for one bot.
#[derive(Clone)]
pub(super) struct Api {
    client: reqwest::Client,
    /// Ends with the bot's token.
    base: String,
    /// The same for files.
    files: String,
    token: Secret,
    reach: Arc<Reach>,
}

/// The most updates of one response.
pub(super) const BATCH: u8 = 100;

/// The kinds of updates that we want.
pub(super) const ALLOWED_UPDATES: [&str; 3] = ["message", "edited_message", "callback_query"];

/// An update, or the readable part of one that cannot be parsed.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) id: i64,
    pub(super) update: Option<Update>,
}

#[derive(Deserialize)]
struct Numbered {
    update_id: i64,
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallError {
    /// There was no answer, or none that Telegram makes.
    #[error("{words}")]
    NoAnswer {
        words: String,
        /// Whether Telegram may have carried the call out.
        may_be_done: bool,
    },
    #[error("{} ({})", .0.description, .0.code)]
    Refused(Refusal),
}

/// Telegram's answer to a call that it did not carry out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// An HTTP status.
    pub code: u16,
    pub description: String,
    /// When to try again.
    pub retry_after: Option<Duration>,
    /// The group is a supergroup now, with this number.
    pub migrated_to: Option<i64>,
}

/// A response as <https://core.telegram.org/bots/api#making-requests> has it.
#[derive(Deserialize)]
struct Response<T> {
    result: Option<T>,
    error_code: Option<u16>,
    description: Option<String>,
    #[serde(default)]
    parameters: Parameters,
}

#[derive(Default, Deserialize)]
struct Parameters {
    retry_after: Option<u64>,
    migrate_to_chat_id: Option<i64>,
}

impl Api {
    /// Creates the client; nothing is sent yet.
    pub(super) fn new(token: &Secret, url: Option<&reqwest::Url>) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_PATIENCE)
            .tcp_nodelay(true)
            .no_proxy()
            // The address holds the token, so neither a redirect nor its Referer may take it to another host.
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .build()?;
        let server = url.map_or(PUBLIC, |url| url.as_str().trim_end_matches('/'));
        let token_text = token.expose();
        let (base, files) = (format!("{server}/bot{token_text}"), format!("{server}/file/bot{token_text}"));
        Ok(Self { client, base, files, token: token.clone(), reach: Arc::default() })
    }

    /// Begins to download a file by the path that `getFile` has named.
    pub(super) async fn download(&self, path: &str) -> Result<reqwest::Response, CallError> {
        let no_answer = |error: reqwest::Error| self.unanswered(error);
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !path.split('/').all(is_plain) {
            return Err(self.no_answer("Telegram named a path that is none of its files".to_owned()));
        }
        let request = self.client.get(format!("{}/{path}", self.files)).timeout(DOWNLOAD_PATIENCE);
        let response = request.send().await.map_err(no_answer)?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status => Err(CallError::Refused(self.refusal::<()>(status, None))),
        }
    }

    /// Makes a call that takes at most [`PATIENCE`].
    pub(super) async fn call<P: Payload + Serialize>(&self, payload: &P) -> Result<P::Output, CallError>
    where
        P::Output: DeserializeOwned,
    {
        self.call_for(payload, PATIENCE).await
    }

    /// The updates from this offset on. Telegram may hold the request open for so long.
    ///
    /// `getUpdates` (<https://core.telegram.org/bots/api#getupdates>), with updates unread and numbers of any
    /// size, unlike the client's.
    pub(super) async fn updates(&self, offset: i64, hold: Duration) -> Result<Vec<Received>, CallError> {
        let request = json!({
            "offset": offset, "limit": BATCH, "timeout": hold.as_secs(), "allowed_updates": ALLOWED_UPDATES,
        });
        let updates: Vec<Box<RawValue>> = self.ask("GetUpdates", &request, hold + PATIENCE).await?;
        Ok(read(&updates))
    }

    /// Makes a call and reads of its result what `T` wants to know.
    pub(super) async fn call_for<P: Payload + Serialize, T: DeserializeOwned>(
        &self,
        payload: &P,
        patience: Duration,
    ) -> Result<T, CallError> {
        self.ask(P::NAME, payload, patience).await
    }

    /// The same for a method by its name, with these fields.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        fields: &impl Serialize,
        patience: Duration,
    ) -> Result<T, CallError> {
        self.send(self.request(method, patience).json(fields)).await
    }

    /// Makes a call that sends a file.
    pub(super) async fn upload<T: DeserializeOwned>(
        &self,
        method: &str,
        form: Form,
        patience: Duration,
    ) -> Result<T, CallError> {
        self.send(self.request(method, patience).multipart(form)).await
    }

    fn request(&self, method: &str, patience: Duration) -> RequestBuilder {
        self.client.post(format!("{}/{method}", self.base)).timeout(patience)
    }

    /// Whether Telegram can be reached.
    pub(super) fn reach(&self) -> Arc<Reach> {
        Arc::clone(&self.reach)
    }

    async fn send<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, CallError> {
        let answer = self.answer_to(request).await;
        match answer {
            Err(CallError::NoAnswer { .. }) => self.reach.failed(),
            Ok(_) | Err(CallError::Refused(_)) => self.reach.answered(),
        }
        answer
    }

    async fn answer_to<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, CallError> {
        let no_answer = |error: reqwest::Error| self.unanswered(error);
        let response = request.send().await.map_err(no_answer)?;
        let status = response.status();
        let body = Limited::new(reqwest::Body::from(response), MAX_RESPONSE_BYTES).collect().await;
        let body = body.map_err(|error| match error.downcast() {
            Ok(error) => no_answer(*error),
            Err(_) => self.no_answer(format!(
                "the response has more than {} MiB, so it is not from Telegram",
                MAX_RESPONSE_BYTES >> 20
            )),
        })?;
        match serde_json::from_slice::<Response<T>>(&body.to_bytes()) {
            Ok(Response { result: Some(result), .. }) if status.is_success() => Ok(result),
            Ok(Response { error_code: None, .. }) if status.is_success() => {
                Err(self.no_answer("the response has no result".to_owned()))
            }
            Err(error) if status.is_success() => {
                Err(self.no_answer(format!("invalid response, not from Telegram: {error}")))
            }
            answer => Err(CallError::Refused(self.refusal(status, answer.ok()))),
        }
    }

    /// A refusal without an answer that can be read is a proxy's.
    fn refusal<T>(&self, status: StatusCode, answer: Option<Response<T>>) -> Refusal {
        let (code, description, parameters) = match answer {
            Some(answer) => (answer.error_code, answer.description, answer.parameters),
            None => (None, None, Parameters::default()),
        };
        let description = match description {
            Some(text) => self.without_token(&text.chars().take(MAX_DESCRIPTION_CHARS).collect::<String>()),
            None => status.canonical_reason().unwrap_or("no reason was given").to_owned(),
        };
        Refusal {
            code: code.unwrap_or(status.as_u16()),
            description,
            retry_after: parameters.retry_after.map(Duration::from_secs),
            migrated_to: parameters.migrate_to_chat_id,
        }
    }

    /// A request that could not even connect has done nothing.
    fn unanswered(&self, error: reqwest::Error) -> CallError {
        let may_be_done = !error.is_connect();
        let words = self.without_token(&error_chain(&error.without_url()));
        CallError::NoAnswer { words, may_be_done }
    }

    fn no_answer(&self, words: String) -> CallError {
        CallError::NoAnswer { words: self.without_token(&words), may_be_done: true }
    }

    fn without_token(&self, words: &str) -> String {
        words.replace(self.token.expose(), "***")
    }
}

/// The updates of a response. One without a number is left out, because it cannot be confirmed; the next one
/// confirms it.
pub(super) fn read(updates: &[Box<RawValue>]) -> Vec<Received> {
    let read = |raw: &RawValue| match serde_json::from_str::<Numbered>(raw.get()) {
        Ok(Numbered { update_id: id }) => Some(Received { id, update: update(raw.get()) }),
        Err(error) => {
            tracing::error!(%error, "Telegram sent an update without a number; it is left out");
            None
        }
    };
    updates.iter().filter_map(|raw| read(raw)).collect()
}

fn update(json: &str) -> Option<Update> {
    let mut value: Value = serde_json::from_str(&with_whole_characters(json)).ok()?;
    // The client's type has 32 bits for it, and we have read it already.
    value["update_id"] = 0.into();
    for kind in ["message", "edited_message"] {
        if let Some(message) = value.get_mut(kind) {
            with_media_types(message);
        }
    }
    // The client reads an update from text alone: of a value, it loses the first field.
    let update: Update = serde_json::from_str(&value.to_string()).ok()?;
    (!matches!(update.kind, UpdateKind::Error(_))).then_some(update)
}

/// Telegram may leave out what type a file has, or say something else than a type, and the client reads no
/// such message.
fn with_media_types(message: &mut Value) {
    const DEFAULTS: [(&str, &str); 5] = [
        ("video", "video/mp4"),
        ("animation", "video/mp4"),
        ("audio", "audio/mpeg"),
        ("voice", "audio/ogg"),
        ("document", "application/octet-stream"),
    ];
    let is_type = |text: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c);
        let parts: Vec<&str> = text.split(';').next().unwrap_or_default().trim().split('/').collect();
        parts.len() == 2 && parts.iter().all(|part| !part.is_empty() && part.chars().all(is_plain))
    };
    for (field, default) in DEFAULTS {
        let Some(file) = message.get_mut(field).and_then(Value::as_object_mut) else { continue };
        if !file.get("mime_type").and_then(Value::as_str).is_some_and(is_type) {
            file.insert("mime_type".to_owned(), default.into());
        }
    }
    if let Some(replied) = message.get_mut("reply_to_message") {
        with_media_types(replied);
    }
}

/// Replaces each escaped half of a character without its other half, which no string can hold: `\ud83d`
/// alone becomes `\ufffd`.
fn with_whole_characters(json: &str) -> String {
    let mut whole = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let length = match (half(escape), escape.get(6..).and_then(half)) {
            (Some(Half::First), Some(Half::Second)) => 12,
            (Some(_), _) => {
                whole.push_str("\\ufffd");
                rest = &escape[6..];
                continue;
            }
            // The escaped character may itself be a backslash.
            (None, _) => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        whole.push_str(&escape[..length]);
        rest = &escape[length..];
    }
    whole.push_str(rest);
    whole
}

enum Half {
    First,
    Second,
}

/// Which half of a character an escape stands for, if it is at the start of this text.
fn half(text: &str) -> Option<Half> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_no_type_or_of_none_that_is_one_is_read() {
        for field in ["video", "animation", "audio", "voice", "document"] {
            for media_type in [None, Some(""), Some("video"), Some("a/b/c"), Some("vidéo/mp4")] {
                let mut file = json!({
                    "file_id": "f", "file_unique_id": "u", "duration": 1, "width": 1, "height": 1,
                });
                if let Some(media_type) = media_type {
                    file["mime_type"] = media_type.into();
                }
                let chat = json!({"id": 7, "type": "private", "first_name": "A"});
                let replied = json!({"message_id": 1, "date": 1, "chat": chat, field: file});
                let message = json!({
                    "message_id": 1, "date": 1, "chat": chat, "text": "what is it?",
                    "reply_to_message": replied,
                });
                for message in [replied, message] {
                    let raw = json!({"update_id": 1, "message": message}).to_string();
                    let update = update(&raw).unwrap();
                    let UpdateKind::Message(read) = &update.kind else { panic!("{update:?}") };
                    let read = read.reply_to_message().unwrap_or(read);
                    let found = read.video().is_some()
                        || read.animation().is_some()
                        || read.audio().is_some()
                        || read.voice().is_some()
                        || read.document().is_some();
                    assert!(found, "{field} of type {media_type:?}: {read:?}");
                }
            }
        }
    }

    #[test]
    fn halves_of_characters_are_replaced_and_whole_ones_stay() {
        for (json, expected) in [
            (r#""plain ä 😀""#, "plain ä 😀"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\ude00 and \uD83Dx""#, "\u{fffd} and \u{fffd}x"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
            (r#""\\ud83d""#, "\\ud83d"),
            (r#""\\\ud83d\n\"""#, "\\\u{fffd}\n\""),
        ] {
            assert_eq!(serde_json::from_str::<String>(&with_whole_characters(json)).unwrap(), expected);
        }
        // Text that is not JSON stays text.
        for broken in ["\\", "\\u", "\\ud8", "\\ud83", "ä\\"] {
            assert_eq!(with_whole_characters(broken), broken);
        }
    }
}
