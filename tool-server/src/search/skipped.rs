//! What a search saw and left out, and the notices that say so.
//!
//! Numbers are named only where they are exact: a page that ended early, or that began in the middle, did
//! not see everything.

use std::collections::BTreeSet;

use super::limits::{MAX_DEPTH, MAX_LINE_BYTES};
use super::search_budget::AbortedReason;

/// How many names a notice gives as examples.
const EXAMPLES: usize = 5;

/// What was left out, by one thread or by all.
#[derive(Debug, Default)]
pub(crate) struct Skipped {
    /// Names that begin with a dot.
    pub(crate) hidden: u64,
    /// What ignore files name.
    pub(crate) ignored: u64,
    /// Whether AUTONOUS_TOOL_DENY_PATHS denied a name.
    pub(crate) denied: bool,
    /// Files with a NUL byte.
    pub(crate) binary: u64,
    /// Directories and files that the server's user cannot read.
    pub(crate) unreadable: PathSamples,
    /// Files that were searched only up to a line too long to be held.
    pub(crate) long_lined: PathSamples,
    /// Whether directories lie too deep.
    pub(crate) too_deep: bool,
    /// Whether parts of the tree were not looked at because the page could not need them.
    pub(crate) is_incomplete: bool,
}

/// A number of paths, and the first of them as examples.
#[derive(Debug, Default)]
pub(crate) struct PathSamples {
    number: u64,
    first: BTreeSet<String>,
}

impl PathSamples {
    /// Adds a path as it is shown.
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
        let first = self.first.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        (self.number > 0).then(|| format!("{what} ({}): {first}.", self.number))
    }
}

impl Skipped {
    /// Adds what another thread left out.
    pub(crate) fn merge(&mut self, other: Self) {
        self.hidden += other.hidden;
        self.ignored += other.ignored;
        self.denied |= other.denied;
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

    /// One notice for each kind of what was left out.
    pub(crate) fn notices(&self, aborted: Option<AbortedReason>) -> Vec<String> {
        let mut notices: Vec<String> = aborted.map(abort_notice).into_iter().collect();
        let is_exact = aborted.is_none() && !self.is_incomplete;
        notices.extend(self.hidden_notice(is_exact));
        notices.extend(self.ignored_notice(is_exact));
        if self.denied {
            notices.push("Names that AUTONOUS_TOOL_DENY_PATHS denies are left out.".to_owned());
        }
        if self.binary > 0 {
            let binary = counted(self.binary, is_exact, "binary file", "binary files");
            notices.push(format!("{binary} left out."));
        }
        notices.extend(self.unreadable.notice("Not readable by the server's user"));
        let most = MAX_LINE_BYTES >> 20;
        notices.extend(self.long_lined.notice(&format!("Searched only up to a line of over {most} MiB")));
        if self.too_deep {
            notices.push(format!(
                "Directories more than {MAX_DEPTH} levels down are left out; name one as `path`."
            ));
        }
        notices
    }

    fn hidden_notice(&self, is_exact: bool) -> Option<String> {
        let hidden = counted(self.hidden, is_exact, "hidden entry", "hidden entries");
        (self.hidden > 0)
            .then(|| format!("{hidden} left out, with all beneath; set include_hidden to search there, too."))
    }

    fn ignored_notice(&self, is_exact: bool) -> Option<String> {
        let ignored = counted(self.ignored, is_exact, "ignored entry", "ignored entries");
        (self.ignored > 0).then(|| {
            format!("{ignored} left out, with all beneath; set include_ignored to search there, too.")
        })
    }
}

/// "3 hidden entries are", or "Hidden entries are" where the number is not exact.
fn counted(number: u64, is_exact: bool, one: &str, many: &str) -> String {
    match (is_exact, number) {
        (true, 1) => format!("1 {one} is"),
        (true, _) => format!("{number} {many} are"),
        (false, _) => format!("{}{} are", many[..1].to_uppercase(), &many[1..]),
    }
}

fn abort_notice(reason: AbortedReason) -> String {
    let what = match reason {
        AbortedReason::TimeLimit => "its time was used up",
        AbortedReason::CountLimit => "AUTONOUS_TOOL_SEARCH_MAX_ENTRIES entries were looked at",
    };
    format!(
        "The search ended before it had seen everything, because {what}: what is shown is right, but more \
         may be there. Search a smaller directory."
    )
}
