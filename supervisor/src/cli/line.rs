//! The line to the running supervisor: its control port, found through the data directory.

use reqwest::{Client, RequestBuilder};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::data_dir::DataDir;
use crate::tokens::{Tokens, TokensError};

/// Why the running supervisor did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
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
}

/// A way to ask.
pub struct Line {
    /// The client to make requests with.
    pub client: Client,
    tokens: Tokens,
    data: String,
}

impl Line {
    /// To the supervisor of a data directory, whether it runs or not.
    pub fn to(data: &DataDir) -> Result<Self, LineError> {
        let tokens = Tokens::read(&data.tokens())?;
        let client = Client::builder().no_proxy().build().map_err(LineError::Answer)?;
        Ok(Self { client, tokens, data: data.path().display().to_string() })
    }

    /// The address of a route.
    pub fn address(&self, path: &str) -> String {
        format!("{}{path}", self.tokens.control_url)
    }

    /// Sends a request with the token and reads its answer.
    pub async fn ask<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, LineError> {
        let answer = request.bearer_auth(&self.tokens.control_token).send().await.map_err(|error| {
            if error.is_connect() {
                LineError::NotRunning(self.tokens.control_url.clone(), self.data.clone())
            } else {
                LineError::Answer(error)
            }
        })?;
        if answer.status().is_success() {
            return answer.json().await.map_err(LineError::Answer);
        }
        let status = answer.status();
        let error: Value = answer.json().await.unwrap_or_default();
        let text = |field: &str| error["error"][field].as_str().unwrap_or_default().to_owned();
        Err(LineError::Refused(format!("{}. {} ({status})", text("message"), text("hint"))))
    }
}
