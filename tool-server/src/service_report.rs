//! What the server reports about itself, collected once at the start.

use std::fmt::Write as _;

use cage::obstacle::Obstacle;
use process::confinement::Confinement;
use sandbox::{Capabilities, Finding, Layer, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

use crate::raw_files::RawFiles;
use crate::self_check::Check;

/// The self-checks and the active layers.
#[derive(Debug)]
pub struct ServiceReport {
    /// The self-checks, in order.
    pub checks: Vec<Check>,
    /// The server's own confinement.
    pub confinement: Confinement,
    /// How commands are sandboxed.
    pub capabilities: Capabilities,
    /// What the operator allows of raw files.
    pub raw_files: RawFiles,
}

/// The body of `/readyz`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Readiness {
    /// Whether every required check succeeded.
    pub(crate) ready: bool,
    /// The self-checks, in order.
    checks: Vec<Check>,
}

/// The body of `/capabilities`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CapabilitiesReport {
    /// What holds the server itself.
    server: ServerReport,
    /// What holds each command.
    commands: CommandsReport,
    /// What goes over `/files`.
    raw_files: RawFilesReport,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RawFilesReport {
    /// Whether `/files` serves and stores files (`AUTONOUS_TOOL_RAW_FILES`).
    enabled: bool,
    /// The largest upload, in bytes.
    max_upload_bytes: u64,
    /// What that means, in words.
    meaning: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ServerReport {
    /// Its layers.
    layers: Vec<Layer>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CommandsReport {
    /// The sandbox tier, `A` or `B`; absent when no command can run.
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<String>,
    /// The layers of the sandbox.
    layers: Vec<Layer>,
    /// What a command can still do.
    losses: Vec<&'static str>,
    /// What the self-check tried.
    findings: Vec<Finding>,
    /// Why no command can run.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What in the roots keeps every command from running at the moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    obstacle: Option<String>,
    /// What would change that.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'static str>,
}

impl ServiceReport {
    /// Fails with the required parts that are missing.
    pub(crate) fn require(&self) -> anyhow::Result<()> {
        let missing: Vec<&str> = self
            .checks
            .iter()
            .filter(|check| check.required && !check.ok)
            .map(|check| check.detail.as_str())
            .collect();
        anyhow::ensure!(missing.is_empty(), "{}", missing.join("; "));
        Ok(())
    }

    /// The body of `/readyz`, with these checks that were made just now. The file tools are ready although no
    /// command can run.
    pub(crate) fn readiness(&self, now: Vec<Check>, obstacle: Option<Obstacle>) -> Readiness {
        let mut checks: Vec<Check> = self.checks.iter().cloned().chain(now).collect();
        if let Some(Obstacle { reason, remedy }) = obstacle
            && let Some(commands) = checks.iter_mut().find(|check| check.name == "commands")
        {
            commands.ok = false;
            commands.detail = format!("no command can run: {reason}. {remedy}");
        }
        Readiness { ready: checks.iter().all(|check| check.ok || !check.required), checks }
    }

    /// The body of `/capabilities`. `obstacle`: what in the roots keeps commands from running.
    pub(crate) fn capabilities_now(&self, obstacle: Option<Obstacle>) -> CapabilitiesReport {
        let mut report = self.capabilities();
        if let Some(Obstacle { reason, remedy }) = obstacle {
            report.commands.obstacle = Some(reason);
            report.commands.remedy = Some(remedy);
        }
        report
    }

    /// The same, whatever is in the roots.
    pub fn capabilities(&self) -> CapabilitiesReport {
        let commands = &self.capabilities;
        let layer = |name, in_force, meaning| Layer { name, in_force, meaning };
        let own = own_landlock(self.confinement);
        CapabilitiesReport {
            server: ServerReport {
                layers: vec![
                    layer("roots", true, ROOTS),
                    layer("landlock", self.confinement != Confinement::None, own),
                ],
            },
            commands: CommandsReport {
                tier: commands.tier.map(|tier| format!("{tier:?}")),
                layers: commands.layers.clone(),
                losses: commands.losses.clone(),
                findings: commands.findings.clone(),
                reason: commands.reason.clone(),
                obstacle: None,
                remedy: commands.remedy,
            },
            raw_files: RawFilesReport {
                enabled: self.raw_files.enabled,
                max_upload_bytes: self.raw_files.max_upload_bytes,
                meaning: if self.raw_files.enabled { RAW_FILES } else { NO_RAW_FILES },
            },
        }
    }

    /// The same as text.
    pub fn to_text(&self) -> String {
        let commands = &self.capabilities;
        let mut text = match commands.tier {
            Some(tier) => format!("Commands run in sandbox tier {tier}.\n"),
            None => "Commands cannot run here.\n".to_owned(),
        };
        for (label, line) in [("Why", commands.reason.as_deref()), ("Remedy", commands.remedy)] {
            if let Some(line) = line {
                let _ = writeln!(text, "{label}: {line}");
            }
        }
        text.push_str("\nLayers\n");
        for layer in &commands.layers {
            let _ = writeln!(text, "  [{}] {}: {}", mark(layer.in_force), layer.name, layer.meaning);
        }
        if !commands.losses.is_empty() {
            text.push_str("\nWhat a command can still do\n");
        }
        for loss in &commands.losses {
            let _ = writeln!(text, "  - {loss}");
        }
        text.push_str("\nAttempts of the self-check\n");
        for finding in &commands.findings {
            let _ = writeln!(text, "  {:<11} {}: {}", verdict(finding), finding.attempt, finding.detail);
        }
        text.push_str("\nOther checks\n");
        for check in &self.checks {
            let _ = writeln!(text, "  [{}] {}: {}", mark(check.ok), check.name, check.detail);
        }
        text
    }
}

const ROOTS: &str =
    "Every path is resolved by the kernel beneath a root's directory handle; no link and no race leads out.";

const RAW_FILES: &str = "Files go in and out over /files byte by byte: secrets in them are not redacted. \
     Withheld paths stay withheld.";

const NO_RAW_FILES: &str = "Files are shown by tools alone, redacted.";

fn own_landlock(confinement: Confinement) -> &'static str {
    match confinement {
        Confinement::Full => {
            "The server itself can reach only its roots, journal and output, execute nothing, open no \
             outgoing connection and signal nobody outside."
        }
        Confinement::Partial => {
            "The server itself can reach only its roots, journal and output; this kernel does not know all \
             of Landlock's rights."
        }
        Confinement::None => "This kernel has no Landlock: the kernel would not contain a bug in the server.",
    }
}

fn mark(good: bool) -> &'static str {
    if good { "ok" } else { "--" }
}

fn verdict(finding: &Finding) -> &'static str {
    match finding.verdict {
        Verdict::Holds => "holds",
        Verdict::StatedLoss => "stated loss",
        Verdict::Escaped => "ESCAPED",
        Verdict::Broken => "broken",
    }
}
