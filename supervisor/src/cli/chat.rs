//! `supervisor chat`: posts a message to the running supervisor and waits for the reply.

use std::time::Duration;

use clap::Args;
use reqwest::{Client, RequestBuilder};
use serde_json::Value;
use tokio::time::Instant;

use crate::control::messages::{MessageStatus, NewMessage};
use crate::data_dir::DataDir;
use crate::tokens::{Tokens, TokensError};

/// One request waits this long; the next goes on where it ended.
const WAIT_SECONDS: u64 = 30;

/// What `supervisor chat` takes.
#[derive(Debug, Args)]
pub struct ChatArguments {
    /// What to say.
    pub text: String,
    /// The conversation it belongs to.
    #[arg(long, default_value = "local", value_name = "NAME")]
    pub chat: String,
    /// How long to wait for the reply; the task goes on without you.
    #[arg(long, default_value_t = 900, value_name = "SECONDS")]
    pub wait: u64,
}

/// Why there is no reply.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// There are no tokens.
    #[error(transparent)]
    Tokens(#[from] TokensError),
    /// Nobody answers.
    #[error("no supervisor answers at {0} for {1}: start one with `supervisor run`")]
    NotRunning(String, String),
    /// The answer is an error.
    #[error("the supervisor refused: {0}")]
    Refused(String),
    /// The answer could not be read.
    #[error("the supervisor's answer could not be read")]
    Answer(#[source] reqwest::Error),
    /// The time is over.
    #[error("there is no reply after {0} s; task {1} goes on, and `supervisor tree --task {1}` shows it")]
    TooLate(u64, String),
}

/// Sends the message and waits until its task has ended.
pub async fn chat(data: &DataDir, arguments: ChatArguments) -> Result<MessageStatus, ChatError> {
    let line = Line::to(data)?;
    let deadline = Instant::now() + Duration::from_secs(arguments.wait);
    let message = NewMessage { text: arguments.text, chat: arguments.chat };
    let mut status = line.ask(line.client.post(line.address("/messages")).json(&message)).await?;
    while matches!(status.status.as_str(), "queued" | "in_progress") {
        let left = deadline.saturating_duration_since(Instant::now()).as_secs();
        if left == 0 {
            return Err(ChatError::TooLate(arguments.wait, status.task_id.to_string()));
        }
        let path = format!("/messages/{}?wait_seconds={}", status.task_id, left.min(WAIT_SECONDS));
        status = line.ask(line.client.get(line.address(&path))).await?;
    }
    Ok(status)
}

struct Line {
    client: Client,
    tokens: Tokens,
    data: String,
}

impl Line {
    fn to(data: &DataDir) -> Result<Self, ChatError> {
        let tokens = Tokens::read(&data.tokens())?;
        let client = Client::builder().no_proxy().build().map_err(ChatError::Answer)?;
        Ok(Self { client, tokens, data: data.path().display().to_string() })
    }

    fn address(&self, path: &str) -> String {
        format!("{}{path}", self.tokens.control_url)
    }

    async fn ask(&self, request: RequestBuilder) -> Result<MessageStatus, ChatError> {
        let answer = request.bearer_auth(&self.tokens.control_token).send().await.map_err(|error| {
            if error.is_connect() {
                ChatError::NotRunning(self.tokens.control_url.clone(), self.data.clone())
            } else {
                ChatError::Answer(error)
            }
        })?;
        if answer.status().is_success() {
            return answer.json().await.map_err(ChatError::Answer);
        }
        let status = answer.status();
        let error: Value = answer.json().await.unwrap_or_default();
        let text = |field: &str| error["error"][field].as_str().unwrap_or_default().to_owned();
        Err(ChatError::Refused(format!("{} {} ({status})", text("message"), text("hint"))))
    }
}
