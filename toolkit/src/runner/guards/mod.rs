//! The checks that every call has to pass before its tool runs: one list, one file for each guard.
//!
//! A new guard is a file here and a line in [`guards`]; the list in the documentation of the
//! [runner](super) names it at the same position.

mod channel;
mod circuit;
mod claim;
mod enabled;
mod idempotency;
mod known_tool;
mod policy;
mod slot;
mod store;
mod token;
mod tool_allowlist;
mod valid_arguments;

use std::io;
use std::sync::Arc;

use super::RunnerSettings;
use super::asking::Asking;
use super::guard::{Check, Guard, Guards};
use super::quick::SharedQuickCalls;
use crate::locks::Locks;
use redaction::Redactor;

pub(super) use claim::Claim;
pub use enabled::disabled;
pub(super) use slot::Slots;

/// The guards, in the order in which a call meets them.
pub(super) fn guards(
    settings: &RunnerSettings,
    locks: &Arc<Locks>,
    redactor: &Arc<Redactor>,
    quick: &SharedQuickCalls,
    slots: &Arc<Slots>,
) -> io::Result<Guards> {
    let asking = Asking::new(settings, locks, redactor);
    let state = |name| settings.state_dir.as_ref().map(|directory| directory.join(name));
    Ok(vec![
        ("known tool", Box::new(known_tool::KnownTool)),
        ("enabled", Box::new(enabled::Enabled(settings.disabled.clone()))),
        ("token", Box::new(token::OfToken)),
        ("channel", Box::new(channel::OfChannel)),
        ("tool allow-list", Box::new(tool_allowlist::ToolAllowlist::open(state("bindings").as_deref())?)),
        ("circuit", Box::new(circuit::Circuits::default())),
        ("valid arguments", Box::new(valid_arguments::ValidArguments)),
        ("idempotency", Box::new(idempotency::Idempotency::open(state("idempotency").as_deref())?)),
        (
            "policy",
            Box::new(policy::Rules { policy: settings.policy.clone(), asking, quick: Arc::clone(quick) }),
        ),
        ("slot and deadline", Box::new(Arc::clone(slots))),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guards_are_in_the_documented_order() {
        let directory = tempfile::tempdir().unwrap();
        let guards = guards(
            &RunnerSettings::of_test(directory.path()),
            &Arc::default(),
            &Arc::new(Redactor::new([])),
            &Arc::default(),
            &Arc::new(Slots::new(1)),
        )
        .unwrap();
        let documented: Vec<&str> = include_str!("../mod.rs")
            .lines()
            .filter_map(|line| line.strip_prefix("//! ")?.split_once(". **")?.1.split_once("**"))
            .map(|(name, _)| name)
            .collect();
        assert_eq!(guards.iter().map(|(name, _)| *name).collect::<Vec<_>>(), documented);
    }
}
