//! The tool server as a child. The supervisor holds its listening socket, so calls wait while it restarts.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use process::Secret;
use process::lifeline::{FINISH, RELOAD};
use store::{Store, tool_calls};
use tokio::net::unix::pipe;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout_at};

use super::child::Child;
use super::child_supervisor::ManagedChild;
use super::environment::ChildSettings;
use super::spawn::{Given, Program, SpawnError};
use super::tool_health::{SILENCE, ToolHealth};
use super::{ChildState, StopBy};
use crate::data_dir::DataDir;
use crate::effects::Effects;
use crate::journal::Journal;

/// How long a start may take before the server counts as one that stands still.
pub(crate) const FIRST_START: Duration = Duration::from_secs(30);
const LONGEST_START: Duration = Duration::from_secs(480);

pub(crate) struct ToolServer {
    pub socket: TcpListener,
    /// The token that its callers need.
    pub token: Secret,
    /// The token of those who decide about calls.
    pub approver_token: Secret,
    /// The credentials of its fetcher.
    pub secrets: HashMap<String, Secret>,
    /// Asks how it is.
    pub health: ToolHealth,
    /// Reads its last records.
    pub journal: Journal,
    /// Answers what its tools ask of this process.
    pub effects: Effects,
    /// Where calls without an end are marked.
    pub store: Store,
    /// The newest event that an earlier tool server can have caused.
    pub settled_until: i64,
    /// Until when its running calls may end, once the run is to end.
    pub stop_by: StopBy,
    /// How long its next start may take.
    pub start_patience: Duration,
    /// Its stdin, while it runs: when it closes, as when this process exits, the server exits.
    pub lifeline: Option<Arc<pipe::Sender>>,
    /// Notified when it should read its rules again.
    pub reload: Arc<Notify>,
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
            () = self.health.until_ready() => {}
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
        self.health.report_commands().await;
        state.send_replace(ChildState::ready());
        self.settle("the tool server exited during the call").await;
        let reloads = pass_on_reloads(self.lifeline.clone(), Arc::clone(&self.reload));
        tokio::select! {
            _ = child.wait() => {}
            () = self.health.until_silent(state) => {
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
            let _ = timeout_at(*stop_by, child.wait()).await;
        }
        self.lifeline = None;
    }

    async fn after_exit(&mut self, status: &str) {
        self.lifeline = None;
        self.health.forget_trouble();
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
pub fn environment(settings: &ChildSettings, data: &DataDir, roots: &[String]) -> Vec<(String, String)> {
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
