//! The system prompt: a file for people to edit, with a few facts of the task filled in.
//!
//! The text is `prompts/system.md`, for a small window `prompts/compact.md`, for a small model
//! `prompts/small.md`, unless the task brings another.

pub(crate) use process::models::PromptForm;
use protocol::Task;

const FULL: &str = include_str!("../prompts/system.md");
const COMPACT: &str = include_str!("../prompts/compact.md");
const SMALL: &str = include_str!("../prompts/small.md");

/// Below this window, in tokens, a model gets the compact form by default.
const SMALL_WINDOW: usize = 32_000;

/// Below this window a model gets the form for small models, unless its size is known to be larger: only
/// small models come with so little room.
const TINY_WINDOW: usize = 16_000;

/// Below this number of parameters, in billions, a model is small.
const SMALL_MODEL: f64 = 4.0;

/// The default for a model with this window and this many billions of parameters, as far as they are known.
pub(crate) fn default_form(window: usize, billions: Option<f64>) -> PromptForm {
    match billions {
        Some(billions) if billions < SMALL_MODEL => PromptForm::Small,
        None if window < TINY_WINDOW => PromptForm::Small,
        Some(_) | None if window < SMALL_WINDOW => PromptForm::Compact,
        Some(_) | None => PromptForm::Full,
    }
}

/// That of a small model names no directory: it was seen to take the end of the path for one below its own.
fn template(form: PromptForm) -> &'static str {
    match form {
        PromptForm::Full => FULL,
        PromptForm::Compact => COMPACT,
        PromptForm::Small => SMALL,
    }
}

pub(crate) fn system(task: &Task, form: PromptForm) -> String {
    fill(task.system_prompt.as_deref().unwrap_or(template(form)), &task.date, &task.roots)
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
        for form in PromptForm::ALL {
            let filled = fill(template(form), "2026-01-31", &["/w/a".to_owned(), "/w/b".to_owned()]);
            assert!(!filled.contains("{{") && !filled.contains("}}"), "{filled}");
            assert!(filled.contains("Today is 2026-01-31 (UTC)."));
            assert_eq!(filled.contains(": /w/a, /w/b\n"), form != PromptForm::Small, "{filled}");
        }
    }

    #[test]
    fn missing_facts_are_not_invented() {
        let filled = fill("{{date}}|{{roots}}", "", &[]);
        assert_eq!(filled, "unknown|those that the tools accept; begin with the path `.`");
    }

    #[test]
    fn the_size_decides_before_the_window() {
        for (window, billions, expected) in [
            (15_999, None, PromptForm::Small),
            (16_000, None, PromptForm::Compact),
            (31_999, None, PromptForm::Compact),
            (32_000, None, PromptForm::Full),
            (200_000, Some(1.5), PromptForm::Small),
            (8_000, Some(4.0), PromptForm::Compact),
            (40_000, Some(4.0), PromptForm::Full),
        ] {
            assert_eq!(default_form(window, billions), expected, "{window} {billions:?}");
        }
    }
}
