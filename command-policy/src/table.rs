//! The table: every command word and form that is refused, with the reason and a hint.
//!
//! Lists of words are separated by blanks, examples by ` · `; `⏎` stands for a line's end in one. A test
//! runs the examples of every row, and the docs show them.

use super::arguments::listed;
use super::command::Command;
use super::reading::{self, Reading, ToolCall};
use super::settings::PolicySettings;
use super::{machine, network, terminal};

/// The word that the examples assume to be on the operator's list.
pub const EXAMPLE_DENIED_WORD: &str = "terraform";

/// One row.
#[derive(Debug)]
pub struct Rule {
    /// Its command words; none for the operator's list.
    pub words: &'static str,
    /// Which forms of them it refuses.
    pub(super) form: Form,
    /// Why; the end of the sentence "… was not run: ".
    pub reason: &'static str,
    /// What to do instead. Where a tool does the same, the refusal has the exact call.
    pub hint: &'static str,
    /// Lines that it refuses, with the network off and `/workspace/main` as the root.
    pub refused: &'static str,
    /// Lines that look alike and pass.
    pub passed: &'static str,
}

/// Which forms of its words a row refuses.
#[derive(Debug)]
pub(super) enum Form {
    /// Those without any of these arguments or options.
    Unless(&'static str),
    /// Those with one of these arguments or options.
    With(&'static str),
    /// Those for which the function holds; in words and as a function.
    When(&'static str, fn(&Command, &PolicySettings) -> bool),
    /// A single command that a tool replaces; in words and as a function.
    ToolCall(&'static str, fn(&Reading<'_>) -> Option<ToolCall>),
}

impl Form {
    /// The end of a sentence that begins with "refused".
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Unless(list) => format!("unless with one of `{list}`"),
            Self::With(list) => format!("with one of `{list}`"),
            Self::When(words, _) | Self::ToolCall(words, _) => (*words).to_owned(),
        }
    }
}

impl Rule {
    /// Whether this row refuses a command, wherever it stands.
    pub(super) fn refuses(&self, command: &Command, settings: &PolicySettings) -> bool {
        // `mkfs.ext4` is `mkfs`, `python3.12` is `python3`.
        let family = command.name.split('.').next().unwrap_or_default();
        let has_word = self.words.is_empty() || listed(self.words, family);
        has_word
            && match self.form {
                Form::Unless(list) => !command.asks_for_help() && !command.has(list),
                Form::With(list) => command.has(list),
                Form::When(_, holds) => holds(command, settings),
                Form::ToolCall(..) => false,
            }
    }

    /// The tool call that replaces a single command.
    pub(super) fn tool_call(&self, reading: &Reading<'_>) -> Option<ToolCall> {
        match self.form {
            Form::ToolCall(_, call) if listed(self.words, reading.name) => call(reading),
            Form::ToolCall(..) | Form::Unless(_) | Form::With(_) | Form::When(..) => None,
        }
    }
}

/// All rows; the first that applies gives the answer.
pub static RULES: &[Rule] = &[
    Rule {
        words: "",
        form: Form::When("always, by name or by path", machine::is_denied),
        reason: "AUTONOUS_TOOL_BASH_DENYLIST forbids it on this server.",
        hint: "Do without it, and tell the user what is left for them to run.",
        refused: "terraform apply · /usr/bin/terraform · ./terraform --version · env A=1 terraform",
        passed: "echo terraform · cat terraform/main.tf | wc -l",
    },
    Rule {
        words: "sudo sudoedit su doas pkexec runuser newgrp sg gosu su-exec",
        form: Form::Unless("-V"),
        reason: "commands run without extra privileges and cannot gain any.",
        hint: "Run the command without it; what needs more privileges is for the user to do.",
        refused: "sudo apt-get update · su - root · cd x && sudo make install · nohup doas id",
        passed: "echo sudo · grep -rn sudo scripts | head · sudo --version",
    },
    Rule {
        words: "shutdown reboot halt poweroff telinit init kexec rtcwake passwd chpasswd chage useradd \
                userdel usermod groupadd groupdel groupmod adduser deluser addgroup delgroup vipw vigr \
                login chsh chfn chroot unshare nsenter setcap capsh pivot_root setpriv bwrap insmod \
                rmmod modprobe depmod crontab at batch systemd-run",
        form: Form::Unless("-l --list -S --status --print --dump -n --dry-run --show-depends"),
        reason: "it changes the machine or its accounts, and commands cannot.",
        hint: "Do without it, in the sandbox as it is, and tell the user what is left for them to do.",
        refused: "reboot · sleep 1; poweroff · init 0 · bash -c 'reboot' · /sbin/reboot · useradd -m bob · \
                  echo root:x | chpasswd · unshare -r id · modprobe loop · crontab -e · at now",
        passed: "echo reboot · ./reboot · git init -q . · chage -l bob · capsh --print · crontab -l",
    },
    Rule {
        words: "systemctl service update-rc chkconfig rc-service",
        form: Form::With(
            "start stop restart reload try-restart enable disable mask unmask kill edit isolate on off \
             daemon-reload",
        ),
        reason: "it changes the services of the machine, and commands cannot.",
        hint: "Run programs in the call itself; `systemctl status` works.",
        refused: "systemctl restart nginx · service ssh stop · systemctl --user enable x",
        passed: "systemctl status nginx · systemctl show -p MainPID nginx · service --status-all",
    },
    Rule {
        words: "iptables ip6tables nft ufw firewall-cmd ifconfig route sysctl",
        form: Form::When("when it changes filters, interfaces, routes or settings", machine::changes_network),
        reason: "it changes the machine, and commands cannot.",
        hint: "Do without it; `ip addr`, `ifconfig <name>`, `route -n` and `sysctl <name>` work.",
        refused: "iptables -F · nft add table x · ufw disable · ifconfig eth0 down · \
                  route add default gw x · sysctl -w vm.swappiness=1",
        passed: "iptables -L -n · ifconfig eth0 · ifconfig -a · route -n · sysctl -a · sysctl -aN",
    },
    Rule {
        words: "mkfs mke2fs mkswap mkdosfs wipefs blkdiscard fdisk sfdisk cfdisk gdisk sgdisk parted gparted \
                fsck e2fsck resize2fs tune2fs pvcreate vgcreate mdadm cryptsetup mount umount swapon swapoff \
                losetup dd tee cp shred badblocks truncate",
        form: Form::When("when it names a disk or memory below `/dev`", machine::writes_to_device),
        reason: "it would change a device of the machine, and commands cannot.",
        hint: "Write to a file beneath a root; `df -h .` shows the free space.",
        refused: "mkfs.ext4 /dev/sda1 · fdisk /dev/sda · dd if=a of=/dev/sda bs=1M · \
                  cat a | tee /dev/nvme0n1 · mount /dev/sda1 mnt",
        passed: "mkfs.ext4 disk.img · fdisk -l · dd if=/dev/sda of=copy · mount -v · swapon --show",
    },
    Rule {
        words: "rm find",
        form: Form::When(
            "as `rm -r` or an unselective `find -delete`, of a root, its parents or the home directory",
            machine::removes_root,
        ),
        reason: "it would remove a whole root, or what contains it.",
        hint: "Name what to remove beneath the root: `rm -rf <root>/<directory>`.",
        refused: "rm -rf / · rm -rf /* · rm -fr ~ · rm -r --force \"$HOME\" · rm -rf /workspace/main/* · \
                  rm -R /workspace/main/../ · true | rm -rf -- / · cd / && rm -rf * · find / -delete · \
                  find . -name x -exec rm -rf / \\; · find /workspace/main -mindepth 1 -delete",
        passed: "rm -rf target · rm -rf ./build/* · rm -rf \"$HOME/.cache\" · cd build && rm -rf *",
    },
    Rule {
        words: "vim vi nvim view vimdiff gvim rvim nano pico emacs emacsclient joe micro mcedit hx helix kak",
        form: Form::When("unless it runs commands given by options", terminal::waits_for_edits),
        reason: "an editor needs a terminal, and there is none.",
        hint: "Change a file with the tool `edit` or `multi_edit`, create one with `write`.",
        refused: "vim src/main.rs · EDITOR=x nano a · v''i a · git status && emacs -nw x · command vi a",
        passed: "vim -es -c 'wq' a · vim +PlugInstall +qall · vim -c '%s/a/b/' -c wq a · \
                 emacs --batch -l x.el · command -v vim · vim --version | head -1",
    },
    Rule {
        words: "top htop btop iotop nmon glances watch powertop iftop nethogs tmux screen minicom picocom \
                fzf dialog whiptail mc ranger nnn ncdu tig lazygit gitk aptitude",
        form: Form::When("unless it prints or works in the background", terminal::draws),
        reason: "it draws on a terminal, and there is none.",
        hint: "Use a command that prints: `top -b -n 1 | head -20`, `du -sh *`; repeat one in a `for` loop \
               with `sleep`; run one beside another with `&`.",
        refused: "nice top -d 1 · htop · watch -n 1 date · tmux new -s x make · git branch | fzf · ncdu .",
        passed: "top -bn1 · npm run watch · cargo watch --version · tmux new -d make · tmux ls · \
                 screen -dmS x make · ls | fzf -f a · ncdu -o out.json .",
    },
    Rule {
        words: "bash sh dash zsh ksh fish python python2 python3 ipython node nodejs irb ruby perl lua ghci \
                R julia scala jshell bc iex psql mysql",
        form: Form::When("without a script, unless piped", terminal::has_nothing_to_run),
        reason: "without a script it reads its input, which is empty.",
        hint: "Give it the code: `python3 -c '…'`, `bash script.sh`, or a here-document.",
        refused: "python3 · node · bash -i · cd x && python · env sh · psql",
        passed: "python3 -c 'print(1)' · python3 < a.py · echo 1 | python3 · node -v · bash -lc 'echo 1' · \
                 python3 <<'EOF'⏎print(1)⏎EOF · f() { python3; }; echo 1 | f",
    },
    Rule {
        words: "git",
        form: Form::When(
            "when it opens an editor that the line does not choose, or asks about parts unless piped",
            terminal::uses_git_terminal,
        ),
        reason: "this form of git needs a person at a terminal, and there is none.",
        hint: "`git commit -m '…'` or `--no-edit`, `git tag -m '…'`, `GIT_SEQUENCE_EDITOR=… git rebase -i`; \
               stage whole files with `git add <file>`, or parts with `git apply --cached`.",
        refused: "git rebase -i HEAD~3 · git commit · git commit --amend · git -C repo commit -a · \
                  git tag -a v1 · git add -p · git checkout --patch main · git stash -p · git mergetool",
        passed: "git commit -qm m · git commit -F msg.txt · GIT_SEQUENCE_EDITOR=true git rebase -i main · \
                 git tag v1 · yes | git add -p · git stash show -p",
    },
    Rule {
        words: "curl wget aria2c http https xh lynx w3m links elinks nc ncat netcat telnet nmap ssh scp sftp \
                rsync mosh ssh-copy-id ftp lftp rclone dig nslookup host whois ping ping6 traceroute \
                tracepath mtr git",
        form: Form::When("while the network is off, with another machine's address", network::leaves_machine),
        reason: "it needs another machine, and commands have no network but the loopback interface.",
        hint: "Work with what is on this machine; servers that the same call starts answer at 127.0.0.1. The \
               operator can allow domains with AUTONOUS_TOOL_BASH_NETWORK=packages,… or public addresses \
               with AUTONOUS_TOOL_BASH_NETWORK=public.",
        refused: "curl https://example.com · curl -o out.html -H 'Accept: text/html' example.com/x · \
                  echo $(wget -q http://example.com/a.tgz) · nc -zv 10.0.0.1 22 · ssh host uptime · \
                  scp a.txt me@host:/tmp/ · ping -c 1 example.com · git clone git@github.com:a/b.git",
        passed: "curl localhost:3000 · curl \"$URL\" · curl file:///tmp/x · nc -l 8080 · nc -U s.sock · \
                 rsync -a src/ backup/ · dig @127.0.0.1 a.test · git clone ../other copy · git push",
    },
    Rule {
        words: "pip pip3 pipx npm yarn pnpm bun cargo apt apt-get dnf yum apk zypper brew snap flatpak gem \
                rustup pacman",
        form: Form::When("while the network is off, when it downloads", network::downloads_packages),
        reason: "it downloads from a registry, and commands have no network.",
        hint: "Use what is installed, or local files: `pip install --no-index --find-links <directory>`, \
               `npm ci --offline`, `cargo build --offline`. The rest is for the user to install, or the \
               operator allows registries with AUTONOUS_TOOL_BASH_NETWORK=packages.",
        refused: "pip install requests · python3 -m pip install 'flask>=2' · npm i -g typescript · \
                  npm view react · cargo install ripgrep · apt-get install -y jq · apt update · pacman -Syu",
        passed: "pip list · pip install -e . · pip install -r requirements.txt · npm run build · apt list",
    },
    Rule {
        words: "ls",
        form: Form::ToolCall("with `-a`, `-A`, `-1`, `-F` and `-p` at most", reading::ls),
        reason: "the tool `ls` does the same.",
        hint: "Call `ls` with `path` (`include_hidden`, `recursive`, `long`).",
        refused: "ls · ls src · cd src && ls -a · # look⏎ls -A",
        passed: "ls | wc -l · ls -R · ls -la · ls main.rs · ls *.rs · ls; pwd · ls \"$dir\" · \
                 ls /usr/include · LC_ALL=C ls",
    },
    Rule {
        words: "cat less head tail sed",
        form: Form::ToolCall(
            "by lines counted from the start, of one file, without other options",
            reading::read,
        ),
        reason: "the tool `read` does the same.",
        hint: "Call `read` with `path` (`start_line`, `limit`).",
        refused: "cat a.txt · less a · head -20 a · tail -n +5 log · sed -n '1,5p' a · cd x && cat a",
        passed: "cat a | grep x · tail -n 5 log · git log | less · man ls · cat a b · \
                 cat -A a · cat > f <<'EOF'⏎x⏎EOF · head -c 9 a",
    },
    Rule {
        words: "grep rg",
        form: Form::ToolCall("in one place, with `-n`, `-i`, `-F` and `-r` at most", reading::grep),
        reason: "the tool `grep` does the same.",
        hint: "Call `grep` with `pattern` and `path` (`literal`, `case_sensitive`).",
        refused: "grep -rn TODO src · rg pattern · grep -i x a.txt · grep -rF 'main(' .",
        passed: "grep -rn TODO src | head · grep -rl x . · grep -v '^#' conf · grep 'a\\|b' a · \
                 grep x /proc/cpuinfo",
    },
    Rule {
        words: "find",
        form: Form::ToolCall("in one place, with `-name` and `-type f|d` at most", reading::find),
        reason: "the tool `find` does the same.",
        hint: "Call `find` with `path` (`name_pattern`, `type`).",
        refused: "find . -name '*.rs' · find src -type f",
        passed: "find . -maxdepth 2 -type d · find . -iname '*.md' · find . -type l · find a b · \
                 find / -name libssl.so · find . -not -name x · find src -name 'src*'",
    },
];
