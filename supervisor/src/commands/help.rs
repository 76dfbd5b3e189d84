//! `/help` and `/start`.

use std::fmt::Write as _;

use texts::{Language, Text};

use super::COMMANDS;
use super::models::Models;

/// What the bot is and each command that its reader may give, once.
pub(super) fn text(models: &Models, language: Language, is_owner: bool) -> String {
    let examples = if models.is_without_model() { Text::ExamplesWithoutModel } else { Text::Examples };
    let mut text = format!("{}\n\n{}\n", Text::WhatIAm.to(language), examples.to(language));
    let is_second_name = |summary| matches!(summary, Text::SummarySameAsStop | Text::SummarySameAsHelp);
    let shown = COMMANDS.iter().filter(|command| is_owner || !command.is_owners);
    for command in shown.filter(|command| !is_second_name(command.summary)) {
        let _ = write!(text, "\n/{} – {}", command.name, command.summary.to(language));
    }
    text
}
