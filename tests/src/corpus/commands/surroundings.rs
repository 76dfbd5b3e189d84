//! What stands around a server while a case of a command is tried: what it could reach, and what it was
//! like before.

use std::fs;
use std::path::PathBuf;

use super::listeners::Listeners;
use super::{Mode, probes};
use crate::ToolServer;
use crate::corpus::Case;

/// The variable of the server's environment that no command may see. No redaction takes it for a secret,
/// so that it is the sandbox alone that hides it.
pub const CANARY_NAME: &str = "SERVER_CANARY";

/// What it says; a sweep for `secret` finds it.
pub const CANARY: &str = "FAKE-canary-that-is-no-secret-to-redaction";

/// The process that cases leave behind. Each run gives it a time of its own, by which it is known.
const LEFT_BEHIND: &str = "sleep 7777";

#[derive(Debug)]
pub struct Surroundings {
    pub listeners: Listeners,
    pub dir: PathBuf,
    pub server: u32,
    limits: String,
    probes: PathBuf,
}

impl Surroundings {
    pub fn set_up(case: &Case, mode: Mode, server: &mut ToolServer) -> Result<Self, String> {
        let pid = server.program().pid();
        let dir = server.dir();
        let probes = probes::directory(dir);
        probes::build(case.args.get("cmd").and_then(|cmd| cmd.as_str()).unwrap_or_default(), &probes)?;
        let socket = dir.outside().join("d.sock");
        let listeners = Listeners::listen(&socket).map_err(|error| format!("no listeners: {error}"))?;
        mode.give(&socket);
        Ok(Self { listeners, dir: dir.path().to_owned(), server: pid, limits: limits(pid)?, probes })
    }

    pub fn values(&self) -> Result<Vec<(&'static str, String)>, String> {
        let ports = self.listeners.ports().map_err(|error| error.to_string())?;
        let mut values: Vec<_> = ports.map(|(name, port)| (name, port.to_string())).into();
        values.push(("{SERVER_SECRET}", CANARY.to_owned()));
        values.push(("{HELPERS}", self.probes.display().to_string()));
        values.push((LEFT_BEHIND, self.left_behind()));
        Ok(values)
    }

    pub fn left_behind(&self) -> String {
        format!("{LEFT_BEHIND}{}", self.server)
    }

    pub fn limits_are_unchanged(&self) -> Result<(), String> {
        let now = limits(self.server)?;
        if now == self.limits { Ok(()) } else { Err(format!("they were {} and are {now}", self.limits)) }
    }
}

/// What the kernel grants a process, and how soon it ends it when memory runs out.
fn limits(pid: u32) -> Result<String, String> {
    let file = |name: &str| {
        let path = format!("/proc/{pid}/{name}");
        fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))
    };
    Ok(file("limits")? + &file("oom_score_adj")?)
}
