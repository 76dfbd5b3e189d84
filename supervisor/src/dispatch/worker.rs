//! The worker as a child: it reads tasks from its stdin and answers on its stdout.

use std::collections::HashMap;

use process::Secret;
use tokio::sync::watch;

use super::Dispatcher;
use crate::children::ChildState;
use crate::children::child::Child;
use crate::children::child_supervisor::ManagedChild;
use crate::children::environment::ChildSettings;
use crate::children::link::WorkerLink;
use crate::children::spawn::{Given, Program, SpawnError};

pub(crate) struct Worker {
    pub secrets: HashMap<String, Secret>,
    pub tool_token: Secret,
    pub dispatcher: Dispatcher,
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
        let reason = self.dispatcher.serve(WorkerLink::new(stdin, stdout), state).await;
        tracing::warn!(%reason, "stopped serving the worker");
    }

    async fn after_exit(&mut self, status: &str) {
        self.dispatcher.requeue_abandoned(&format!("The worker exited during the task ({status}).")).await;
    }
}

impl Worker {
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
