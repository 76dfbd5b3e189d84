//! The system prompt: a file for people to edit, with the few facts of a task filled in.
//!
//! The text itself is `prompts/system.md`; a task may bring another. Nothing of the prompt is written
//! in code, apart from what stands for a fact that the task does not bring.

use protocol::Task;

/// The prompt of a task that brings none.
const SYSTEM: &str = include_str!("../prompts/system.md");

/// The system prompt of this task.
pub fn system(task: &Task) -> String {
    fill(task.system_prompt.as_deref().unwrap_or(SYSTEM), &task.date, &task.roots)
}

fn fill(template: &str, date: &str, roots: &[String]) -> String {
    let date = if date.is_empty() { "a day that you were not told" } else { date };
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
    fn facts_that_the_task_does_not_bring_are_not_invented() {
        let filled = fill("{{date}}|{{roots}}", "", &[]);
        assert_eq!(
            filled,
            "a day that you were not told|those that the tools accept; begin with the path `.`"
        );
    }
}
