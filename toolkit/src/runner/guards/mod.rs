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
use super::guard::{Check, Guard};
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
) -> io::Result<Vec<Box<dyn Guard>>> {
    let asking = Asking::new(settings, locks, redactor);
    let state = |name| settings.state_dir.as_ref().map(|directory| directory.join(name));
    Ok(vec![
        Box::new(known_tool::KnownTool),
        Box::new(enabled::Enabled(settings.disabled.clone())),
        Box::new(token::OfToken),
        Box::new(channel::OfChannel),
        Box::new(tool_allowlist::ToolAllowlist::open(state("bindings").as_deref())?),
        Box::new(circuit::Circuits::default()),
        Box::new(valid_arguments::ValidArguments),
        Box::new(idempotency::Idempotency::open(state("idempotency").as_deref())?),
        Box::new(policy::Rules { policy: settings.policy.clone(), asking, quick: Arc::clone(quick) }),
        Box::new(Arc::clone(slots)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guards_are_in_the_documented_order() {
        let directory = std::env::temp_dir().join(format!("guards-{}", protocol::TaskId::new()));
        let guards = guards(
            &RunnerSettings::of_test(directory.clone()),
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
        assert_eq!(guards.iter().map(|guard| guard.name()).collect::<Vec<_>>(), documented);
        std::fs::remove_dir_all(directory).unwrap();
    }
}
