//! The tool server's approvals, over its routes with the approver's token.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use process::Secret;
use protocol::{Envelope, EventId};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use store::decisions::Decision;
use tokio::sync::Notify;
use toolkit::approvals::Approval;

use super::events::{Events, EventsError};

/// A server that restarts is waited for; its socket keeps the request.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
pub(crate) struct Approvals {
    client: Client,
    server: String,
    token: Secret,
    /// Notified when tasks or decisions that are stored have to be looked at again.
    pub(crate) changed: Arc<Notify>,
}

/// What became of a decision.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    Taken(Box<Approval>),
    /// Somebody else was first, or the time was over, in words.
    Before(String),
    /// There is no such approval.
    Unknown,
    /// The tool server refused, in words.
    Failed(String),
    /// The tool server gave no answer.
    Unreachable,
}

#[derive(Deserialize)]
struct List {
    approvals: Vec<Approval>,
}

impl Approvals {
    /// Those of the tool server at this address.
    pub(crate) fn new(url: &str, token: Secret) -> Result<Self, reqwest::Error> {
        let client = Client::builder().no_proxy().build()?;
        Ok(Self { client, server: url.trim_end_matches('/').to_owned(), token, changed: Arc::default() })
    }

    /// A request for a path below `/approvals`.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}/approvals{path}", self.server));
        request.bearer_auth(self.token.expose())
    }

    /// A request about one of them; none if this is no ID, which could name another path.
    pub(crate) fn about(&self, method: Method, id: &str) -> Option<RequestBuilder> {
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        is_id.then(|| self.request(method, &format!("/{id}")))
    }

    /// Those that wait, the oldest first.
    pub(crate) async fn pending(&self) -> Result<Vec<Approval>, reqwest::Error> {
        let answer = self.request(Method::GET, "").query(&[("state", "pending")]).timeout(PATIENCE).send();
        let mut pending = answer.await?.error_for_status()?.json::<List>().await?.approvals;
        pending.sort_by_key(|one| one.created_at_ms);
        Ok(pending)
    }

    /// One of them; none if the tool server has forgotten it.
    pub(crate) async fn one(&self, id: &EventId) -> Result<Option<Approval>, reqwest::Error> {
        let Some(request) = self.about(Method::GET, id.as_str()) else { return Ok(None) };
        let answer = request.timeout(PATIENCE).send().await?;
        match answer.status() {
            StatusCode::NOT_FOUND => Ok(None),
            _ => answer.error_for_status()?.json().await.map(Some),
        }
    }

    /// What happens to them, from now on.
    pub(crate) async fn events(&self) -> Result<Events, EventsError> {
        let remote = self.request(Method::GET, "/stream").send().await?.error_for_status()?;
        let remote = remote.bytes_stream().map_ok(|bytes| bytes.to_vec()).boxed();
        Ok(Events { remote, begun: Vec::new() })
    }

    /// Passes a decision on.
    pub(crate) async fn decide(&self, decided: &Decision) -> Outcome {
        let (decision, scope) = decided.choice.decision();
        let mut body = json!({"decision": decision, "scope": scope, "by": decided.by});
        if let Some(reason) = &decided.reason {
            body["reason"] = reason.as_str().into();
        }
        let id = &decided.approval;
        let Some(request) = self.about(Method::POST, id) else { return Outcome::Unknown };
        match read(request.json(&body).timeout(PATIENCE)).await {
            Ok(outcome) => outcome,
            Err(error) => {
                let error = process::error_chain(&error.without_url());
                tracing::warn!(error, "the tool server did not take a decision");
                Outcome::Unreachable
            }
        }
    }
}

async fn read(request: RequestBuilder) -> Result<Outcome, reqwest::Error> {
    let answer = request.send().await?;
    let status = answer.status();
    if status.is_success() {
        return Ok(Outcome::Taken(Box::new(answer.json().await?)));
    }
    let envelope: Value = answer.json().await.unwrap_or_default();
    let error = serde_json::from_value::<Envelope>(envelope).ok().and_then(|envelope| envelope.meta.error);
    let words =
        error.map_or_else(|| format!("The tool server answered with {status}."), |error| error.message);
    Ok(match status {
        StatusCode::NOT_FOUND => Outcome::Unknown,
        StatusCode::CONFLICT => Outcome::Before(words),
        _ => Outcome::Failed(words),
    })
}
