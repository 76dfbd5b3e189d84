//! The rules as a document. `docs/command-policy.md` is this text, and a test holds the two together.

use std::fmt::Write as _;

use super::rules;

const PREAMBLE: &str = "# Command policy

What the `bash` tool refuses with `COMMAND_DENIED`, and the better way that it names.
This file is generated from `tool-server/src/policy/rules/` by `make docs`.

The kernel decides what a command can do; these rules are a courtesy and no defence.
The command line is parsed, and its command words are judged wherever they stand: in pipelines, lists, substitutions, functions and loops, behind `env`, `timeout`, `xargs` and `find -exec`, and in `bash -c` and `eval`.
Quotes and escapes are resolved first.
A word with a variable or a substitution is unknown, and nothing is refused for being unknown.
A line with a part that is no valid shell syntax is judged strictly: each word in it that could be a command counts as one; if none of them is refused, bash itself says what is wrong.
A line of more than 64 KiB, or with a NUL byte, is answered with `INVALID_ARGUMENT`; one that is nested or strung together beyond what people write is refused as too tangled.

A command is *alone* when the whole line is that one simple command, or `cd X &&` it.
As a part of anything larger (a pipeline, a list, a redirection, a substitution) it is fine.

Whoever asks a program for `--version` or `--help` is answered by the program, whichever rule names it.
";

/// The whole document.
pub fn markdown() -> String {
    let mut text = PREAMBLE.to_owned();
    for rule in rules() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n## {}\n\n", rule.name);
        let _ = writeln!(
            text,
            "- Words: {}",
            if rule.words.is_empty() { rule.other_words.to_owned() } else { codes(rule.words, ", ") }
        );
        let _ = writeln!(text, "- Refused: {}", rule.when);
        let _ = writeln!(text, "- Reason: {}", rule.reason);
        let _ = writeln!(text, "- Hint: {}", rule.hint);
        let _ = writeln!(text, "- Examples of what is refused: {}", codes(rule.refused, " · "));
        let _ = writeln!(text, "- Examples of what passes: {}", codes(rule.passed, " · "));
    }
    text
}

/// Texts as inline code; one that has a backtick itself gets two around it.
fn codes(texts: &[&str], between: &str) -> String {
    let code = |text: &&str| {
        let text = text.replace('\n', " ⏎ ");
        if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
    };
    texts.iter().map(code).collect::<Vec<_>>().join(between)
}
