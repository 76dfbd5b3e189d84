//! The system prompt: a file for people to edit, with a few facts of the task filled in.
//!
//! The text is `prompts/system.md`, unless the task brings another.

use protocol::Task;

const SYSTEM: &str = include_str!("../prompts/system.md");

pub(crate) fn system(task: &Task) -> String {
    fill(task.system_prompt.as_deref().unwrap_or(SYSTEM), &task.date, &task.roots)
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

    /// Roughly four characters are one token.
    const MAX_CHARS: usize = 1200 * 4;

    #[test]
    fn the_prompt_is_short_enough_to_be_sent_every_turn() {
        assert!(SYSTEM.chars().count() < MAX_CHARS, "{}", SYSTEM.chars().count());
    }

    #[test]
    fn every_placeholder_is_filled() {
        let filled = fill(SYSTEM, "2026-01-31", &["/w/a".to_owned(), "/w/b".to_owned()]);
        assert!(!filled.contains("{{") && !filled.contains("}}"), "{filled}");
        assert!(filled.contains("Today is 2026-01-31 (UTC).") && filled.contains(": /w/a, /w/b\n"));
    }

    #[test]
    fn missing_facts_are_not_invented() {
        let filled = fill("{{date}}|{{roots}}", "", &[]);
        assert_eq!(filled, "unknown|those that the tools accept; begin with the path `.`");
    }
}
