//! The sandbox modes in which the corpus runs.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use protocol::Envelope;

use super::canary::{CANARY, CANARY_NAME, probes_in};
use crate::ToolServer;
use crate::test_dir::NOBODY;
use crate::tool_server::ToolServerBuilder;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Tier A, as the user who runs the tests.
    TierA,
    TierAAsOrdinaryUser,
    /// Tier B, as an ordinary user; root cannot run commands there.
    TierBAsOrdinaryUser,
}

impl Mode {
    /// A server that starts only in this mode, with the canary in its environment.
    pub fn builder(self) -> ToolServerBuilder {
        let builder = ToolServer::builder();
        let probes = probes_in(builder.dir());
        std::fs::create_dir(&probes).expect("the directory is fresh");
        let builder = builder
            .variable("AUTONOUS_TOOL_SANDBOX", self.sandbox().0)
            .variable("AUTONOUS_TOOL_READONLY_ROOTS", &probes.display().to_string())
            .variable(CANARY_NAME, CANARY);
        let builder = if self.is_ordinary() { builder.unprivileged() } else { builder };
        self.give(&builder.dir().outside().join("secret.txt"));
        builder
    }

    /// Gives a file to the server's user, so that only the sandbox protects it.
    pub(super) fn give(self, path: &Path) {
        if self.changes_user() {
            chown(path, Some(NOBODY), Some(NOBODY)).expect("root can give files away");
        }
    }

    /// Makes a command run as the server's user, with this home directory.
    pub(super) fn as_its_user(self, command: &mut Command, home: &Path) {
        if self.changes_user() {
            command.uid(NOBODY).gid(NOBODY).env("HOME", home);
        }
    }

    pub(super) fn require_tier(self, envelope: &Envelope) -> Result<(), String> {
        match envelope.meta.data.get("sandbox_tier") {
            Some(tier) if tier != self.sandbox().1 => Err(format!("it ran in tier {tier}")),
            Some(_) | None => Ok(()),
        }
    }

    /// The server's setting, and the tier that it reports.
    fn sandbox(self) -> (&'static str, &'static str) {
        match self {
            Self::TierA | Self::TierAAsOrdinaryUser => ("full", "A"),
            Self::TierBAsOrdinaryUser => ("landlock", "B"),
        }
    }

    fn is_ordinary(self) -> bool {
        self != Self::TierA
    }

    fn changes_user(self) -> bool {
        self.is_ordinary() && rustix::process::geteuid().is_root()
    }
}
