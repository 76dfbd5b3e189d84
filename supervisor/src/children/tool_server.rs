//! The tool server as a child. The supervisor holds its listening socket, so calls wait while it restarts.

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::time::Duration;

use process::Secret;
use tokio::sync::watch;

use super::ChildState;
use super::child::Child;
use super::child_supervisor::ManagedChild;
use super::environment::ChildSettings;
use super::spawn::{Given, Program, SpawnError};
use crate::data_dir::DataDir;
use crate::journal::Journal;
use crate::store::{Store, tool_calls};

/// The timeout of one readiness check: the socket accepts it before the server runs.
const READY_PATIENCE: Duration = Duration::from_secs(2);
/// The pause before the next readiness check.
const READY_PAUSE: Duration = Duration::from_millis(50);

pub(crate) struct ToolServer {
    pub socket: TcpListener,
    /// Its URL, for readiness checks.
    pub url: String,
    /// The token that its callers need.
    pub token: Secret,
    /// Makes readiness checks.
    pub client: reqwest::Client,
    /// Reads its last records.
    pub journal: Journal,
    /// Where calls without an end are marked.
    pub store: Store,
    /// The newest event that an earlier tool server can have caused.
    pub settled_until: i64,
}

impl ManagedChild for ToolServer {
    const NAME: &'static str = "tool-server";

    fn given(&self) -> Result<Given, SpawnError> {
        let socket = self.socket.try_clone().map_err(SpawnError::Descriptor)?;
        Ok(Given {
            secrets: HashMap::from([("AUTONOUS_TOOL_TOKEN".to_owned(), self.token.expose().to_owned())]),
            descriptors: vec![OwnedFd::from(socket)],
        })
    }

    async fn serve(&mut self, child: &mut Child, state: &watch::Sender<ChildState>) {
        // Never written to: it closes when this process exits, and then the tool server exits.
        let _lifeline = child.stdin.take();
        tokio::select! {
            _ = child.wait() => return,
            () = self.until_ready() => {}
        }
        state.send_replace(ChildState::Ready);
        self.settle("the tool server exited during the call").await;
        let _ = child.wait().await;
    }

    async fn after_exit(&mut self, status: &str) {
        self.journal.drain().await;
        if let Ok(newest) = self.store.write_until_done(|tx| tool_calls::newest_event(tx)).await {
            self.settled_until = newest;
        }
        self.settle(&format!("the tool server exited during the call ({status})")).await;
    }
}

impl ToolServer {
    /// What the launcher starts: a tool server that is given its socket at this address.
    pub(crate) fn program(
        settings: &ChildSettings,
        data: &DataDir,
        roots: &[String],
        address: SocketAddr,
    ) -> Program {
        let mut environment = environment(settings, data, roots);
        environment.push(("LISTEN_FDS".to_owned(), "1".to_owned()));
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
            let answer = self.client.get(&address).timeout(READY_PATIENCE).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return;
            }
            tokio::time::sleep(READY_PAUSE).await;
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
