//! Programs that wait for somebody at a terminal. There is none: input is empty and output is collected.

use super::{Rule, unless_help};
use crate::policy::PolicySettings;
use crate::policy::arguments::Arguments;
use crate::policy::command::Command;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "Editors",
        words: &[
            "vim",
            "vi",
            "nvim",
            "view",
            "vimdiff",
            "gvim",
            "rvim",
            "nano",
            "pico",
            "emacs",
            "emacsclient",
            "joe",
            "micro",
            "mcedit",
            "hx",
            "helix",
            "kak",
            "ne",
        ],
        other_words: "",
        when: "unless it is told to work alone (`vim -es`, `emacs --batch`).",
        applies: edits_on_screen,
        reason: "an editor waits for somebody at a terminal, and nobody is there.",
        hint: "Change a file with the tool `edit` or `multi_edit`, make one with `write`.",
        refused: &[
            "vim src/main.rs",
            "EDITOR=x nano a",
            "v''i a",
            "\"vim\" a",
            "git status && emacs -nw x",
            "$'vim' a",
            "command vi a",
        ],
        passed: &[
            "vim -es -c 'wq' a",
            "emacs --batch -l x.el",
            "which vim",
            "command -v vim",
            "echo vim",
            "vim --version | head -1",
        ],
    },
    Rule {
        name: "Pagers",
        words: &["less", "more", "most", "pg"],
        other_words: "",
        when: "always.",
        applies: unless_help,
        reason: "a pager waits for somebody at a terminal, and nobody is there.",
        hint: "Leave the pager out: long output is cut and kept. A file is shown page by page by the tool `read`.",
        refused: &["less README.md", "git log | less", "more a", "if true; then less a; fi"],
        passed: &["git --no-pager log", "PAGER=less git log", "cat a | head -50", "npm run less"],
    },
    Rule {
        name: "Manuals",
        words: &["man", "info"],
        other_words: "",
        when: "unless its output goes to another command or a file, or it only searches (`-k`, `-f`, `-w`).",
        applies: pages_manual,
        reason: "a manual is shown in a pager, which waits for somebody at a terminal.",
        hint: "Send it on, `man <name> | col -b | head -100`, or ask the program: `<name> --help`.",
        refused: &["man ls", "info coreutils"],
        passed: &["man ls | col -b | head -40", "man -k copy", "man ls > ls.txt", "echo \"$(man -w ls)\""],
    },
    Rule {
        name: "Screens that refresh",
        words: &[
            "top", "htop", "btop", "atop", "iotop", "nmon", "glances", "watch", "powertop", "iftop",
            "nethogs",
        ],
        other_words: "",
        when: "unless `top` or `iotop` is told to print (`-b`).",
        applies: refreshes,
        reason: "it draws on a terminal until somebody ends it, and nobody is there.",
        hint: "Look once: `top -b -n 1 | head -20`, `ps aux`; repeat with `for i in 1 2 3; do …; sleep 1; done`.",
        refused: &["top", "htop", "watch -n 1 date", "nice top -d 1"],
        passed: &["top -b -n 1 | head", "top -bn1", "ps aux", "npm run watch", "cargo watch --version"],
    },
    Rule {
        name: "Terminals within terminals",
        words: &["tmux", "screen", "byobu", "zellij", "minicom", "picocom"],
        other_words: "",
        when: "unless it is asked for its version.",
        applies: opens_terminal,
        reason: "it needs a terminal, and its sessions would outlive the call.",
        hint: "Run the command itself; what must run beside another goes behind `&`, ended with `kill` in the same call.",
        refused: &["tmux", "screen -S build", "tmux new -d make"],
        passed: &["tmux -V", "make & wait", "python3 -m http.server 8000 & pid=$!; kill $pid"],
    },
    Rule {
        name: "Menus and pickers",
        words: &[
            "fzf", "dialog", "whiptail", "mc", "ranger", "nnn", "ncdu", "tig", "lazygit", "gitk", "aptitude",
        ],
        other_words: "",
        when: "unless `fzf` filters (`-f`, `--filter`).",
        applies: offers_menu,
        reason: "it offers a menu on a terminal, and nobody is there to choose.",
        hint: "Use a command that prints: `du -sh *`, `git log --oneline`, `grep`.",
        refused: &["git branch | fzf", "ncdu .", "tig"],
        passed: &["printf 'a\\nb\\n' | fzf --filter a", "du -sh *", "git log --oneline"],
    },
    Rule {
        name: "Remote terminals",
        words: &["ssh", "mosh", "telnet", "ftp", "rlogin", "sftp"],
        other_words: "",
        when: "unless `ssh` is given a command to run, or `sftp` a batch (`-b`), or there is input to send.",
        applies: opens_remote_terminal,
        reason: "it opens a session for somebody at a terminal, and nobody is there.",
        hint: "Give `ssh` the command to run and `-o BatchMode=yes`; speak other protocols with `curl` or a script.",
        refused: &["ssh build@host", "telnet localhost 25", "ftp localhost"],
        passed: &["ssh -V", "ssh-keygen -l -f key.pub", "echo quit | telnet localhost 25"],
    },
    Rule {
        name: "Shells and interpreters with nothing to run",
        words: &[
            "bash",
            "sh",
            "dash",
            "zsh",
            "ksh",
            "fish",
            "python",
            "python2",
            "python3",
            "python3.10",
            "python3.11",
            "python3.12",
            "python3.13",
            "python3.14",
            "ipython",
            "node",
            "nodejs",
            "irb",
            "ruby",
            "perl",
            "lua",
            "ghci",
            "R",
            "julia",
            "scala",
            "jshell",
            "bc",
            "iex",
            "psql",
            "mysql",
        ],
        other_words: "",
        when: "without any argument (`-i` and `-l` are none) and with nothing on its input.",
        applies: has_nothing_to_run,
        reason: "without a script it waits for somebody to type, and its input is empty.",
        hint: "Give it the code: `python3 -c '…'`, `bash script.sh`, or a here-document.",
        refused: &["python3", "node", "bash -i", "cd x && python", "env sh", "psql"],
        passed: &[
            "python3 -c 'print(1)'",
            "python3 < a.py",
            "echo 1 | python3",
            "python3 <<'EOF'\nprint(1)\nEOF",
            "node -v",
            "bash script.sh",
            "bash -lc 'echo 1'",
            "while read x; do bash; done < list",
            "printf 'a\\n' | xargs bash",
            "f() { python3; }; echo 1 | f",
        ],
    },
];

fn edits_on_screen(command: &Command, _: &PolicySettings) -> bool {
    let alone = [
        "-es",
        "-Es",
        "-e",
        "-s",
        "--batch",
        "-batch",
        "--headless",
        "--script",
        "-V",
        "-h",
        "-version",
        "--eval",
    ];
    !command.asks_for_help() && !command.says(&alone)
}

fn pages_manual(command: &Command, _: &PolicySettings) -> bool {
    let searches =
        Arguments::of(&command.arguments, &[]).has(&["-k", "-f", "-w", "-P", "--pager", "--where", "--path"]);
    !command.place.captured && !searches && !command.asks_for_help()
}

fn refreshes(command: &Command, _: &PolicySettings) -> bool {
    let prints = matches!(command.name.as_str(), "top" | "iotop" | "atop")
        && Arguments::of(&command.arguments, &["-d", "-n", "-p", "-u", "-o"])
            .has(&["-b", "-P", "-h", "--batch", "--help"]);
    !prints && !command.asks_for_help()
}

fn opens_terminal(command: &Command, _: &PolicySettings) -> bool {
    !command.asks_for_help() && !command.says(&["-V", "-v"])
}

fn offers_menu(command: &Command, _: &PolicySettings) -> bool {
    let filters = command.name == "fzf"
        && command
            .arguments
            .iter()
            .any(|word| word.text().starts_with("-f") || word.text().starts_with("--filter"));
    !filters && !command.asks_for_help()
}

fn opens_remote_terminal(command: &Command, _: &PolicySettings) -> bool {
    let valued = [
        "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-o", "-p", "-R", "-S", "-W",
    ];
    let arguments = Arguments::of(&command.arguments, &valued);
    let works_alone = match command.name.as_str() {
        "ssh" => arguments.operands.len() > 1 || arguments.has(&["-N", "-W", "-V", "-G", "-Q", "-O"]),
        "sftp" => arguments.has(&["-b"]),
        _ => false,
    };
    !works_alone && command.place.input.is_empty() && !command.asks_for_help() && !command.has_unknown()
}

fn has_nothing_to_run(command: &Command, _: &PolicySettings) -> bool {
    let nothing = command
        .arguments
        .iter()
        .all(|word| matches!(word.text(), "-i" | "-l" | "-il" | "-li" | "--login" | "-q"));
    nothing && command.place.input.is_empty()
}
