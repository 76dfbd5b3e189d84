//! The tool server's approvals, over its routes with the approver's token: what waits, what happens, and what
//! was decided here.
//!
//! A decision is stored before it is passed on. The one who took it passes it on at once; one that they give
//! up, and one that a process that was killed had in hand, the follower passes on as soon as the tool server
//! answers.

use std::sync::Arc;
use std::time::Duration;

use protocol::{Envelope, EventId, now_ms};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use store::approvals::{self, Decision};
use store::{Store, StoreError};
use tokio::sync::Notify;
use tokio::time::timeout;
use toolkit::approvals::Approval;

use crate::event_stream::EventStream;
use crate::tool_client::ToolClient;

/// A server that restarts is waited for; its socket keeps the request.
const PATIENCE: Duration = Duration::from_secs(30);

/// Within this, the process that took a decision passes it on or gives it up.
const BY_WHOM_IT_WAS_TAKEN: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(crate) struct Approvals {
    client: ToolClient,
    /// Notified when tasks or decisions that are stored have to be looked at again.
    pub(crate) changed: Arc<Notify>,
}

/// What became of a decision.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    Taken(Box<Approval>),
    /// Somebody else was first, or the time was over.
    Before,
    /// There is no such approval.
    Unknown,
    /// The tool server refused, in words.
    Failed(String),
    /// The tool server gave no answer.
    Unreachable,
}

/// A decision could not be passed on now.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotPassedOn {
    #[error("a decision could not be passed on")]
    Unreachable,
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Deserialize)]
struct List {
    approvals: Vec<Approval>,
}

impl Approvals {
    /// Those of the tool server at this address.
    pub(crate) fn new(url: &str, token: &str) -> Result<Self, reqwest::Error> {
        Ok(Self { client: ToolClient::new(url, token)?, changed: Arc::default() })
    }

    /// A request for a path below `/approvals`.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, &format!("/approvals{path}"))
    }

    /// A request about one of them; none if this is no ID, which could name another path.
    pub(crate) fn about(&self, method: Method, id: &str) -> Option<RequestBuilder> {
        let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        is_id.then(|| self.request(method, &format!("/{id}")))
    }

    /// Those that the tool server knows, the oldest first; the query narrows them.
    pub(crate) async fn list(&self, query: &str) -> Result<Vec<Approval>, reqwest::Error> {
        let answer = self.request(Method::GET, query).timeout(PATIENCE).send();
        let mut listed = answer.await?.error_for_status()?.json::<List>().await?.approvals;
        listed.sort_by_key(|one| one.created_at_ms);
        Ok(listed)
    }

    /// One of them; none if the tool server has forgotten it.
    pub(super) async fn one(&self, id: &EventId) -> Result<Option<Approval>, reqwest::Error> {
        let Some(request) = self.about(Method::GET, id.as_str()) else { return Ok(None) };
        let answer = request.timeout(PATIENCE).send().await?;
        match answer.status() {
            StatusCode::NOT_FOUND => Ok(None),
            _ => answer.error_for_status()?.json().await.map(Some),
        }
    }

    /// What happens to them, from now on: it misses nothing since it was made.
    pub(super) async fn events(&self) -> Result<EventStream, reqwest::Error> {
        let answer = self.request(Method::GET, "/stream").send().await?.error_for_status()?;
        Ok(EventStream::of(answer))
    }

    /// Passes on a decision that has just been stored. If the tool server does not answer, the follower does
    /// it later; a decision about a call of another node, that node passes on.
    pub(crate) async fn pass_on(&self, store: &Store, decision: Decision) -> Outcome {
        let kept = decision.clone();
        match store.write(move |tx| approvals::is_ours(tx, &kept)).await {
            Ok(true) => {}
            Ok(false) => return Outcome::Unreachable,
            Err(error) => tracing::error!(%error, "could not read which node a decision is for"),
        }
        let decided = timeout(BY_WHOM_IT_WAS_TAKEN, self.decide(&decision)).await;
        let outcome = decided.unwrap_or(Outcome::Unreachable);
        let approval = decision.approval;
        let noted = if outcome == Outcome::Unreachable {
            let given_up = store.write_until_done(move |tx| approvals::give_up(tx, &approval)).await;
            self.changed.notify_one();
            given_up
        } else {
            // If this fails, it is passed on once more, and is too late.
            store.write_until_done(move |tx| approvals::remove(tx, &approval)).await
        };
        if let Err(error) = noted {
            tracing::error!(%error, "could not note what became of a decision");
        }
        outcome
    }

    /// Passes on all decisions that no other process has in hand, in a process that began at this time.
    pub(super) async fn pass_on_the_rest(&self, store: &Store, began_at_ms: i64) -> Result<(), NotPassedOn> {
        let by_others = i64::try_from(BY_WHOM_IT_WAS_TAKEN.as_millis()).unwrap_or(i64::MAX);
        let until = (now_ms() - by_others).max(began_at_ms);
        for decision in store.write(move |tx| approvals::to_pass_on(tx, until)).await? {
            match self.decide(&decision).await {
                Outcome::Unreachable => return Err(NotPassedOn::Unreachable),
                Outcome::Taken(_) | Outcome::Before | Outcome::Unknown => {}
                Outcome::Failed(why) => tracing::error!(why, "a decision was refused"),
            }
            store.write_until_done(move |tx| approvals::remove(tx, &decision.approval)).await?;
        }
        Ok(())
    }

    /// Has the tool server decide.
    pub(super) async fn decide(&self, decided: &Decision) -> Outcome {
        let (decision, scope) = decided.choice.decision();
        let mut body = json!({"decision": decision, "scope": scope, "by": decided.by});
        if let Some(reason) = &decided.reason {
            body["reason"] = reason.as_str().into();
        }
        if let Some(answer) = &decided.answer {
            body["answer"] = answer.as_str().into();
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
    let words = error.map_or_else(|| status.to_string(), |error| error.message);
    Ok(match status {
        StatusCode::NOT_FOUND => Outcome::Unknown,
        StatusCode::CONFLICT => Outcome::Before,
        _ => Outcome::Failed(words),
    })
}
