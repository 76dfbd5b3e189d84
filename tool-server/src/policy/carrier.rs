//! Commands that carry other commands: `env`, `timeout`, `xargs`, `find -exec`, `bash -c`, `eval`.
//!
//! What is carried is judged like what stands in the open. A carrier that is missing here costs a
//! courtesy and no safety.

use super::arguments::options_at_front;
use super::command::{Command, Input};
use super::word::Word;

/// What a command starts besides itself.
#[derive(Debug)]
pub(super) enum Carried {
    /// Another command, whose words are known one by one.
    Command(Vec<Word>),
    /// Shell code, to be parsed again.
    Code(String),
}

/// A program that starts the command that its arguments end in.
struct Prefix {
    words: &'static [&'static str],
    /// Its options that take a value.
    valued: &'static [&'static str],
    /// Its own operands before the command.
    operands: usize,
}

const fn prefix(words: &'static [&'static str], valued: &'static [&'static str], operands: usize) -> Prefix {
    Prefix { words, valued, operands }
}

const PREFIXES: &[Prefix] = &[
    prefix(&["builtin", "nohup", "setsid", "coproc", "busybox", "toybox", "fakeroot", "unbuffer"], &[], 0),
    prefix(&["command"], &[], 0),
    prefix(&["exec"], &["-a"], 0),
    prefix(&["env"], &["-u", "--unset", "-C", "--chdir", "-S", "--split-string"], 0),
    prefix(&["nice"], &["-n", "--adjustment"], 0),
    prefix(&["ionice"], &["-c", "-n", "--class", "--classdata"], 0),
    prefix(&["time"], &["-f", "-o", "--format", "--output"], 0),
    prefix(&["timeout"], &["-s", "-k", "--signal", "--kill-after"], 1),
    prefix(&["stdbuf"], &["-i", "-o", "-e", "--input", "--output", "--error"], 0),
    prefix(&["taskset", "chrt"], &[], 1),
    prefix(&["flock"], &["-w", "-E", "--timeout", "--conflict-exit-code"], 1),
    prefix(&["strace", "ltrace"], &["-o", "-e", "-s", "-p", "-u", "-E", "-P"], 0),
    prefix(&["xvfb-run"], &["-n", "-s", "-f", "--server-num", "--server-args"], 0),
    prefix(
        &["xargs"],
        &["-I", "-n", "-P", "-d", "-L", "-E", "-a", "-s", "--max-args", "--max-procs", "--delimiter"],
        0,
    ),
];

const SHELLS: [&str; 7] = ["bash", "sh", "dash", "zsh", "ksh", "ash", "rbash"];

/// What this command starts besides itself.
pub(super) fn carried_by(command: &Command) -> Vec<Carried> {
    let words = &command.arguments;
    match command.name.as_str() {
        "find" | "fd" | "fdfind" => executed_per_file(words),
        "eval" => vec![Carried::Code(joined(words))],
        "trap" => words.first().filter(|word| word.text().contains(' ')).map(code).into_iter().collect(),
        "command" if command.says(&["-v", "-V"]) => Vec::new(),
        "env" if command.says(&["-S", "--split-string"]) => split_string(words),
        name if SHELLS.contains(&name) => shell_code(command),
        name if name.starts_with("python") => module(words),
        name => PREFIXES
            .iter()
            .find(|prefix| prefix.words.contains(&name))
            .and_then(|prefix| after(prefix, command))
            .into_iter()
            .collect(),
    }
}

/// Whether this command changes nothing about the one that it carries but its circumstances, so that the
/// line is still that one simple command.
pub(super) fn is_transparent(name: &str) -> bool {
    !matches!(name, "xargs" | "find" | "fd" | "fdfind" | "time" | "strace" | "ltrace")
}

fn code(word: &Word) -> Carried {
    Carried::Code(word.as_code())
}

fn joined(words: &[Word]) -> String {
    words.iter().map(Word::as_code).collect::<Vec<_>>().join(" ")
}

fn after(prefix: &Prefix, command: &Command) -> Option<Carried> {
    let mut rest = &command.arguments[options_at_front(&command.arguments, prefix.valued)..];
    if command.name == "env" {
        let assignments = rest.iter().take_while(|word| word.text().contains('=')).count();
        rest = &rest[assignments..];
    }
    let mut inner = rest.get(prefix.operands..)?.to_vec();
    if command.name == "flock" && inner.first().is_some_and(|word| word.text() == "-c") {
        return inner.get(1).map(code);
    }
    if command.name == "xargs" {
        // xargs appends what it reads.
        inner.push(Word::unknown());
        return (inner.len() > 1).then_some(Carried::Command(inner));
    }
    (!inner.is_empty()).then_some(Carried::Command(inner))
}

fn split_string(words: &[Word]) -> Vec<Carried> {
    let at = words.iter().position(|word| matches!(word.text(), "-S" | "--split-string"));
    vec![Carried::Code(joined(&words[at.map_or(0, |at| at + 1)..]))]
}

/// The commands of `find … -exec … ;`, and of `fd -x …`.
fn executed_per_file(words: &[Word]) -> Vec<Carried> {
    const EXECUTE: [&str; 8] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let parts = words.split(|word| EXECUTE.contains(&word.text())).skip(1);
    let commands =
        parts.map(|part| part.iter().take_while(|word| !matches!(word.text(), ";" | "+")).cloned());
    commands.map(|words| Carried::Command(words.collect())).collect()
}

/// The code of `bash -c '…'`, or what a shell without a script reads from a here-document.
fn shell_code(command: &Command) -> Vec<Carried> {
    let words = &command.arguments;
    let own = options_at_front(words, &["-o", "-O", "--rcfile", "--init-file"]);
    let is_code_option = |word: &Word| {
        let text = word.text();
        text.starts_with('-') && !text.starts_with("--") && text.contains('c')
    };
    if words[..own].iter().any(is_code_option) {
        return words.get(own).map(code).into_iter().collect();
    }
    let reads_input = words.len() == own || command.says(&["-s", "/dev/stdin", "-"]);
    match &command.place.input {
        Input::Text(text) if reads_input => vec![Carried::Code(text.clone())],
        _ => Vec::new(),
    }
}

/// `python3 -m pip …` is pip.
fn module(words: &[Word]) -> Vec<Carried> {
    match words {
        [option, rest @ ..] if option.text() == "-m" && rest.first().is_some_and(|w| w.text() == "pip") => {
            vec![Carried::Command(rest.to_vec())]
        }
        _ => Vec::new(),
    }
}
