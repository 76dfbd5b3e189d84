//! The worker as a child: it reads tasks from its stdin and answers on its stdout.

use std::collections::HashMap;

use process::Secret;
use tokio::process::Child;
use tokio::sync::watch;

use super::Dispatcher;
use crate::children::ChildState;
use crate::children::child_supervisor::ManagedChild;
use crate::children::environment::ChildSettings;
use crate::children::link::WorkerLink;
use crate::children::spawn::{SpawnError, SpawnSpec};

pub(crate) struct Worker {
    pub settings: ChildSettings,
    pub tool_url: String,
    pub tool_token: Secret,
    pub dispatcher: Dispatcher,
}

impl ManagedChild for Worker {
    const NAME: &'static str = "agent-worker";

    fn spawn_spec(&self) -> Result<SpawnSpec, SpawnError> {
        let mut environment = self.settings.worker.clone();
        environment.push(("AUTONOUS_TOOL_URL".to_owned(), self.tool_url.clone()));
        let keys = self.settings.worker_secrets.iter();
        let mut secrets: HashMap<String, String> =
            keys.map(|(name, key)| (name.clone(), key.expose().to_owned())).collect();
        secrets.insert("AUTONOUS_TOOL_TOKEN".to_owned(), self.tool_token.expose().to_owned());
        Ok(SpawnSpec {
            program: self.settings.programs.join(Self::NAME),
            arguments: &[],
            environment,
            secrets,
            descriptors: Vec::new(),
            reads_stdout: true,
            reads_stderr: false,
        })
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
