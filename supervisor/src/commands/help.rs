//! `/help` and `/start`.

use std::fmt::Write as _;

use texts::{Language, Text};

use super::COMMANDS;
use super::models::Models;

pub(super) fn text(models: &Models, language: Language) -> String {
    let examples = if models.is_without_model() { Text::ExamplesWithoutModel } else { Text::Examples };
    let mut text = format!("{}\n\n{}\n", Text::WhatIAm.to(language), examples.to(language));
    let is_second_name = |summary| matches!(summary, Text::SummarySameAsStop | Text::SummarySameAsHelp);
    for command in COMMANDS.iter().filter(|command| !is_second_name(command.summary)) {
        let _ = write!(text, "\n/{} – {}", command.name, command.summary.to(language));
    }
    text
}
