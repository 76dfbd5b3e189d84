//! Sets up a whole system.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::System;
use crate::builder::Builder;
use crate::fake_telegram::TOKEN;
use crate::program::Launch;
use crate::tool_server::Refusal;
use crate::{FakeModel, FakeTelegram, Program, TestDir};

pub type SystemBuilder = Builder<OfSystem>;

#[derive(Debug)]
pub struct OfSystem {
    readiness: &'static str,
}

impl SystemBuilder {
    /// A system without any account, with short pauses.
    pub(super) fn new() -> Self {
        let dir = TestDir::new();
        let launch = Launch::new(&dir, "supervisor", "run");
        let builder = Self { dir, launch, own: OfSystem { readiness: "/readyz" } };
        builder
            .variable("AUTONOUS_LOG_FORMAT", "json")
            .variable("AUTONOUS_TASK_RETRY_BASE_MS", "50")
            .variable("AUTONOUS_STOP_SECONDS", "1")
            .variable("AUTONOUS_TELEGRAM_GATHER_MS", "0")
            .variable("AUTONOUS_TELEGRAM_REACTIONS", "off")
    }

    /// Connects the system to a fake Telegram, and allows these chats.
    #[must_use]
    pub fn telegram(self, server: &FakeTelegram, allowed_chats: &str) -> Self {
        self.telegram_at(&server.url(), allowed_chats)
    }

    /// Connects the system to an address where Telegram may not be running yet.
    #[must_use]
    pub fn telegram_at(self, url: &str, allowed_chats: &str) -> Self {
        self.variable("AUTONOUS_TELEGRAM_TOKEN", TOKEN)
            .variable("AUTONOUS_TELEGRAM_API_URL", url)
            .variable("AUTONOUS_TELEGRAM_ALLOWED_CHATS", allowed_chats)
    }

    #[must_use]
    pub fn model(self, server: &FakeModel) -> Self {
        server.variables().iter().fold(self, |builder, (name, value)| builder.variable(name, value))
    }

    /// Sends stdout and stderr of the supervisor, and the logs of its children, to this descriptor.
    #[must_use]
    pub fn output_into(mut self, output: impl Into<OwnedFd>) -> Self {
        self.launch.output = Some(Arc::new(output.into()));
        self
    }

    /// How many tasks run at once.
    #[must_use]
    pub fn workers(self, count: usize) -> Self {
        self.variable("AUTONOUS_WORKERS", &count.to_string())
    }

    /// Replaces the agent worker and the tool server with shell scripts. They are never ready, so the start
    /// waits only for the control port.
    #[must_use]
    pub fn scripted_children(mut self, worker: &str, tool_server: &str) -> Self {
        self.launch.binary = self.dir.link_program(&self.launch.binary);
        self.dir.write_program("agent-worker", worker);
        self.dir.write_program("tool-server", tool_server);
        self.own.readiness = "/livez";
        self
    }

    /// Starts a system that must refuse to run.
    pub fn start_refused(self) -> Refusal {
        Refusal::of(&self.dir, &self.launch)
    }

    /// Starts a system that cannot become ready, and waits until it can be asked.
    pub fn start_unready(mut self) -> System {
        self.own.readiness = "/livez";
        self.start()
    }

    /// Starts the system and waits until it is ready.
    pub fn start(self) -> System {
        let supervisor = Program::start(&self.dir, &self.launch);
        let readiness = self.own.readiness;
        let mut system = System { supervisor, launch: self.launch, readiness, dir: self.dir };
        system.wait_until_ready();
        system
    }
}
