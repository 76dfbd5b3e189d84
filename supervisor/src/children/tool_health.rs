//! How a tool server is, as it says itself, wherever it runs.

use std::time::Duration;

use reqwest::{Method, Response};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::ChildState;
use crate::health::{Board, PartName, Reading, commands};
use crate::tool_client::ToolClient;

/// The timeout of one readiness check: the socket accepts it before the server runs.
const READY_PATIENCE: Duration = Duration::from_secs(2);
/// The pause before the next readiness check.
const READY_PAUSE: Duration = Duration::from_millis(50);

/// How often a ready server is asked whether it lives.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// A server that gave no answer for this long is killed.
pub(crate) const SILENCE: Duration = Duration::from_secs(15);
/// The least time for an answer, however long this process itself was suspended.
const LEAST_PATIENCE: Duration = Duration::from_secs(3);

pub(crate) struct ToolHealth {
    /// Asks with the token that its callers need.
    pub client: ToolClient,
    /// Where it is reported how commands are held.
    pub board: Board,
    /// Whether the settings want no commands.
    pub runs_no_commands: bool,
    /// Why it cannot write its journal, as it says itself.
    pub journal_trouble: watch::Sender<Option<String>>,
    /// Whether it said lately that commands hang.
    pub commands_hang: bool,
}

/// The part of the server's `/readyz` that is used here.
#[derive(Debug, Deserialize)]
struct Readiness {
    checks: Vec<Check>,
}

#[derive(Debug, Deserialize)]
struct Check {
    name: String,
    ok: bool,
    detail: String,
}

impl ToolHealth {
    /// Forgets what a server said that has exited.
    pub(super) fn forget_trouble(&self) {
        self.journal_trouble.send_replace(None);
    }

    pub(crate) async fn until_ready(&self) {
        loop {
            // Any answer: health says what it lacks after its start, and another start would not help.
            if self.ask("/readyz", READY_PATIENCE).await.is_ok() {
                return;
            }
            sleep(READY_PAUSE).await;
        }
    }

    async fn ask(&self, path: &str, patience: Duration) -> reqwest::Result<Response> {
        self.client.without_token(Method::GET, path).timeout(patience).send().await
    }

    /// Asks how the parts are that can fail while it runs.
    async fn report_checks(&mut self) {
        let Ok(answer) = self.ask("/readyz", READY_PATIENCE).await else { return };
        let Ok(Readiness { checks }) = answer.json().await else { return };
        let trouble = |name: &str| {
            checks.iter().find(|check| check.name == name && !check.ok).map(|check| check.detail.clone())
        };
        self.journal_trouble.send_replace(trouble("journal"));
        match trouble("spawner") {
            Some(trouble) => {
                let remedy = "Wait; the tool server is started again if it stays so.";
                self.board.set(PartName::Commands, Reading::failed(trouble, remedy));
                self.commands_hang = true;
            }
            None if self.commands_hang => {
                self.report_commands().await;
                self.commands_hang = false;
            }
            None => {}
        }
    }

    /// Resolves when it gave no answer for [`SILENCE`]. `/livez` is answered by the event loop that serves
    /// calls, also while all connections are at work.
    pub(crate) async fn until_silent(&mut self, state: &watch::Sender<ChildState>) {
        let mut give_up = Instant::now() + SILENCE;
        loop {
            sleep(ASK_EVERY).await;
            loop {
                let patience = give_up.saturating_duration_since(Instant::now()).max(LEAST_PATIENCE);
                if self.ask("/livez", patience).await.is_ok() {
                    give_up = Instant::now() + SILENCE;
                    ChildState::note_heard(state);
                    self.report_checks().await;
                    // Entries of the roots can keep all commands from running, as a spawner can that hangs.
                    if !self.commands_hang {
                        self.report_commands().await;
                    }
                    break;
                }
                if Instant::now() >= give_up {
                    return;
                }
                sleep(READY_PAUSE).await;
            }
        }
    }

    pub(crate) async fn report_commands(&self) {
        let asked = self.client.request(Method::GET, "/capabilities").timeout(READY_PATIENCE).send().await;
        let reading = match asked {
            Ok(answer) => commands::reading(&answer.json().await.unwrap_or_default(), self.runs_no_commands),
            Err(error) => Reading::degraded(error.without_url().to_string(), "Run `tool-server check`."),
        };
        self.board.set(PartName::Commands, reading);
    }
}
