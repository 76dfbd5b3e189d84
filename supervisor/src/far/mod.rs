//! The tool server on another machine. This one connects to it, and never the other way round.
//!
//! A port of this machine leads there, so that all who call tools need not know of it
//! ([`http_port::tunnel`]). Its journal is copied, its requests for effects are fetched and answered, and
//! health says whether it answers.

mod copied_files;
mod effects;
mod journal_copy;
mod settings;

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use http_port::FarEnd;
use reqwest::{Method, Response, StatusCode};
use store::Store;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::children::ChildState;
use crate::children::tool_health::ToolHealth;
use crate::effects::Effects;
use crate::elsewhere::{Elsewhere, Troubles};
use crate::journal::{CopyRequest, Journal};
use crate::tokens::Tokens;
use crate::tool_client::ToolClient;
use effects::Relay;
use journal_copy::JournalCopy;

pub use settings::FarSettings;

/// The pause after a failure; it doubles from there.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A server that lives says so three times within this.
const SILENCE: Duration = Duration::from_secs(50);

/// The pause after this one, which begins again after a success.
fn next_pause(pause: Duration, has_worked: bool) -> Duration {
    if has_worked { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) }
}

/// How long an output may take on its way.
const OUTPUT_PATIENCE: Duration = Duration::from_secs(30);

/// The parts that work while the supervisor runs.
#[derive(Debug, Clone)]
pub(crate) struct FarToolServer {
    /// Asks it as the approver, through the port of this machine.
    client: ToolClient,
    pub(crate) elsewhere: Elsewhere,
}

impl FarToolServer {
    /// The one with these settings, behind the port of this machine.
    pub(crate) fn new(settings: &FarSettings, tokens: &Tokens) -> Result<Self, reqwest::Error> {
        let elsewhere = Elsewhere { url: settings.address(), troubles: Troubles::default() };
        Ok(Self { client: ToolClient::new(&tokens.tool_url, &tokens.approver_token)?, elsewhere })
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

    /// Whether it keeps an output with this name.
    pub(crate) async fn has_output(&self, name: &str) -> bool {
        self.ask_for_output(name).await.is_ok_and(|answer| answer.status() == StatusCode::OK)
    }

    /// An output that it keeps; none if it is gone.
    pub(crate) async fn output(&self, name: &str, most_bytes: usize) -> io::Result<Option<Vec<u8>>> {
        let failed = |error: reqwest::Error| io::Error::other(error.without_url());
        let answer = self.ask_for_output(name).await.map_err(failed)?;
        match answer.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND => return Ok(None),
            status => return Err(io::Error::other(format!("the tool server answered with HTTP {status}"))),
        }
        let (mut pieces, mut output) = (answer.bytes_stream(), Vec::new());
        while let Some(piece) = pieces.next().await.transpose().map_err(failed)? {
            output.extend_from_slice(&piece);
            if output.len() > most_bytes {
                return Err(io::Error::other("the output is larger than any that a tool server keeps"));
            }
        }
        Ok(Some(output))
    }

    async fn ask_for_output(&self, name: &str) -> reqwest::Result<Response> {
        let request = self.client.request(Method::GET, &format!("/journal/outputs/{name}"));
        request.timeout(OUTPUT_PATIENCE).send().await
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
        stop.run_until_cancelled(watching).await;
    }
}
