//! What the server reports of itself, made once at the start.

use sandbox::Confinement;
use serde::Serialize;
use serde_json::{Value, json};

use crate::self_check::Check;

/// The self-checks and the layers in force.
#[derive(Debug)]
pub struct ServiceReport {
    /// The self-checks, in their order.
    pub checks: Vec<Check>,
    /// The server's own confinement.
    pub confinement: Confinement,
}

/// A layer of protection, in words.
#[derive(Debug, Serialize)]
struct Layer {
    name: &'static str,
    in_force: bool,
    meaning: &'static str,
}

impl ServiceReport {
    /// Whether everything that is required is there.
    pub fn is_ready(&self) -> bool {
        self.checks.iter().all(|check| check.ok || !check.required)
    }

    /// The body of `/readyz`.
    pub fn readiness(&self) -> Value {
        json!({"ready": self.is_ready(), "checks": self.checks})
    }

    /// The body of `/capabilities`.
    pub fn capabilities(&self) -> Value {
        json!({"layers": self.layers()})
    }

    fn layers(&self) -> [Layer; 2] {
        [
            Layer {
                name: "roots",
                in_force: true,
                meaning: "Every path is resolved by the kernel beneath a root's directory handle; no link and no \
                          race leads out.",
            },
            Layer {
                name: "landlock",
                in_force: self.confinement != Confinement::None,
                meaning: match self.confinement {
                    Confinement::Full => {
                        "The server itself can reach only its roots, journal and output, execute nothing, open no \
                         outgoing connection and signal nobody outside."
                    }
                    Confinement::Partial => {
                        "The server itself can reach only its roots, journal and output; this kernel does not \
                         know all of Landlock's rights."
                    }
                    Confinement::None => {
                        "This kernel has no Landlock: a mistake in the server would not be held by the kernel."
                    }
                },
            },
        ]
    }
}

impl ServiceReport {
    /// An error that names what is required and missing.
    pub fn require(&self) -> anyhow::Result<()> {
        let missing: Vec<&str> = self
            .checks
            .iter()
            .filter(|check| check.required && !check.ok)
            .map(|check| check.detail.as_str())
            .collect();
        anyhow::ensure!(missing.is_empty(), "{}", missing.join("; "));
        Ok(())
    }
}
