//! Requests to the tool server, with the token of who asks.

use process::Secret;
use reqwest::{Client, Method, RequestBuilder};

#[derive(Debug, Clone)]
pub(crate) struct ToolClient {
    client: Client,
    server: String,
    token: Secret,
}

impl ToolClient {
    /// For the server at this address. Nothing is sent yet.
    pub(crate) fn new(url: &str, token: &str) -> Result<Self, reqwest::Error> {
        let client = Client::builder().no_proxy().build()?;
        Ok(Self { client, server: url.trim_end_matches('/').to_owned(), token: Secret::from(token) })
    }

    /// A request for a path, which begins with `/`.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.without_token(method, path).bearer_auth(self.token.expose())
    }

    pub(crate) fn without_token(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.server))
    }
}
