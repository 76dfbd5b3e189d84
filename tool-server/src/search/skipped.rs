//! What a search or listing skipped, and its notices; they have a number only where a page saw everything.

use std::collections::BTreeSet;

use super::limits::{MAX_DEPTH, MAX_LINE_BYTES};
use super::search_budget::AbortedReason;
use files::roots::names;

/// How many paths a notice names.
const EXAMPLES: usize = 5;

/// What was skipped, by one thread or by all.
#[derive(Debug, Default)]
pub(crate) struct Skipped {
    /// Names that begin with a dot.
    pub(crate) hidden: u64,
    /// What ignore files name.
    pub(crate) ignored: u64,
    /// Whether AUTONOUS_TOOL_DENY_PATHS denied a name.
    pub(crate) denied: bool,
    /// Whether a rule of the operator denies an entry.
    pub(crate) against_rules: bool,
    /// Files with a NUL byte.
    pub(crate) binary: u64,
    /// Directories and files that the server's user cannot read.
    pub(crate) unreadable: PathSamples,
    /// Files searched only up to a line too long to hold in memory.
    pub(crate) long_lined: PathSamples,
    /// Whether directories were too deep.
    pub(crate) too_deep: bool,
    /// Whether parts of the tree were not visited because this page does not need them.
    pub(crate) is_incomplete: bool,
}

/// A number of paths, and the first of them as examples.
#[derive(Debug, Default)]
pub(crate) struct PathSamples {
    number: u64,
    first: BTreeSet<String>,
}

impl PathSamples {
    pub(crate) fn add(&mut self, path: String) {
        self.number += 1;
        self.keep(path);
    }

    fn keep(&mut self, path: String) {
        self.first.insert(path);
        if self.first.len() > EXAMPLES {
            self.first.pop_last();
        }
    }

    fn merge(&mut self, other: Self) {
        self.number += other.number;
        other.first.into_iter().for_each(|path| self.keep(path));
    }

    fn notice(&self, what: &str) -> Option<String> {
        let first = self.first.iter().map(|path| names::quoted(path)).collect::<Vec<_>>().join(", ");
        (self.number > 0).then(|| format!("{what} ({}): {first}.", self.number))
    }
}

impl Skipped {
    /// Adds what another thread skipped.
    pub(crate) fn merge(&mut self, other: Self) {
        self.hidden += other.hidden;
        self.ignored += other.ignored;
        self.denied |= other.denied;
        self.against_rules |= other.against_rules;
        self.binary += other.binary;
        self.unreadable.merge(other.unreadable);
        self.long_lined.merge(other.long_lined);
        self.too_deep |= other.too_deep;
        self.is_incomplete |= other.is_incomplete;
    }

    /// Whether something that belongs to the result is missing.
    pub(crate) fn makes_partial(&self) -> bool {
        self.too_deep || self.long_lined.number > 0
    }

    /// One notice for each kind of what was skipped.
    pub(crate) fn notices(&self, aborted: Option<AbortedReason>) -> Vec<String> {
        let mut notices: Vec<String> = aborted.map(abort_notice).into_iter().collect();
        let is_exact = aborted.is_none() && !self.is_incomplete;
        let counted = |number: u64, one: &str, many: &str| match (is_exact, number) {
            (true, 1) => format!("1 {one}"),
            (true, _) => format!("{number} {many}"),
            (false, _) => many.to_owned(),
        };
        for (number, kind, option) in
            [(self.hidden, "hidden", "include_hidden"), (self.ignored, "ignored", "include_ignored")]
        {
            if number > 0 {
                let entries = counted(number, &format!("{kind} entry"), &format!("{kind} entries"));
                notices.push(format!(
                    "Skipped {entries} and what is below; set {option} to include {kind} names."
                ));
            }
        }
        if self.denied {
            notices.push("Skipped names that AUTONOUS_TOOL_DENY_PATHS denies.".to_owned());
        }
        if self.against_rules {
            notices.push("Skipped what the operator's rules (policy.toml) deny.".to_owned());
        }
        if self.binary > 0 {
            notices.push(format!("Skipped {}.", counted(self.binary, "binary file", "binary files")));
        }
        notices.extend(self.unreadable.notice("The server's user cannot read these"));
        let limit = MAX_LINE_BYTES >> 20;
        notices.extend(self.long_lined.notice(&format!("Searched only up to a line over {limit} MiB")));
        if self.too_deep {
            notices.push(format!(
                "Skipped directories more than {MAX_DEPTH} levels down; pass one of them as `path`."
            ));
        }
        notices
    }
}

fn abort_notice(reason: AbortedReason) -> String {
    let why = match reason {
        AbortedReason::TimeLimit => "its time ran out",
        AbortedReason::CountLimit => "it reached the limit AUTONOUS_TOOL_SEARCH_MAX_ENTRIES",
    };
    format!(
        "The search stopped early because {why}: the results are right, but there may be more. Search a \
         smaller directory."
    )
}
