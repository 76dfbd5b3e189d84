//! Starts the other processes of a run, or what leads to a tool server on another machine.

use std::sync::Arc;

use http_port::FarEnd;
use process::Secret;
use store::{held, tool_calls};
use tokio::sync::watch;

use super::RunError;
use super::system::System;
use crate::children::child_supervisor::ChildSupervisor;
use crate::children::tool_health::ToolHealth;
use crate::children::tool_server::{FIRST_START, ToolServer};
use crate::children::{ChildState, ChildrenStates};
use crate::dispatch::Dispatcher;
use crate::dispatch::worker::Worker;
use crate::far::FarToolServer;
use crate::ports::Port;
use crate::tool_client::ToolClient;

/// The port of the tools: for a child, or led to a tool server on another machine.
enum ToolPort {
    OfChild(Port),
    Tunnelled(FarToolServer),
}

impl System {
    pub(super) async fn start_children(
        &self,
        port: Port,
        far: Option<Arc<FarEnd>>,
    ) -> Result<ChildrenStates, RunError> {
        // The last records are read through it.
        let port = self.open_tunnel(port, far);
        let dispatcher = self.dispatcher();
        dispatcher.requeue_abandoned().await;
        self.store.write_until_done(held::look_again).await?;
        let (journal_troubled, journal_trouble) = watch::channel(None);
        let health = ToolHealth {
            client: ToolClient::new(&self.tokens.tool_url, &self.tokens.tool_token)?,
            board: self.board.clone(),
            runs_no_commands: self.config.children.runs_no_commands,
            journal_trouble: journal_troubled,
            commands_hang: false,
        };
        let (tool_server, elsewhere) = match port {
            ToolPort::OfChild(port) => (self.start_tool_server(port, health).await?, None),
            ToolPort::Tunnelled(far) => (self.start_far(&far, health), Some(far.elsewhere)),
        };
        let workers = (0..self.config.workers).map(|_| self.start_worker(dispatcher.clone())).collect();
        Ok(ChildrenStates { tool_server, elsewhere, journal_trouble, workers })
    }

    /// Leads the port to a tool server on another machine, if that is where it is.
    fn open_tunnel(&self, port: Port, far: Option<Arc<FarEnd>>) -> ToolPort {
        let Some((server, far)) = self.far.clone().zip(far) else { return ToolPort::OfChild(port) };
        let end = self.stop_journal.clone();
        let tunnel = server.clone().tunnel(port.listener, far, end.clone());
        tokio::spawn(self.tasks.watched("tunnel to the tool server", end, tunnel));
        ToolPort::Tunnelled(server)
    }

    /// Starts what speaks with a tool server on another machine.
    fn start_far(&self, server: &FarToolServer, health: ToolHealth) -> watch::Receiver<ChildState> {
        let (effects, stop) = (self.effects.clone(), self.stop.clone());
        self.tasks.spawn("effects", server.clone().answer_effects(effects, stop.clone()));
        let (state, receiver) = watch::channel(ChildState::Starting);
        self.tasks.spawn("tool server", server.clone().watch(health, state, stop));
        receiver
    }

    async fn start_tool_server(
        &self,
        port: Port,
        health: ToolHealth,
    ) -> Result<watch::Receiver<ChildState>, RunError> {
        let settled_until = self.store.write_until_done(tool_calls::newest_event).await?;
        let tool_server = ToolServer {
            secrets: self.config.children.tool_secrets.clone(),
            socket: port.listener,
            health,
            token: Secret::from(self.tokens.tool_token.as_str()),
            approver_token: Secret::from(self.tokens.approver_token.as_str()),
            journal: self.journal.clone(),
            effects: self.effects.clone(),
            store: self.store.clone(),
            settled_until,
            stop_by: self.stop_by.clone(),
            start_patience: FIRST_START,
            lifeline: None,
            reload: Arc::clone(&self.rules_changed),
        };
        let (tool_supervisor, tool_state) = self.child_supervisor();
        self.tasks.spawn("tool server", tool_supervisor.supervise(tool_server, self.stop.clone()));
        Ok(tool_state)
    }

    fn start_worker(&self, dispatcher: Dispatcher) -> watch::Receiver<ChildState> {
        let secrets = self.config.children.worker_secrets.clone();
        let worker = Worker::new(secrets, Secret::from(self.tokens.tool_token.as_str()), dispatcher);
        let (supervisor, state) = self.child_supervisor();
        self.tasks.spawn("worker", supervisor.supervise(worker, self.stop.clone()));
        state
    }

    fn child_supervisor(&self) -> (ChildSupervisor, watch::Receiver<ChildState>) {
        let launcher = Arc::clone(&self.launcher);
        let (store, run) = (self.store.clone(), self.run.clone());
        ChildSupervisor::new(launcher, store, run, self.rejection.clone(), self.meters.clone())
    }
}
