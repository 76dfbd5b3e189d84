//! The words that whoever runs the server refuses.

use super::Rule;
use crate::policy::PolicySettings;
use crate::policy::command::Command;

/// The word that the examples of this rule assume to be on the list.
pub const EXAMPLE_DENIED_WORD: &str = "terraform";

pub(super) const RULES: &[Rule] = &[Rule {
    name: "Words of this server",
    words: &[],
    other_words: "those in `AUTONOUS_TOOL_BASH_DENYLIST`, by name or by path",
    when: "always.",
    applies: is_denied,
    reason: "whoever runs this server has put it on AUTONOUS_TOOL_BASH_DENYLIST.",
    hint: "Do without it, and tell the user what is left for them to run.",
    refused: &[
        "terraform apply",
        "/usr/bin/terraform plan",
        "./terraform --version",
        "cd x && env A=1 terraform",
    ],
    passed: &["echo terraform", "cat terraform/main.tf | wc -l"],
}];

fn is_denied(command: &Command, settings: &PolicySettings) -> bool {
    let base = command.spelled.rsplit('/').next().unwrap_or(&command.spelled);
    settings.extra_denied.iter().any(|denied| denied == base || *denied == command.spelled)
}
