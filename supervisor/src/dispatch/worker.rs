//! A worker as a child, in its slot: it reads tasks from its stdin and answers on its stdout.

use std::collections::HashMap;

use process::Secret;
use texts::Text;
use tokio::sync::watch;

use super::Dispatcher;
use super::state::{DispatchState, Running};
use crate::children::ChildState;
use crate::children::child::Child;
use crate::children::child_supervisor::ManagedChild;
use crate::children::environment::ChildSettings;
use crate::children::link::WorkerLink;
use crate::children::spawn::{Given, Program, SpawnError};

pub(crate) struct Worker {
    secrets: HashMap<String, Secret>,
    tool_token: Secret,
    dispatcher: Dispatcher,
    state: DispatchState,
}

impl Worker {
    /// A worker with these model keys.
    pub(crate) fn new(secrets: HashMap<String, Secret>, tool_token: Secret, dispatcher: Dispatcher) -> Self {
        Self { secrets, tool_token, dispatcher, state: DispatchState::default() }
    }

    /// What the launcher starts: a worker that calls tools at this URL.
    pub(crate) fn program(settings: &ChildSettings, tool_url: &str) -> Program {
        let mut environment = settings.worker.clone();
        environment.push(("AUTONOUS_TOOL_URL".to_owned(), tool_url.to_owned()));
        Program {
            name: Self::NAME.to_owned(),
            path: settings.programs.join(Self::NAME),
            arguments: Vec::new(),
            environment,
            reads_stdout: true,
        }
    }
}

impl ManagedChild for Worker {
    const NAME: &'static str = "agent-worker";

    fn given(&self) -> Result<Given, SpawnError> {
        let keys = self.secrets.iter();
        let mut secrets: HashMap<String, String> =
            keys.map(|(name, key)| (name.clone(), key.expose().to_owned())).collect();
        secrets.insert("AUTONOUS_TOOL_TOKEN".to_owned(), self.tool_token.expose().to_owned());
        Ok(Given { secrets, descriptors: Vec::new() })
    }

    async fn serve(&mut self, child: &mut Child, state: &watch::Sender<ChildState>) {
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else { return };
        let link = WorkerLink::new(stdin, stdout);
        let reason = self.dispatcher.serve(&mut self.state, link, state).await;
        // Ending it may take a while, in which another slot looks for work.
        self.state.turn = None;
        tracing::warn!(pid = child.pid(), %reason, "stopped serving a worker");
        if reason.is_hung() {
            let _ = child.kill();
        }
    }

    /// It has no task by then, or its time is over.
    async fn finish(&mut self, _child: &mut Child) {}

    async fn after_exit(&mut self, status: &str) {
        let DispatchState { running, .. } = std::mem::take(&mut self.state);
        if let Some(Running { task, saying, unfinished, .. }) = running {
            drop(saying);
            self.dispatcher.requeue(task, Text::WorkerExited { status }).await;
            drop(unfinished);
        }
    }
}
