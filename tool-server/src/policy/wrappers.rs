//! Commands that start other commands: `env`, `timeout`, `xargs`, `find -exec`, `bash -c`, `eval`.
//!
//! The wrapped command is judged like any other. A wrapper that is missing here costs some time, never
//! safety.

use super::arguments::{Arguments, listed};
use super::command::Command;
use super::word::{UNKNOWN, Word};

pub(super) enum Wrapped {
    /// Another command, with its words known one by one.
    Command(Vec<Word>),
    /// Shell code, which still has to be parsed.
    Code(String),
}

/// Programs that run the command at the end of their arguments: their names, their options with a value,
/// and how many operands of their own come first.
const PREFIXES: [(&str, &str, usize); 9] = [
    ("builtin command coproc nohup setsid busybox toybox fakeroot unbuffer", "", 0),
    ("exec", "-a", 0),
    ("env", "-u --unset -C --chdir", 0),
    ("nice ionice", "-n -c --adjustment --class --classdata", 0),
    ("timeout", "-s -k --signal --kill-after", 1),
    ("taskset chrt", "", 1),
    ("flock", "-w -E --timeout --conflict-exit-code", 1),
    ("time stdbuf strace ltrace xvfb-run", "-i -o -e -s -p -u -E -P -n -f --output --format", 0),
    ("xargs", "-I -n -P -d -L -E -a -s --max-args --max-procs --delimiter", 0),
];

/// What this command starts besides itself.
pub(super) fn wrapped_by(command: &Command) -> Vec<Wrapped> {
    let words = command.arguments.as_slice();
    let code_of =
        |words: &[Word]| Wrapped::Code(words.iter().map(Word::as_code).collect::<Vec<_>>().join(" "));
    match command.name.as_str() {
        "find" | "fd" | "fdfind" => executed_per_file(words),
        "eval" => vec![code_of(words)],
        "trap" if words.len() > 1 => vec![code_of(&words[..1])],
        "command" if command.has("-v -V") => Vec::new(),
        "env" if command.has("-S --split-string") => {
            let at = words.iter().position(|word| listed("-S --split-string", word.text()));
            vec![code_of(&words[at.map_or(0, |at| at + 1)..])]
        }
        "bash" | "sh" | "dash" | "zsh" | "ksh" | "ash" | "rbash" => shell_code(command).into_iter().collect(),
        name if name.starts_with("python") && words.len() > 1 => {
            let is_pip = words[0].text() == "-m" && words[1].text() == "pip";
            is_pip.then(|| Wrapped::Command(words[1..].to_vec())).into_iter().collect()
        }
        name => {
            let prefix = PREFIXES.iter().find(|(names, ..)| listed(names, name));
            prefix.and_then(|(_, valued, own)| behind_prefix(command, valued, *own)).into_iter().collect()
        }
    }
}

/// Whether a command runs something that its words do not show: as another user, or from its input.
pub(super) fn runs_unseen_code(command: &Command) -> bool {
    let is_shell = listed("bash sh dash zsh ksh ash rbash", &command.name);
    let arguments = Arguments::of(&command.arguments, "-o -O --rcfile --init-file");
    let has_script = !arguments.operands.is_empty() && !command.has("-s /dev/stdin -");
    listed("sudo doas su run0 pkexec", &command.name)
        || is_shell && !has_script && !command.asks_for_help() && command.context.here_text.is_none()
}

fn behind_prefix(command: &Command, valued: &str, operands: usize) -> Option<Wrapped> {
    let rest = Arguments::of(&command.arguments, valued).rest;
    let is_assignment = |word: &&Word| command.name == "env" && word.text().contains('=');
    let own = operands + rest.iter().take_while(is_assignment).count();
    let mut inner = rest.get(own..).filter(|inner| !inner.is_empty())?.to_vec();
    match command.name.as_str() {
        "flock" if inner[0].text() == "-c" => return inner.get(1).map(|word| Wrapped::Code(word.as_code())),
        // xargs appends what it reads.
        "xargs" => inner.push(Word::new(UNKNOWN)),
        _ => {}
    }
    Some(Wrapped::Command(inner))
}

/// The commands of `find … -exec … ;`, and of `fd -x …`.
fn executed_per_file(words: &[Word]) -> Vec<Wrapped> {
    const EXECUTE: &str = "-exec -execdir -ok -okdir -x -X --exec --exec-batch";
    let parts = words.split(|word| listed(EXECUTE, word.text())).skip(1);
    let is_inside = |word: &&Word| !listed("; +", word.text());
    parts.map(|part| Wrapped::Command(part.iter().take_while(is_inside).cloned().collect())).collect()
}

/// The code of `bash -c '…'`, or what a shell without a script reads from a here-document.
fn shell_code(command: &Command) -> Option<Wrapped> {
    let arguments = Arguments::of(&command.arguments, "-o -O --rcfile --init-file");
    if arguments.has("-c") {
        return arguments.operands.first().map(|code| Wrapped::Code(code.as_code()));
    }
    let reads_input = arguments.operands.is_empty() || command.has("-s /dev/stdin -");
    command.context.here_text.clone().filter(|_| reads_input).map(Wrapped::Code)
}
