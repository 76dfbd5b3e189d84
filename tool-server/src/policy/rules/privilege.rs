//! Programs that gain rights. A command keeps the rights that it was started with, so all of them fail.

use super::{Rule, unless_help};
use crate::policy::PolicySettings;
use crate::policy::command::Command;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "Other users' rights",
        words: &["sudo", "sudoedit", "su", "doas", "pkexec", "runuser", "newgrp", "sg", "gosu", "su-exec"],
        other_words: "",
        when: "always.",
        applies: unless_help,
        reason: "commands run with the rights of the server's user and can gain no others.",
        hint: "Run the command without it; what really needs more rights is for the user to do.",
        refused: &[
            "sudo apt-get update",
            "su - root",
            "cd x && sudo make install",
            "sudo -n true",
            "nohup doas id",
        ],
        passed: &[
            "echo sudo",
            "grep -rn sudo scripts | head",
            "sudo --version",
            "make install PREFIX=$PWD/out",
        ],
    },
    Rule {
        name: "Accounts",
        words: &[
            "passwd", "chpasswd", "chage", "useradd", "userdel", "usermod", "groupadd", "groupdel",
            "groupmod", "adduser", "deluser", "addgroup", "delgroup", "visudo", "vipw", "vigr", "login",
            "chsh", "chfn",
        ],
        other_words: "",
        when: "always.",
        applies: unless_help,
        reason: "it changes accounts of the machine, which no command may.",
        hint: "Work as the user that you are (`id`); accounts are for the user to change.",
        refused: &["useradd -m bob", "echo root:x | chpasswd", "passwd"],
        passed: &["getent passwd | head -3", "id", "whoami", "cut -d: -f1 /etc/passwd | sort"],
    },
    Rule {
        name: "Namespaces and capabilities",
        words: &["chroot", "unshare", "nsenter", "setcap", "capsh", "pivot_root", "setpriv", "bwrap"],
        other_words: "",
        when: "always.",
        applies: unless_help,
        reason: "it changes what a process may do or see, and a command's own cage cannot be changed from within.",
        hint: "Run the command as it is; a fresh directory from `mktemp -d` separates work well enough.",
        refused: &["unshare -r id", "chroot /workspace/main /bin/sh", "setcap cap_net_raw+ep ./ping"],
        passed: &["getcap ./ping", "ls -l /proc/self/ns | cat"],
    },
    Rule {
        name: "Kernel parameters",
        words: &["sysctl"],
        other_words: "",
        when: "when it sets one (`-w`, `-p`, `name=value`).",
        applies: sets_parameter,
        reason: "it changes the machine's kernel.",
        hint: "Reading is fine: `sysctl <name>`.",
        refused: &["sysctl -w vm.swappiness=1", "sysctl kernel.pid_max=99", "sysctl -p"],
        passed: &["sysctl kernel.pid_max", "sysctl -a | grep pid"],
    },
];

fn sets_parameter(command: &Command, _: &PolicySettings) -> bool {
    command.arguments.iter().any(|word| {
        let text = word.text();
        matches!(text, "-w" | "-p" | "--write" | "--load" | "--system") || text.contains('=')
    })
}
