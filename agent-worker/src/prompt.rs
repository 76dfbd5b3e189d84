//! The system prompt: a file for people to edit, with a few facts of the task filled in.
//!
//! The text is `prompts/system.md`, for a small model `prompts/compact.md`, unless the task brings another.

use protocol::Task;

const FULL: &str = include_str!("../prompts/system.md");
const COMPACT: &str = include_str!("../prompts/compact.md");

/// Below this window, in tokens, a model gets the compact form by default.
const SMALL_WINDOW: usize = 32_000;

/// How much a model is told of its rules and its tools with every request (`AUTONOUS_MODEL_PROMPT`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PromptForm {
    Full,
    Compact,
}

impl PromptForm {
    /// The default for a model with this window.
    pub(crate) fn for_window(tokens: usize) -> Self {
        if tokens < SMALL_WINDOW { Self::Compact } else { Self::Full }
    }

    fn template(self) -> &'static str {
        match self {
            Self::Full => FULL,
            Self::Compact => COMPACT,
        }
    }
}

pub(crate) fn system(task: &Task, form: PromptForm) -> String {
    fill(task.system_prompt.as_deref().unwrap_or(form.template()), &task.date, &task.roots)
}

fn fill(template: &str, date: &str, roots: &[String]) -> String {
    let date = if date.is_empty() { "unknown" } else { date };
    let roots = if roots.is_empty() {
        "those that the tools accept; begin with the path `.`".to_owned()
    } else {
        roots.join(", ")
    };
    template.replace("{{date}}", date).replace("{{roots}}", &roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_filled() {
        for form in [PromptForm::Full, PromptForm::Compact] {
            let filled = fill(form.template(), "2026-01-31", &["/w/a".to_owned(), "/w/b".to_owned()]);
            assert!(!filled.contains("{{") && !filled.contains("}}"), "{filled}");
            assert!(filled.contains("Today is 2026-01-31 (UTC).") && filled.contains(": /w/a, /w/b\n"));
        }
    }

    #[test]
    fn missing_facts_are_not_invented() {
        let filled = fill("{{date}}|{{roots}}", "", &[]);
        assert_eq!(filled, "unknown|those that the tools accept; begin with the path `.`");
    }

    #[test]
    fn a_small_window_gets_the_compact_form() {
        assert_eq!(PromptForm::for_window(31_999), PromptForm::Compact);
        assert_eq!(PromptForm::for_window(32_000), PromptForm::Full);
    }
}
