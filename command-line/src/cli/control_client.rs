//! A client for the control port of the running supervisor, found through the data directory.

use reqwest::{Client, RequestBuilder};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::CommandError;
use supervisor::data_dir::DataDir;
use supervisor::tokens::Tokens;

/// Sends one request with this body to the supervisor of a data directory, and reads the response.
pub(super) async fn post<T: DeserializeOwned>(
    data: &DataDir,
    path: &str,
    body: &impl Serialize,
) -> Result<T, CommandError> {
    let client = ControlClient::new(data)?;
    client.send(client.post(path).json(body)).await
}

/// Sends requests to one supervisor.
pub(super) struct ControlClient {
    client: Client,
    tokens: Tokens,
    data: String,
}

impl ControlClient {
    /// A client for the supervisor of a data directory, whether or not it is running.
    pub(super) fn new(data: &DataDir) -> Result<Self, CommandError> {
        let tokens = Tokens::read(&data.tokens())?;
        let client = Client::builder().no_proxy().build()?;
        Ok(Self { client, tokens, data: data.path().display().to_string() })
    }

    pub(super) fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.tokens.control_url))
    }

    pub(super) fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.tokens.control_url))
    }

    /// Sends a request with the token and reads the response.
    pub(super) async fn send<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, CommandError> {
        let response = request.bearer_auth(&self.tokens.control_token).send().await.map_err(|error| {
            if error.is_connect() {
                CommandError::NotRunning(self.tokens.control_url.clone(), self.data.clone())
            } else {
                CommandError::Response(error)
            }
        })?;
        if response.status().is_success() {
            return response.json().await.map_err(CommandError::Response);
        }
        let status = response.status();
        let error: Value = response.json().await.unwrap_or_default();
        // The tool server's answers are envelopes.
        let error = if error["error"].is_null() { &error["meta"]["error"] } else { &error["error"] };
        let text = |field: &str| error[field].as_str().unwrap_or_default().to_owned();
        Err(CommandError::Refused(format!("{}. {} ({status})", text("message"), text("hint"))))
    }
}
