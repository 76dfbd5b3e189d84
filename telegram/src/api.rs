//! Calls of Telegram's Bot API: one HTTP request each, and what it failed with.
//!
//! Nothing here waits or tries again; the caller decides that. The bot's token is part of every address,
//! so no error is shown before the token was removed from it.

use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use process::{Secret, error_chain};
use reqwest::multipart::Form;
use reqwest::{RequestBuilder, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use teloxide::requests::Payload;

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
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallError {
    /// There was no answer, or none that Telegram makes.
    NoAnswer(String),
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
        Ok(Self { client, base, files, token: token.clone() })
    }

    /// Begins to download a file by the path that `getFile` has named.
    pub(super) async fn download(&self, path: &str) -> Result<reqwest::Response, CallError> {
        let no_answer = |error: reqwest::Error| self.no_answer(error_chain(&error.without_url()));
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

    /// Makes a call and reads of its result what `T` wants to know.
    pub(super) async fn call_for<P: Payload + Serialize, T: DeserializeOwned>(
        &self,
        payload: &P,
        patience: Duration,
    ) -> Result<T, CallError> {
        self.send(self.request(P::NAME, patience).json(payload)).await
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

    async fn send<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, CallError> {
        let no_answer = |error: reqwest::Error| self.no_answer(error_chain(&error.without_url()));
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

    fn no_answer(&self, words: String) -> CallError {
        CallError::NoAnswer(self.without_token(&words))
    }

    fn without_token(&self, words: &str) -> String {
        words.replace(self.token.expose(), "***")
    }
}

impl std::fmt::Display for CallError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoAnswer(words) => formatter.write_str(words),
            Self::Refused(Refusal { code, description, .. }) => {
                write!(formatter, "{description} ({code})")
            }
        }
    }
}
