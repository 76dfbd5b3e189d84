//! The tool server on another machine. This one connects to it, and never the other way round.
//!
//! A port of this machine leads there, so that all who call tools need not know of it ([`http_port::tunnel`]).
//! Its journal is copied, its requests for effects are fetched and answered, and health says whether it answers.

mod copied_files;
mod effects;
mod journal_copy;
mod settings;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use http_port::FarEnd;
use process::Secret;
use reqwest::RequestBuilder;
use store::Store;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::children::ChildState;
use crate::children::tool_health::ToolHealth;
use crate::effects::Effects;
use crate::journal::{CopyRequest, Journal};
use effects::Relay;
use journal_copy::JournalCopy;

pub(crate) use settings::FarSettings;

/// What of it does not work at the moment, in words.
#[derive(Debug, Clone, Default)]
pub(crate) struct Troubles(Arc<Mutex<BTreeMap<&'static str, String>>>);

impl Troubles {
    fn set(&self, name: &'static str, trouble: Option<String>) {
        let mut troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match trouble {
            Some(trouble) => troubles.insert(name, trouble.clone()).filter(|known| *known == trouble),
            None => return drop(troubles.remove(name)),
        };
        if known.is_none() {
            tracing::warn!(error = troubles[name], "{name} of the tool server elsewhere cannot be reached");
        }
    }

    /// Each with its name.
    pub(crate) fn in_words(&self) -> Option<String> {
        let troubles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let parts: Vec<_> = troubles.iter().map(|(name, trouble)| format!("{name}: {trouble}")).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Where it is, for health.
#[derive(Debug, Clone)]
pub(crate) struct Elsewhere {
    pub(crate) url: String,
    pub(crate) troubles: Troubles,
}

/// Asks it as the approver, through the port of this machine.
#[derive(Debug, Clone)]
struct Client {
    http: reqwest::Client,
    url: String,
    approver_token: Secret,
}

impl Client {
    fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("{}{path}", self.url)).bearer_auth(self.approver_token.expose())
    }

    fn post(&self, path: &str) -> RequestBuilder {
        self.http.post(format!("{}{path}", self.url)).bearer_auth(self.approver_token.expose())
    }
}

/// The parts that work while the supervisor runs.
#[derive(Debug, Clone)]
pub(crate) struct FarToolServer {
    client: Client,
    pub(crate) elsewhere: Elsewhere,
}

impl FarToolServer {
    /// The one with these settings, behind a port of this machine.
    pub(crate) fn new(settings: &FarSettings, port: &str) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        let approver_token = settings.approver_token.clone();
        let elsewhere = Elsewhere { url: settings.address(), troubles: Troubles::default() };
        Ok(Self { client: Client { http, url: port.to_owned(), approver_token }, elsewhere })
    }

    /// Leads connections of the port there until `stop`.
    pub(crate) async fn tunnel(self, port: TcpListener, far: Arc<FarEnd>, stop: CancellationToken) {
        let port = match tokio::net::TcpListener::from_std(port) {
            Ok(port) => port,
            Err(error) => return tracing::error!(%error, "the tool server's port cannot be used"),
        };
        let (trouble, mut seen) = watch::channel(None);
        tokio::select! {
            () = stop.cancelled() => {}
            () = http_port::tunnel(port, far, trouble) => {}
            () = async {
                while seen.changed().await.is_ok() {
                    let trouble = seen.borrow_and_update().clone();
                    self.elsewhere.troubles.set("the connection", trouble);
                }
                std::future::pending().await
            } => {}
        }
    }

    /// Copies its journal until `stop`, for a follower of the copy. Returns the handle with which its readers
    /// wait until all is copied.
    pub(crate) fn copy_journal(
        &self,
        journal: PathBuf,
        store: Store,
        follower: Journal,
        stop: CancellationToken,
    ) -> (Journal, impl Future<Output = ()> + Send + 'static) {
        let (requests, incoming): (_, mpsc::Receiver<CopyRequest>) = mpsc::channel(64);
        let copy = JournalCopy {
            journal,
            client: self.client.clone(),
            store,
            follower: follower.clone(),
            troubles: self.elsewhere.troubles.clone(),
            unsettled: None,
        };
        (follower.of_copy(requests), copy.keep(incoming, stop))
    }

    /// Answers what its tools ask of the supervisor, until `stop`.
    pub(crate) async fn answer_effects(self, effects: Effects, stop: CancellationToken) {
        let troubles = self.elsewhere.troubles.clone();
        Relay { client: self.client, effects, troubles }.serve(stop).await;
    }

    /// Says how it is, until `stop`.
    pub(crate) async fn watch(
        self,
        mut health: ToolHealth,
        state: watch::Sender<ChildState>,
        stop: CancellationToken,
    ) {
        let watching = async {
            loop {
                health.until_ready().await;
                health.report_commands().await;
                state.send_replace(ChildState::ready());
                health.until_silent(&state).await;
                tracing::error!(url = self.elsewhere.url, "the tool server elsewhere gives no answer");
                state.send_replace(ChildState::Restarting);
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = watching => {}
        }
    }
}
