//! Forms of git that open an editor or ask at a terminal.

use super::Rule;
use crate::policy::PolicySettings;
use crate::policy::arguments::{Arguments, options_at_front};
use crate::policy::command::Command;
use crate::policy::word::Word;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "git with an editor",
        words: &["git"],
        other_words: "",
        when: "`rebase -i`; `commit` without a message; `tag -a` without a message. Not when the line chooses the editor (`GIT_EDITOR=…`, `GIT_SEQUENCE_EDITOR=…`, `-c core.editor=…`).",
        applies: opens_editor,
        reason: "this form of git opens an editor, and nobody is there to type.",
        hint: "`git commit -m '…'` (or `--no-edit`), `git tag -m '…'`; for a rebase, `GIT_SEQUENCE_EDITOR=… git rebase -i`, or `git rebase --onto`, `cherry-pick`, `commit --fixup` with `GIT_SEQUENCE_EDITOR=true`.",
        refused: &[
            "git rebase -i HEAD~3",
            "git commit",
            "git commit --amend",
            "git -C repo commit -a",
            "git tag -a v1",
        ],
        passed: &[
            "git commit -m x",
            "git commit -qm m",
            "git commit -am 'fix: y'",
            "git commit --amend --no-edit",
            "git commit -F msg.txt",
            "git commit --dry-run",
            "GIT_SEQUENCE_EDITOR=true git rebase -i --autosquash main",
            "git rebase main",
            "git tag v1",
            "git tag -a v1 -m one",
            "git log --grep commit",
            "git commit --fixup HEAD~1",
        ],
    },
    Rule {
        name: "git that asks",
        words: &["git"],
        other_words: "",
        when: "`-p`, `--patch`, `-i` of `add`, `checkout`, `restore`, `reset`, `stash`, `commit`; `mergetool`, `difftool`, `gui`; unless there is input to answer with.",
        applies: asks,
        reason: "this form of git asks for each part at a terminal, and nobody is there to answer.",
        hint: "Stage whole files with `git add <file>`, or write the patch yourself and `git apply --cached` it.",
        refused: &["git add -p", "git add -i", "git checkout --patch main", "git stash -p", "git mergetool"],
        passed: &[
            "git add -A",
            "git log -p | head -100",
            "git diff -p",
            "yes | git add -p",
            "git stash push -m wip",
            "git stash show -p",
            "git apply --cached a.patch",
        ],
    },
];

/// The subcommand and what follows it, past the options of git itself.
pub(super) fn subcommand(command: &Command) -> Option<(&str, &[Word])> {
    let valued = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"];
    let own = options_at_front(&command.arguments, &valued);
    let (name, rest) = command.arguments.get(own..)?.split_first()?;
    Some((name.known()?, rest))
}

fn opens_editor(command: &Command, _: &PolicySettings) -> bool {
    let Some((name, rest)) = subcommand(command) else { return false };
    let arguments = Arguments::of(rest, &["-m", "-F", "-C", "-c", "-t", "-u", "-S", "--author", "--date"]);
    let opens = match name {
        "rebase" => arguments.has(&["-i", "--interactive", "--edit-todo"]),
        "commit" => !arguments.has(&[
            "-m",
            "-F",
            "-C",
            "--message",
            "--file",
            "--reuse-message",
            "--no-edit",
            "--fixup",
            "--dry-run",
            "--short",
            "--porcelain",
            "-h",
            "--help",
            "-p",
            "--patch",
            "--interactive",
        ]),
        "tag" => {
            arguments.has(&["-a", "-s", "--annotate", "--sign"])
                && !arguments.has(&["-m", "-F", "--message", "--file"])
        }
        _ => false,
    };
    // `git commit "$@"` may well have the option that is missed here.
    opens && !command.place.editor_chosen && !rest.iter().any(Word::is_wholly_unknown)
}

fn asks(command: &Command, _: &PolicySettings) -> bool {
    let Some((name, rest)) = subcommand(command) else { return false };
    let arguments = Arguments::of(rest, &["-m", "-F", "-U", "-b", "-B", "-s", "--source"]);
    let asks = match name {
        "add" => arguments.has(&["-p", "-i", "-e", "--patch", "--interactive", "--edit"]),
        "stash" if arguments.known(0) == Some("show") => false,
        "checkout" | "restore" | "reset" | "stash" | "commit" => {
            arguments.has(&["-p", "--patch", "--interactive"])
        }
        "mergetool" | "difftool" | "gui" | "citool" => !arguments.has(&["--tool-help", "-y", "--no-prompt"]),
        _ => false,
    };
    asks && command.place.input.is_empty()
}
