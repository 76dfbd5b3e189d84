//! What the server reports about itself, collected once at the start.

use std::fmt::Write as _;

use process::confinement::Confinement;
use sandbox::{Capabilities, Finding, Verdict};
use serde_json::{Value, json};

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
}

impl ServiceReport {
    pub(crate) fn is_ready(&self) -> bool {
        self.checks.iter().all(|check| check.ok || !check.required)
    }

    /// Fails with what is required and missing.
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

    /// The body of `/readyz`.
    pub(crate) fn readiness(&self) -> Value {
        json!({"ready": self.is_ready(), "checks": self.checks})
    }

    /// The body of `/capabilities`.
    pub fn capabilities(&self) -> Value {
        let commands = &self.capabilities;
        json!({
            "server": {
                "layers": [
                    {"name": "roots", "in_force": true, "meaning": ROOTS},
                    {"name": "landlock", "in_force": self.confinement != Confinement::None,
                     "meaning": own_landlock(self.confinement)},
                ],
            },
            "commands": {
                "tier": commands.tier.map(|tier| format!("{tier:?}")),
                "layers": commands.layers.iter().map(|layer| {
                    json!({"name": layer.name, "in_force": layer.in_force, "meaning": layer.meaning})
                }).collect::<Vec<_>>(),
                "losses": commands.losses,
                "findings": commands.findings.iter().map(|finding| {
                    json!({"attempt": finding.attempt, "verdict": verdict(finding), "detail": finding.detail})
                }).collect::<Vec<_>>(),
                "reason": commands.reason,
                "remedy": commands.remedy,
            },
        })
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
