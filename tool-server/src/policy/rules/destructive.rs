//! Commands against the machine itself: its disks, its power, its kernel, its services, its processes.

use super::{Rule, unless_help};
use crate::policy::PolicySettings;
use crate::policy::command::{Command, MULTIPLYING_FUNCTION, REDIRECTION};
use crate::policy::word::Word;

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "Disks and file systems",
        words: &[
            "mkfs",
            "mkfs.ext2",
            "mkfs.ext3",
            "mkfs.ext4",
            "mkfs.xfs",
            "mkfs.btrfs",
            "mkfs.vfat",
            "mkfs.fat",
            "mkfs.ntfs",
            "mkfs.exfat",
            "mkfs.f2fs",
            "mkfs.minix",
            "mkfs.msdos",
            "mke2fs",
            "mkswap",
            "mkdosfs",
            "wipefs",
            "blkdiscard",
            "sfdisk",
            "cfdisk",
            "gdisk",
            "sgdisk",
            "gparted",
            "hdparm",
            "fsck",
            "e2fsck",
            "resize2fs",
            "tune2fs",
            "pvcreate",
            "vgcreate",
            "lvcreate",
            "lvremove",
            "mdadm",
            "cryptsetup",
            "umount",
            "swapon",
            "swapoff",
            "losetup",
        ],
        other_words: "",
        when: "always.",
        applies: unless_help,
        reason: "it changes the machine's disks, and commands have none.",
        hint: "Work on files beneath the roots; `df -h .` shows the space that there is.",
        refused: &["mkfs.ext4 /dev/sda1", "mkfs -t xfs /dev/sdb", "wipefs -a /dev/sda", "umount /workspace"],
        passed: &["df -h .", "lsblk", "du -sh .", "truncate -s 1M disk.img"],
    },
    Rule {
        name: "Mounts and partition tables",
        words: &["mount", "fdisk", "parted"],
        other_words: "",
        when: "unless it only lists (`mount`, `mount -l`, `fdisk -l`, `parted -l`).",
        applies: changes_disks,
        reason: "it changes the machine's disks, and commands have none.",
        hint: "Work on files beneath the roots; `findmnt` shows what is mounted.",
        refused: &[
            "mount -o remount,rw /",
            "mount /dev/sda1 mnt",
            "fdisk /dev/sda",
            "parted /dev/sda mklabel gpt",
        ],
        passed: &["mount", "mount | grep workspace", "mount -l", "fdisk -l"],
    },
    Rule {
        name: "Devices as targets",
        words: &["dd", "tee", "cp", "shred", "badblocks", "truncate", REDIRECTION],
        other_words: "",
        when: "when it writes to a disk or to the machine's memory below `/dev` (`dd of=/dev/sda`, `> /dev/sda`).",
        applies: writes_to_device,
        reason: "it would overwrite a device of the machine.",
        hint: "Write to a file beneath a root.",
        refused: &[
            "dd if=/dev/zero of=/dev/sda bs=1M",
            "echo x > /dev/sda",
            "cat image | tee /dev/nvme0n1",
            "cp image /dev/vda",
            "shred -n 1 /dev/sda",
        ],
        passed: &[
            "dd if=/dev/zero of=zeros.bin bs=1M count=4",
            "make > /dev/null 2>&1",
            "dd if=/dev/urandom of=/dev/null bs=1k count=1",
            "echo warning > /dev/stderr",
            "dd if=/dev/sda of=copy bs=1 count=1",
            "shred secrets.txt",
        ],
    },
    Rule {
        name: "Power",
        words: &["shutdown", "reboot", "halt", "poweroff", "telinit", "init", "kexec", "rtcwake"],
        other_words: "",
        when: "always.",
        applies: unless_help,
        reason: "it would stop the machine that everybody here works on.",
        hint: "Do without it, and tell the user if the machine needs a restart.",
        refused: &[
            "reboot",
            "shutdown -h now",
            "sleep 1; poweroff",
            "init 0",
            "bash -c 'reboot'",
            "/sbin/reboot",
        ],
        passed: &[
            "echo reboot",
            "git init -q .",
            "npm init -y",
            "last reboot | head -1",
            "./reboot",
            "terraform-docs init",
        ],
    },
    Rule {
        name: "Kernel modules",
        words: &["insmod", "rmmod", "modprobe", "depmod"],
        other_words: "",
        when: "always.",
        applies: unless_help,
        reason: "it changes the machine's kernel.",
        hint: "Do without it; `lsmod` shows what is loaded.",
        refused: &["modprobe loop", "insmod evil.ko"],
        passed: &["lsmod", "modinfo loop"],
    },
    Rule {
        name: "Firewall and interfaces",
        words: &["iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "ifconfig", "route"],
        other_words: "",
        when: "unless it only lists (no argument, or `-L`, `-S`, `-a`, `-n`, `-v`, `list`, `status`).",
        applies: changes_network,
        reason: "it changes the machine's network.",
        hint: "Do without it; `ip addr` shows the interfaces that commands have.",
        refused: &["iptables -F", "ufw disable", "nft flush ruleset", "ifconfig eth0 down"],
        passed: &["ip addr", "iptables -L -n", "ufw status", "ifconfig -a"],
    },
    Rule {
        name: "Services and schedules",
        words: &[
            "systemctl",
            "service",
            "crontab",
            "at",
            "batch",
            "systemd-run",
            "update-rc.d",
            "chkconfig",
            "rc-service",
        ],
        other_words: "",
        when: "unless it only shows (`status`, `show`, `cat`, `list-…`, `is-…`, `crontab -l`).",
        applies: changes_services,
        reason: "it starts or changes what outlives the call, and nothing may.",
        hint: "Run the program in the call itself; it ends with the call.",
        refused: &[
            "systemctl restart nginx",
            "crontab -e",
            "echo '* * * * * x' | crontab -",
            "service ssh stop",
            "at now + 1 minute",
        ],
        passed: &[
            "systemctl status nginx",
            "systemctl list-units | head",
            "crontab -l",
            "systemctl is-active nginx",
        ],
    },
    Rule {
        name: "All processes",
        words: &["kill", "killall5"],
        other_words: "",
        when: "when it is aimed at every process (`kill -9 -1`).",
        applies: kills_everything,
        reason: "it would end every process that there is.",
        hint: "Name a process: `kill <pid>`, `pkill -f <command>`; everything that a call starts ends with it anyway.",
        refused: &["kill -9 -1", "kill -KILL -- -1", "kill -s TERM -1", "killall5 -9"],
        passed: &["kill -9 1234", "kill -1 1234", "kill %1", "kill -- -1234", "kill -0 $!"],
    },
    Rule {
        name: "Fork bombs",
        words: &[MULTIPLYING_FUNCTION],
        other_words: "",
        when: "a function that starts itself twice at once.",
        applies: unless_help,
        reason: "the function starts itself twice at once, and so without end.",
        hint: "Use a loop, or `xargs -P <n>` for work at the same time.",
        refused: &[":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb"],
        passed: &[
            "walk() { for f in \"$1\"/*; do walk \"$f\"; done; }; walk .",
            "seq 4 | xargs -P 2 -n 1 echo",
        ],
    },
];

fn changes_disks(command: &Command, _: &PolicySettings) -> bool {
    let lists = command.arguments.is_empty() && command.name == "mount";
    !lists && !command.asks_for_help() && !command.says(&["-l", "--list", "-V"])
}

fn writes_to_device(command: &Command, _: &PolicySettings) -> bool {
    match command.name.as_str() {
        "dd" => command.arguments.iter().filter_map(|word| word.text().strip_prefix("of=")).any(is_device),
        "cp" => command.arguments.last().is_some_and(|word| is_device(word.text())),
        _ => command.arguments.iter().map(Word::text).any(is_device),
    }
}

/// Disks, and the memory of the machine. What every sandbox has in `/dev` is none of them.
fn is_device(path: &str) -> bool {
    const DEVICES: [&str; 15] = [
        "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "dm-", "md", "loop", "mapper/", "disk/", "mem", "kmem",
        "port", "kmsg",
    ];
    path.strip_prefix("/dev/").is_some_and(|name| DEVICES.iter().any(|device| name.starts_with(device)))
}

fn changes_network(command: &Command, settings: &PolicySettings) -> bool {
    let lists =
        |word: &Word| matches!(word.text(), "-L" | "-S" | "-a" | "-n" | "-v" | "list" | "status" | "--state");
    let shows = command.arguments.first().is_none_or(lists);
    !shows && unless_help(command, settings)
}

fn changes_services(command: &Command, settings: &PolicySettings) -> bool {
    let shows = |word: &Word| {
        let text = word.text();
        matches!(text, "status" | "show" | "cat" | "help" | "--status-all" | "-l")
            || ["list-", "is-"].iter().any(|start| text.starts_with(start))
    };
    let lists = command.name == "service" && command.arguments.is_empty();
    !lists && !command.arguments.iter().any(shows) && unless_help(command, settings)
}

fn kills_everything(command: &Command, settings: &PolicySettings) -> bool {
    let last = command.arguments.last().map(Word::text);
    let everything = command.arguments.len() > 1 && last == Some("-1");
    (everything || command.name == "killall5") && unless_help(command, settings)
}
