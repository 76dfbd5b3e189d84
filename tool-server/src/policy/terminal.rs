//! Forms that need a person at a terminal.

use super::arguments::{Arguments, listed};
use super::command::Command;
use super::settings::PolicySettings;

/// A pager with a file, or a manual page, that is connected to nothing else.
pub(super) fn shows_pages(command: &Command, _: &PolicySettings) -> bool {
    let searches = listed("man info", &command.name) && command.has("-k -f -w -P --where --path --apropos");
    !command.context.piped && !searches && !command.asks_for_help()
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
