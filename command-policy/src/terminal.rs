//! Forms that need a person at a terminal.

use super::arguments::{Arguments, listed};
use super::command::Command;
use super::settings::PolicySettings;

/// An editor that is given nothing to run by itself.
pub(super) fn waits_for_edits(command: &Command, _: &PolicySettings) -> bool {
    let is_batch = "-e -E -s -batch --batch --headless --script --eval -V -h -version --health";
    // `vim +10 a` is a line number, `vim +wq a` a command.
    let is_command = |text: &str| text.starts_with('+') && text.contains(|c: char| c.is_ascii_alphabetic());
    let is_vim = listed("vim vi nvim view vimdiff gvim rvim", &command.name);
    let runs =
        is_vim && (command.has("-c --cmd") || command.arguments.iter().any(|word| is_command(word.text())));
    !runs && !command.has(is_batch) && !command.asks_for_help()
}

/// Options with which a program that draws on a terminal prints instead.
const PRINTING: &[(&str, &str)] = &[
    ("top htop btop iotop", "-b --batch"),
    ("nmon", "-f -F"),
    ("glances", "--stdout --stdout-csv --stdout-json --export -w"),
    ("powertop", "--csv --html --calibrate --auto-tune"),
    ("iftop nethogs", "-t"),
    ("fzf", "-f --filter"),
    ("ncdu", "-o"),
    ("screen", "-d -D -ls -list -X -Q -wipe"),
    ("dialog whiptail", "--print-version"),
];

/// A program that draws on a terminal.
pub(super) fn draws(command: &Command, _: &PolicySettings) -> bool {
    let prints = PRINTING.iter().find(|(names, _)| listed(names, &command.name));
    let prints = prints.is_some_and(|(_, options)| command.has(options));
    let operands = Arguments::of(&command.arguments, "-f -L -S -c -T").operands;
    let verb = operands.first().map(|word| word.text());
    let works = match command.name.as_str() {
        // Its server needs no terminal; only a client does.
        "tmux" => match verb {
            None | Some("a" | "at" | "attach" | "attach-session") => false,
            Some("new" | "new-session") => command.has("-d"),
            Some(_) => true,
        },
        "aptitude" => verb.is_some(),
        _ => false,
    };
    !prints && !works && !command.has("-V -v -h") && !command.asks_for_help()
}

/// A shell or an interpreter without a script.
pub(super) fn has_nothing_to_run(command: &Command, _: &PolicySettings) -> bool {
    let nothing = command.arguments.iter().all(|word| listed("-i -l -il -li --login -q", word.text()));
    nothing && !command.context.piped
}

/// A git command that opens an editor, or asks about each part of a change.
pub(super) fn uses_git_terminal(command: &Command, _: &PolicySettings) -> bool {
    let Some((name, rest)) = command.git_subcommand() else { return false };
    let options = Arguments::of(rest, "-m -F -C -c -t -u -S -U -b -B -s --source --author --date");
    let message =
        "-m -F -C --message --file --reuse-message --no-edit --fixup --dry-run --short --porcelain -h";
    let edits = match name {
        "rebase" => options.has("-i --interactive --edit-todo"),
        "commit" => !options.has(message) && !options.has("-p --patch --interactive --help"),
        "tag" => options.has("-a --annotate --sign") && !options.has(message),
        _ => false,
    };
    let shows = name == "stash" && options.operands.first().is_some_and(|word| word.text() == "show");
    let asks = listed("add checkout restore reset stash commit", name)
        && options.has("-p --patch --interactive")
        || name == "add" && options.has("-i -e --edit")
        || listed("mergetool difftool gui citool", name) && !options.has("--tool-help -y --no-prompt");
    // `git commit "$@"` may well have the option that is missing here.
    let may_have_more = rest.iter().any(|word| word.known().is_none());
    edits && !command.context.editor_chosen && !may_have_more || asks && !shows && !command.context.piped
}
