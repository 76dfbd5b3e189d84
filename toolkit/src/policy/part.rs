//! The parts of a call, each of which rules judge by itself: its paths, hosts, circumstances and commands.

use super::Facts;
use super::touches::{Circumstance, CommandLine, SimpleCommand};

/// One part of what a call touches.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'f> {
    /// The call itself, where it touches nothing.
    Whole,
    /// By its place among the paths of the call.
    Path(usize),
    /// With the rules whose globs match the host.
    Host(&'f [usize]),
    Circumstance(Circumstance),
    Command(&'f SimpleCommand),
    /// Commands that the line does not show: any at all.
    Unseen,
}

/// All parts of a call; at least one.
pub(super) fn parts<'f>(facts: &'f Facts<'_>) -> Vec<Part<'f>> {
    let touched = facts.subject.touched();
    let mut parts: Vec<Part<'f>> = (0..touched.paths.len()).map(Part::Path).collect();
    parts.extend(facts.hosts().iter().map(|rules| Part::Host(rules)));
    parts.extend(touched.circumstances.iter().map(|special| Part::Circumstance(*special)));
    if let Some(CommandLine { commands, is_understood, .. }) = &touched.commands {
        parts.extend(commands.iter().map(Part::Command));
        parts.extend((!is_understood).then_some(Part::Unseen));
    }
    if parts.is_empty() { vec![Part::Whole] } else { parts }
}
