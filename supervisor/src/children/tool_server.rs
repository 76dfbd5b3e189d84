//! The tool server as a child. The supervisor holds its listening socket, so calls wait while it restarts.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use process::Secret;
use process::lifeline::{FINISH, RELOAD};
use serde::Deserialize;
use store::{Store, tool_calls};
use tokio::net::unix::pipe;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout_at};

use super::child::Child;
use super::child_supervisor::ManagedChild;
use super::environment::ChildSettings;
use super::spawn::{Given, Program, SpawnError};
use super::{ChildState, StopBy};
use crate::data_dir::DataDir;
use crate::effects::Effects;
use crate::health::{Board, PartName, Reading, commands};
use crate::journal::Journal;

/// The timeout of one readiness check: the socket accepts it before the server runs.
const READY_PATIENCE: Duration = Duration::from_secs(2);
/// The pause before the next readiness check.
const READY_PAUSE: Duration = Duration::from_millis(50);

/// How long a start may take before the server counts as one that stands still.
pub(crate) const FIRST_START: Duration = Duration::from_secs(30);
const LONGEST_START: Duration = Duration::from_secs(480);

/// How often a ready server is asked whether it lives.
const ASK_EVERY: Duration = Duration::from_secs(5);
/// A server that gave no answer for this long is killed.
const SILENCE: Duration = Duration::from_secs(15);
/// The least time for an answer, however long this process itself was suspended.
const LEAST_PATIENCE: Duration = Duration::from_secs(3);

pub(crate) struct ToolServer {
    pub socket: TcpListener,
    /// Its URL, for readiness checks.
    pub url: String,
    /// The token that its callers need.
    pub token: Secret,
    /// The token of those who decide about calls.
    pub approver_token: Secret,
    /// The credentials of its fetcher.
    pub secrets: HashMap<String, Secret>,
    /// Makes readiness checks.
    pub client: reqwest::Client,
    /// Reads its last records.
    pub journal: Journal,
    /// Answers what its tools ask of this process.
    pub effects: Effects,
    /// Where calls without an end are marked.
    pub store: Store,
    /// The newest event that an earlier tool server can have caused.
    pub settled_until: i64,
    /// Where it is reported how commands are held.
    pub board: Board,
    /// Whether the settings want no commands.
    pub runs_no_commands: bool,
    /// Until when its running calls may end, once the run is to end.
    pub stop_by: StopBy,
    /// Why it cannot write its journal, as it says itself.
    pub journal_trouble: watch::Sender<Option<String>>,
    /// Whether it said lately that commands hang.
    pub commands_hang: bool,
    /// How long its next start may take.
    pub start_patience: Duration,
    /// Its stdin, while it runs: when it closes, as when this process exits, the server exits.
    pub lifeline: Option<Arc<pipe::Sender>>,
    /// Notified when it should read its rules again.
    pub reload: Arc<Notify>,
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

impl ManagedChild for ToolServer {
    const NAME: &'static str = "tool-server";

    fn given(&self) -> Result<Given, SpawnError> {
        let socket = self.socket.try_clone().map_err(SpawnError::Descriptor)?;
        let effects = self.effects.connect().map_err(SpawnError::Descriptor)?;
        let own = self.secrets.iter().map(|(name, secret)| (name.clone(), secret.expose().to_owned()));
        Ok(Given {
            secrets: own
                .chain([
                    ("AUTONOUS_TOOL_TOKEN".to_owned(), self.token.expose().to_owned()),
                    ("AUTONOUS_TOOL_APPROVER_TOKEN".to_owned(), self.approver_token.expose().to_owned()),
                ])
                .collect(),
            descriptors: vec![OwnedFd::from(socket), effects],
        })
    }

    async fn serve(&mut self, child: &mut Child, state: &watch::Sender<ChildState>) {
        self.lifeline = child.stdin.take().map(Arc::new);
        tokio::select! {
            _ = child.wait() => return,
            () = self.until_ready() => {}
            () = sleep(self.start_patience) => {
                let seconds = self.start_patience.as_secs();
                tracing::error!("the tool server was not ready within {seconds} s; killing it");
                // One that only takes long gets longer.
                self.start_patience = (self.start_patience * 2).min(LONGEST_START);
                let _ = child.kill();
                return;
            }
        }
        self.start_patience = FIRST_START;
        self.report_commands().await;
        state.send_replace(ChildState::ready());
        self.settle("the tool server exited during the call").await;
        let reloads = pass_on_reloads(self.lifeline.clone(), Arc::clone(&self.reload));
        tokio::select! {
            _ = child.wait() => {}
            () = self.until_silent(state) => {
                tracing::error!("the tool server gave no answer for {} s; killing it", SILENCE.as_secs());
                let _ = child.kill();
            }
            () = reloads => {}
        }
    }

    async fn finish(&mut self, child: &mut Child) {
        if let (Some(lifeline), Some(stop_by)) = (&self.lifeline, self.stop_by.get()) {
            // A server that has exited already gets no message.
            let _ = lifeline.try_write(FINISH);
            let _ = timeout_at(stop_by, child.wait()).await;
        }
        self.lifeline = None;
    }

    async fn after_exit(&mut self, status: &str) {
        self.lifeline = None;
        self.journal_trouble.send_replace(None);
        self.journal.drain().await;
        if let Ok(newest) = self.store.write_until_done(tool_calls::newest_event).await {
            self.settled_until = newest;
        }
        self.settle(&format!("the tool server exited during the call ({status})")).await;
    }
}

/// Writes a line to the server whenever it should read its rules again. Does not end.
async fn pass_on_reloads(lifeline: Option<Arc<pipe::Sender>>, asked: Arc<Notify>) {
    loop {
        asked.notified().await;
        if let Some(lifeline) = &lifeline
            && let Err(error) = lifeline.try_write(RELOAD)
        {
            tracing::error!(%error, "the tool server was not asked to read its rules again");
        }
    }
}

impl ToolServer {
    /// What the launcher starts: a tool server that is given its socket at this address, and one to this
    /// process.
    pub(crate) fn program(
        settings: &ChildSettings,
        data: &DataDir,
        roots: &[String],
        address: SocketAddr,
    ) -> Program {
        let mut environment = environment(settings, data, roots);
        environment.push(("LISTEN_FDS".to_owned(), "2".to_owned()));
        environment.push(("AUTONOUS_TOOL_LISTEN".to_owned(), address.to_string()));
        Program {
            name: Self::NAME.to_owned(),
            path: settings.programs.join(Self::NAME),
            arguments: ["serve", "--lifeline"].map(str::to_owned).into(),
            environment,
            reads_stdout: false,
        }
    }

    async fn until_ready(&self) {
        let address = format!("{}/readyz", self.url);
        loop {
            // Any answer: health says what it lacks after its start, and another start would not help.
            if self.client.get(&address).timeout(READY_PATIENCE).send().await.is_ok() {
                return;
            }
            tokio::time::sleep(READY_PAUSE).await;
        }
    }

    /// Asks how the parts are that can fail while it runs.
    async fn report_checks(&mut self) {
        let asked = self.client.get(format!("{}/readyz", self.url)).timeout(READY_PATIENCE).send().await;
        let Ok(answer) = asked else { return };
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
    async fn until_silent(&mut self, state: &watch::Sender<ChildState>) {
        let address = format!("{}/livez", self.url);
        let mut give_up = Instant::now() + SILENCE;
        loop {
            sleep(ASK_EVERY).await;
            loop {
                let patience = give_up.saturating_duration_since(Instant::now()).max(LEAST_PATIENCE);
                if self.client.get(&address).timeout(patience).send().await.is_ok() {
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

    async fn report_commands(&self) {
        let asked = self.client.get(format!("{}/capabilities", self.url)).bearer_auth(self.token.expose());
        let answer = asked.timeout(READY_PATIENCE).send().await;
        let reading = match answer {
            Ok(answer) => commands::reading(&answer.json().await.unwrap_or_default(), self.runs_no_commands),
            Err(error) => Reading::degraded(error.without_url().to_string(), "Run `tool-server check`."),
        };
        self.board.set(PartName::Commands, reading);
    }

    /// Marks the unfinished calls of earlier tool servers as interrupted. A ready server holds the journal's
    /// lock, so an earlier one no longer writes.
    async fn settle(&self, reason: &str) {
        self.journal.drain().await;
        let (until, reason) = (self.settled_until, reason.to_owned());
        let marked = self.store.write_until_done(move |tx| tool_calls::mark_interrupted(tx, until, &reason));
        match marked.await {
            Ok(0) => {}
            Ok(calls) => tracing::warn!(calls, "tool calls were interrupted"),
            Err(error) => tracing::error!(%error, "could not mark interrupted tool calls"),
        }
    }
}

/// The environment of every run of the tool server: the user's settings, its roots and its directories.
pub(crate) fn environment(
    settings: &ChildSettings,
    data: &DataDir,
    roots: &[String],
) -> Vec<(String, String)> {
    let injected = [
        ("AUTONOUS_TOOL_ALLOWED_ROOTS", roots.join(",")),
        ("AUTONOUS_TOOL_JOURNAL", data.journal().display().to_string()),
        ("AUTONOUS_TOOL_OUTPUT_DIR", data.output().display().to_string()),
        ("AUTONOUS_SKILLS_DIR", data.skills().display().to_string()),
        ("AUTONOUS_DATA_DIR", data.path().display().to_string()),
    ];
    let injected = injected.map(|(name, value)| (name.to_owned(), value));
    settings.tool_server.iter().cloned().chain(injected).collect()
}
