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
const PREFIXES: [(&str, &str, usize); 16] = [
    ("builtin command coproc nohup setsid busybox toybox fakeroot unbuffer parallel eatmydata", "", 0),
    ("entr setarch linux32 linux64 catchsegv valgrind dbus-run-session", "", 0),
    ("watch", "-n --interval", 0),
    ("unshare nsenter numactl prlimit", "-S -G -t -p --target --setuid --setgid --pid", 0),
    ("setpriv", "--reuid --regid --ruid --rgid --groups --inh-caps --ambient-caps --bounding-set", 0),
    ("exec", "-a", 0),
    ("env", "-u --unset -C --chdir -a --argv0", 0),
    ("chroot", "", 1),
    ("nice ionice", "-n -c --adjustment --class --classdata", 0),
    ("timeout", "-s -k --signal --kill-after", 1),
    ("taskset chrt", "", 1),
    ("flock", "-w -E --timeout --conflict-exit-code", 1),
    ("time", "-f -o --format --output", 0),
    ("stdbuf xvfb-run", "-i -o -e -s -n -p --input --output --error --server-num --server-args", 0),
    ("strace ltrace", "-a -b -e -E -I -l -n -o -O -p -P -s -S -u -U -X --output --trace --user", 0),
    (
        "xargs",
        "-I -n -P -d -L -E -a -s --max-args --max-procs --max-chars --delimiter --arg-file \
         --process-slot-var",
        0,
    ),
];

const SHELLS: &str = "bash sh dash zsh ksh ash rbash mksh posh yash csh tcsh fish";

/// The options of shells that take a value.
const OF_SHELLS: &str = "-o -O --rcfile --init-file";

/// What this command starts besides itself.
pub(super) fn wrapped_by(command: &Command) -> Vec<Wrapped> {
    let words = command.arguments.as_slice();
    let code_of =
        |words: &[Word]| Wrapped::Code(words.iter().map(Word::as_code).collect::<Vec<_>>().join(" "));
    match command.name.as_str() {
        "find" | "fd" | "fdfind" => executed_per_file(words),
        "eval" => vec![code_of(Arguments::of(words, "").rest)],
        "trap" => {
            let code = Arguments::of(words, "").rest;
            if code.len() > 1 { vec![code_of(&code[..1])] } else { Vec::new() }
        }
        // They give what follows to a shell.
        "watch" if !command.has("-x --exec") => vec![code_of(Arguments::of(words, "-n --interval").rest)],
        "script" => option_code(words, "-c --command"),
        "command" if command.has("-v -V") => Vec::new(),
        "env" if command.has("-S --split-string") => {
            let at = words.iter().position(|word| listed("-S --split-string", word.text()));
            vec![code_of(&words[at.map_or(0, |at| at + 1)..])]
        }
        name if listed(SHELLS, name) => shell_code(command).into_iter().collect(),
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
    let is_shell = listed(SHELLS, &command.name);
    let arguments = Arguments::of(&command.arguments, OF_SHELLS);
    let has_script = !arguments.operands.is_empty() && !command.has("-s /dev/stdin -");
    let changes_names = match command.name.as_str() {
        "alias" => !command.arguments.is_empty(),
        "hash" => command.has("-p"),
        "enable" => command.has("-f"),
        _ => false,
    };
    listed("sudo doas su run0 pkexec", &command.name)
        || changes_names
        || up_to_script(command).iter().any(is_input)
        || command.name == "parallel" && arguments.operands.is_empty()
        || is_shell && !has_script && !command.asks_for_help() && command.context.here_text.is_none()
}

/// The words of a shell up to the name of its script. One that only the running shell knows could be an
/// option with code.
pub(super) fn up_to_script(command: &Command) -> &[Word] {
    let is_shell = listed(SHELLS, &command.name) && !command.asks_for_help() && !command.has("-c");
    if !is_shell && !listed(". source", &command.name) {
        return &[];
    }
    let operands = Arguments::of(&command.arguments, OF_SHELLS).operands;
    let is_script = |word: &Word| operands.first().is_some_and(|script| std::ptr::eq(*script, word));
    let end = command.arguments.iter().position(is_script).map_or(command.arguments.len(), |at| at + 1);
    &command.arguments[..end]
}

/// Whether a script is what the shell reads from an open file, such as `/dev/stdin`.
fn is_input(script: &Word) -> bool {
    ["/dev/", "/proc/"].iter().any(|place| script.text().starts_with(place))
}

/// Whether a builtin sets variables in a way that the line does not show.
pub(super) fn sets_variables(command: &Command) -> bool {
    listed("read mapfile readarray getopts let unset . source", &command.name)
        || command.name == "printf" && command.has("-v")
}

/// The code in the value of an option.
fn option_code(words: &[Word], options: &str) -> Vec<Wrapped> {
    let code = Arguments::of(words, options).values(options).first().map(|code| code.replace(UNKNOWN, "$_"));
    code.map(Wrapped::Code).into_iter().collect()
}

fn behind_prefix(command: &Command, valued: &str, operands: usize) -> Option<Wrapped> {
    let rest = Arguments::of(&command.arguments, valued).rest;
    let is_assignment = |word: &&Word| command.name == "env" && word.text().contains('=');
    let own = operands + rest.iter().take_while(is_assignment).count();
    let mut inner = rest.get(own..).filter(|inner| !inner.is_empty())?.to_vec();
    match command.name.as_str() {
        "flock" if inner[0].text() == "-c" => return inner.get(1).map(|word| Wrapped::Code(word.as_code())),
        // xargs appends what it reads, or puts it in the place of a mark.
        "xargs" => {
            let marks = Arguments::of(&command.arguments, valued).values("-I --replace");
            for mark in marks.into_iter().filter(|mark| !mark.is_empty()) {
                let filled = |word: &Word| match word.text().contains(mark) {
                    true => Word::new(word.text().replace(mark, &UNKNOWN.to_string())),
                    false => word.clone(),
                };
                inner = inner.iter().map(filled).collect();
            }
            inner.push(Word::new(UNKNOWN));
        }
        // Each job is a line for a shell.
        "parallel" => {
            let is_command = |word: &&Word| !word.text().starts_with(":::");
            let words: Vec<String> = inner.iter().take_while(is_command).map(Word::as_code).collect();
            return Some(Wrapped::Code(if words.is_empty() { "$_".to_owned() } else { words.join(" ") }));
        }
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
    let arguments = Arguments::of(&command.arguments, OF_SHELLS);
    if arguments.has("-c") {
        return arguments.operands.first().map(|code| Wrapped::Code(code.as_code()));
    }
    let reads_input = arguments.operands.is_empty() || command.has("-s /dev/stdin -");
    command.context.here_text.clone().filter(|_| reads_input).map(Wrapped::Code)
}
