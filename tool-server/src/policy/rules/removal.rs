//! Removing, or opening to everyone, a root or what holds it.

use super::Rule;
use crate::policy::PolicySettings;
use crate::policy::arguments::Arguments;
use crate::policy::command::Command;
use crate::policy::paths::is_root_or_above;
use crate::policy::word::Word;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "Removing a root",
        words: &["rm"],
        other_words: "",
        when: "with `-r`, when an operand is a root, something that holds one, the home directory, a directory of the system, or everything within one of these. A relative operand counts where a `cd` in the line says what it is relative to.",
        applies: removes_root,
        reason: "it would remove a whole root, or what lies above it.",
        hint: "Name what is to go, beneath the root: `rm -rf <root>/<directory>`.",
        refused: &[
            "rm -rf /",
            "rm -rf /*",
            "rm -fr ~",
            "rm -r --force \"$HOME\"",
            "rm -rf $HOME/*",
            "rm -rf /workspace",
            "rm -rf /workspace/main/",
            "rm -rf /workspace/main/*",
            "rm -rf /workspace/main/../../etc",
            "true | rm -rf -- /",
            "cd / && rm -rf *",
            "r''m -R -f /etc",
            "find . -name x -exec rm -rf / \\;",
            "rm -rf --no-preserve-root /",
        ],
        passed: &[
            "rm -rf target",
            "rm -rf /workspace/main/target",
            "rm -rf ./build/*",
            "rm -f /workspace/main/*.o",
            "rm -rf \"$dir\"",
            "rm -rf \"$HOME/.cache\"",
            "cd build && rm -rf *",
            "rm -rf /tmp/x",
            "rm -rf '~'",
            "rm -rf *.log",
        ],
    },
    Rule {
        name: "Rights of a whole machine",
        words: &["chmod", "chown", "chgrp"],
        other_words: "",
        when: "with `-R`, when an operand lies above the roots or is a directory of the system.",
        applies: changes_rights_above,
        reason: "it would change the rights of everything on the machine.",
        hint: "Name the directory beneath a root whose rights are to change.",
        refused: &["chmod -R 777 /", "chown -R nobody /etc", "chmod -R a+w /workspace"],
        passed: &[
            "chmod -R u+w /workspace/main",
            "chmod +x run.sh",
            "chmod -R 755 .",
            "chown -R \"$(id -u)\" out",
        ],
    },
    Rule {
        name: "Finding and removing everything",
        words: &["find"],
        other_words: "",
        when: "with `-delete` and no test that chooses, from a root or above.",
        applies: deletes_everything,
        reason: "it would remove everything in a whole root, or above it.",
        hint: "Start below the root, or say which files: `find <directory> -name '<pattern>' -delete`.",
        refused: &["find / -delete", "find /workspace/main -mindepth 1 -delete", "find ~ -type f -delete"],
        passed: &[
            "find . -name '*.pyc' -delete",
            "find /workspace/main -name '*.o' -delete",
            "find build -delete",
        ],
    },
];

fn removes_root(command: &Command, settings: &PolicySettings) -> bool {
    let arguments = Arguments::of(&command.arguments, &[]);
    let recursive = arguments.has(&["-r", "-R", "--recursive"]);
    let directory = command.directory.as_deref();
    recursive && arguments.operands.iter().any(|word| is_root_or_above(word, directory, &settings.roots))
}

fn changes_rights_above(command: &Command, settings: &PolicySettings) -> bool {
    let arguments = Arguments::of(&command.arguments, &[]);
    let is_root =
        |word: &Word| word.known().is_some_and(|path| settings.roots.iter().any(|root| root == path));
    let above = |word: &&&Word| is_root_or_above(word, None, &settings.roots) && !is_root(word);
    arguments.has(&["-R", "--recursive"]) && arguments.operands.iter().any(|word| above(&word))
}

fn deletes_everything(command: &Command, settings: &PolicySettings) -> bool {
    const CHOOSING_NOTHING: [&str; 8] =
        ["-delete", "-type", "-depth", "-mindepth", "-maxdepth", "-print", "-xdev", "-print0"];
    let mut options = command.arguments.iter().map(Word::text).filter(|text| text.starts_with('-'));
    let starts = command.arguments.iter().take_while(|word| !word.text().starts_with('-'));
    command.says(&["-delete"])
        && options.all(|option| CHOOSING_NOTHING.contains(&option))
        && starts
            .into_iter()
            .any(|word| is_root_or_above(word, command.directory.as_deref(), &settings.roots))
}
