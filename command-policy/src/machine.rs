//! Forms that change the machine, or remove a whole root. Paths are judged by their text; where one really
//! leads is for the kernel to know.

use std::path::PathBuf;

use super::arguments::{Arguments, listed};
use super::command::Command;
use super::settings::PolicySettings;
use super::word::{UNKNOWN, Word};

/// Is on the operator's list, by name or by path.
pub(super) fn is_denied(command: &Command, settings: &PolicySettings) -> bool {
    let base = command.spelled.rsplit('/').next().unwrap_or(&command.spelled);
    settings.extra_denied.iter().any(|denied| denied == base || *denied == command.spelled)
}

/// Changes the filters, interfaces, routes or settings of the kernel.
pub(super) fn changes_network(command: &Command, _: &PolicySettings) -> bool {
    let changes = match command.name.as_str() {
        "iptables" | "ip6tables" => {
            "-A -D -I -R -F -Z -N -X -P --append --delete --insert --replace --flush --policy"
        }
        "nft" => "-f add delete insert replace flush reset",
        "ufw" => "enable disable allow deny reject limit delete insert reset reload",
        "firewall-cmd" => "--reload",
        "ifconfig" => "up down add del netmask mtu",
        "route" => "add del flush",
        _ => "-w -p -f --write --load --system",
    };
    command.has(changes)
}

/// Names a disk or the machine's memory as what it writes to.
pub(super) fn writes_to_device(command: &Command, _: &PolicySettings) -> bool {
    // The devices that every sandbox has are not among them.
    let kinds = "sd hd vd xvd nvme mmcblk dm- md loop mapper/ disk/ mem kmem port kmsg";
    let is_device = |word: &Word| {
        let name = word.text().trim_start_matches("of=").strip_prefix("/dev/");
        name.is_some_and(|name| kinds.split_whitespace().any(|kind| name.starts_with(kind)))
    };
    let only_shows = "-l -d -J -N -n --list --dump --json --detail --examine print status luksDump";
    // Copying from a device leaves it as it is.
    let written = if command.name == "cp" { command.arguments.len().saturating_sub(1) } else { 0 };
    command.arguments[written..].iter().any(is_device) && !command.has(only_shows)
}

/// Removes a whole root or what contains it: `rm -r`, or `find -delete` without a test that selects.
pub(super) fn removes_root(command: &Command, settings: &PolicySettings) -> bool {
    const SELECTS_NOTHING: &str = "-delete -type -depth -mindepth -maxdepth -print -xdev -print0";
    let arguments = Arguments::of(&command.arguments, "");
    let removes = if command.name == "rm" {
        arguments.has("-r -R --recursive")
    } else {
        let mut tests = command.arguments.iter().map(Word::text).filter(|text| text.starts_with('-'));
        command.has("-delete") && tests.all(|test| listed(SELECTS_NOTHING, test))
    };
    let is_root_or_above = |word: &&Word| {
        let text = word.known().map(without_wildcards);
        text.and_then(|text| absolute(text, command.context.directory.as_deref())).is_some_and(|path| {
            listed("/ /~", &path.to_string_lossy())
                || settings.roots.iter().any(|root| root.starts_with(&path))
        })
    };
    removes && arguments.operands.iter().any(is_root_or_above)
}

/// `/work/*` and `/work/{*,.*}` are everything in `/work`.
fn without_wildcards(text: &str) -> &str {
    let (parent, last) = text.rsplit_once('/').unwrap_or((".", text));
    let is_everything = last.contains('*') && last.chars().all(|c| "*.{},[!]?".contains(c));
    match (is_everything, parent) {
        (true, "") => "/",
        (true, parent) => parent,
        (false, _) => text,
    }
}

/// The path without `.` and `..`, as far as the text tells.
fn absolute(text: &str, directory: Option<&str>) -> Option<PathBuf> {
    let is_absolute = text.starts_with(['/', '~']);
    let directory = directory.filter(|directory| !is_absolute && !directory.contains(UNKNOWN));
    let directory = if is_absolute { "" } else { directory? };
    let mut path = PathBuf::from("/");
    for part in [directory, text].iter().flat_map(|text| text.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(path.pop()),
            name => path.push(name),
        }
    }
    Some(path)
}
