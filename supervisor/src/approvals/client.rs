//! All approvals: those of the tool server, over its routes with the approver's token, and our own.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use process::Secret;
use protocol::{Envelope, EventId};
use reqwest::{Client, Method, RequestBuilder, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;
use toolkit::approvals::{Approval, ApprovalState, Approvals as Own, DecideError, NewDecision};

use super::events::{Events, EventsError};
use crate::store::decisions::Decision;

/// A server that restarts is waited for; its socket keeps the request.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone)]
pub(crate) struct Approvals {
    client: Client,
    server: String,
    token: Secret,
    /// Those of the tools that the supervisor runs.
    own: Arc<Own>,
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
    /// Those of the tool server at this address, and our own.
    pub(crate) fn new(url: &str, token: Secret, own: Arc<Own>) -> Result<Self, reqwest::Error> {
        let client = Client::builder().no_proxy().build()?;
        Ok(Self { client, server: url.trim_end_matches('/').to_owned(), token, own, changed: Arc::default() })
    }

    /// Those of the tools that the supervisor runs.
    pub(crate) fn own(&self) -> &Arc<Own> {
        &self.own
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
        let own = self.own.list().into_iter().filter(|one| one.state == ApprovalState::Pending);
        pending.extend(own.map(|one| (*one).clone()));
        pending.sort_by_key(|one| one.created_at_ms);
        Ok(pending)
    }

    /// One of them; none if the tool server has forgotten it.
    pub(crate) async fn one(&self, id: &EventId) -> Result<Option<Approval>, reqwest::Error> {
        if let Some(own) = self.own.get(id) {
            return Ok(Some((*own).clone()));
        }
        let Some(request) = self.about(Method::GET, id.as_str()) else { return Ok(None) };
        let answer = request.timeout(PATIENCE).send().await?;
        match answer.status() {
            StatusCode::NOT_FOUND => Ok(None),
            _ => answer.error_for_status()?.json().await.map(Some),
        }
    }

    /// What happens to them, from now on.
    pub(crate) async fn events(&self) -> Result<Events, EventsError> {
        let own = self.own.subscribe();
        let remote = self.request(Method::GET, "/stream").send().await?.error_for_status()?;
        let remote = remote.bytes_stream().map_ok(|bytes| bytes.to_vec()).boxed();
        Ok(Events { remote, own, closing: self.own.watch_closing(), begun: Vec::new() })
    }

    /// Decides about one of our own; none if it is not ours.
    pub(crate) async fn decide_own(
        &self,
        id: &str,
        decision: NewDecision,
    ) -> Option<Result<Arc<Approval>, DecideError>> {
        let id: EventId = id.parse().ok()?;
        self.own.get(&id)?;
        let own = Arc::clone(&self.own);
        let decided = tokio::task::spawn_blocking(move || own.decide(&id, decision)).await;
        Some(decided.unwrap_or_else(|error| Err(DecideError::Io(error.into()))))
    }

    /// Passes a decision on.
    pub(crate) async fn decide(&self, decided: &Decision) -> Outcome {
        let (decision, scope) = decided.choice.decision();
        let mut body = json!({"decision": decision, "scope": scope, "by": decided.by});
        if let Some(reason) = &decided.reason {
            body["reason"] = reason.as_str().into();
        }
        let id = &decided.approval;
        if let Ok(new) = NewDecision::parse(fields(&body))
            && let Some(decided) = self.decide_own(id, new).await
        {
            return outcome_of(id, decided);
        }
        let Some(request) = self.about(Method::POST, id) else { return Outcome::Unknown };
        match read(request.json(&body).timeout(PATIENCE)).await {
            Ok(outcome) => outcome,
            Err(error) => {
                let error = crate::error_chain::error_chain(&error.without_url());
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

fn fields(body: &Value) -> Map<String, Value> {
    body.as_object().cloned().unwrap_or_default()
}

fn outcome_of(id: &str, decided: Result<Arc<Approval>, DecideError>) -> Outcome {
    match decided {
        Ok(own) => Outcome::Taken(Box::new((*own).clone())),
        Err(error) => {
            let is_late = matches!(error, DecideError::Decided(_));
            let words = error.answer(id).meta.error.map(|error| error.message).unwrap_or_default();
            if is_late { Outcome::Before(words) } else { Outcome::Failed(words) }
        }
    }
}
