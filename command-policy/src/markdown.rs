//! The table as a document. `docs/command-policy.md` is this text, and a test compares the two.

use super::table::{RULES, Rule};

const PREAMBLE: &str = "# Command policy

What the `bash` tool refuses with `COMMAND_DENIED`, and the hint that it gives.
`make docs` generates this page from `command-policy/src/table.rs`.

The kernel decides what a command can do; these rules only save time.
The command line is parsed, and its command words are judged wherever they stand: in pipelines, lists and
substitutions, behind `env`, `timeout`, `xargs` and `find -exec`, and in `bash -c` and `eval`.
What only the running shell knows is never the reason of a refusal, and bash itself reports syntax errors.
A line over 64 KiB is an `INVALID_ARGUMENT`; one that takes too long to parse is too complex to check.
`--version` and `--help` pass for every program that is not on the server's own list.

The last four rules refuse a reading command only where the tool does exactly the same: if the whole line is
that one simple command, or `cd X &&` it, without patterns, variables or redirections, beneath a root.
The refusal has the call to make, with its arguments.

| Words | Refused | Why | Instead | For example | Passes |
|---|---|---|---|---|---|
";

/// The whole document.
pub fn markdown() -> String {
    RULES.iter().map(row).fold(PREAMBLE.to_owned(), |text, row| text + &row)
}

fn row(rule: &Rule) -> String {
    let words = if rule.words.is_empty() { "AUTONOUS_TOOL_BASH_DENYLIST" } else { rule.words };
    let examples = |list: &str| format!("`{}`", list.split(" · ").collect::<Vec<_>>().join("` `"));
    let (refused, passed) = (examples(rule.refused), examples(rule.passed));
    let cells = [&format!("`{words}`"), &rule.form.in_words(), rule.reason, rule.hint, &refused, &passed];
    format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}
