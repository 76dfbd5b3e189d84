//! The rules, as data. Each says what it refuses, why, what to do instead, and brings examples of both
//! kinds, which one test runs for all of them.
//!
//! A rule is a row of one of the tables below and nothing registers itself. A rule's condition sees one
//! command and the settings; it must not refuse for what it does not know.

mod bare;
mod denylist;
mod destructive;
mod git;
mod interactive;
mod network;
mod packages;
mod privilege;
mod removal;

use super::PolicySettings;
use super::command::Command;

pub use denylist::EXAMPLE_DENIED_WORD;

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// What it is about; a heading in the docs.
    pub name: &'static str,
    /// The command words that it looks at.
    pub words: &'static [&'static str],
    /// Where no fixed words say it: what the words are.
    pub other_words: &'static str,
    /// When it refuses, in words.
    pub when: &'static str,
    /// Whether it refuses one of its words with these arguments, in this place.
    pub(super) applies: fn(&Command, &PolicySettings) -> bool,
    /// Why; the end of the sentence "… was not run: ".
    pub reason: &'static str,
    /// The better way.
    pub hint: &'static str,
    /// Lines that it refuses, with the network off and `/workspace/main` as the root.
    pub refused: &'static [&'static str],
    /// Lines that look alike and pass.
    pub passed: &'static [&'static str],
}

/// All rules; the first that applies gives the answer. What the operator forbids comes first, the rules
/// that merely know a better tool come last.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    const TABLES: [&[Rule]; 9] = [
        denylist::RULES,
        privilege::RULES,
        destructive::RULES,
        removal::RULES,
        interactive::RULES,
        git::RULES,
        network::RULES,
        packages::RULES,
        bare::RULES,
    ];
    TABLES.into_iter().flatten()
}

impl Rule {
    /// Whether this rule refuses a command.
    pub(super) fn refuses(&self, command: &Command, settings: &PolicySettings) -> bool {
        let its_word = self.words.is_empty() || self.words.contains(&command.name.as_str());
        its_word && (self.applies)(command, settings)
    }
}

/// The condition of a rule whose words are refused whatever follows them, but for a question about the
/// program itself.
fn unless_help(command: &Command, _: &PolicySettings) -> bool {
    !command.asks_for_help()
}
