//! Package managers, while commands have no network: only the forms that can not do without it.

use super::Rule;
use crate::policy::PolicySettings;
use crate::policy::arguments::Arguments;
use crate::policy::command::Command;
use crate::policy::word::Word;

const REASON: &str = "it fetches packages from a registry, and commands here have no network.";

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "Python packages",
        words: &["pip", "pip3", "pipx"],
        other_words: "",
        when: "while the network is off: `install` and `download` of a package by name, without `--no-index` or `--find-links`.",
        applies: installs_python,
        reason: REASON,
        hint: "`pip list` shows what is installed; `pip install --no-index --find-links <directory>` installs from files.",
        refused: &[
            "pip install requests",
            "python3 -m pip install 'flask>=2'",
            "pip3 install -U pytest",
            "pip download numpy",
        ],
        passed: &[
            "pip --version",
            "pip list",
            "pip install -e .",
            "pip install ./dist/a.whl",
            "pip install --no-index --find-links wheels a",
            "pip install -r requirements.txt",
            "python3 -m pip freeze | head",
        ],
    },
    Rule {
        name: "JavaScript packages",
        words: &["npm", "yarn", "pnpm", "bun"],
        other_words: "",
        when: "while the network is off: adding a package by name without `--offline`, `view`, `search`, `publish`.",
        applies: installs_javascript,
        reason: REASON,
        hint: "`npm ls` shows what is installed; `npm ci --offline` installs from the cache.",
        refused: &[
            "npm install lodash",
            "npm i -g typescript",
            "yarn add react",
            "pnpm add -D vitest",
            "npm view react version",
        ],
        passed: &[
            "npm install",
            "npm ci --offline",
            "npm test",
            "npm run build",
            "npm ls | head",
            "npm install ./local",
            "npm run watch",
            "yarn build",
            "npm install --offline lodash",
        ],
    },
    Rule {
        name: "Rust packages",
        words: &["cargo"],
        other_words: "",
        when: "while the network is off: `install` of a crate by name, `search`, `publish`, `login`, without `--offline`.",
        applies: installs_rust,
        reason: REASON,
        hint: "`cargo build --offline` uses what is vendored or cached; `cargo install --path <directory>` installs from files.",
        refused: &["cargo install ripgrep", "cargo search serde", "cargo publish"],
        passed: &[
            "cargo build",
            "cargo test | tail",
            "cargo install --path .",
            "cargo add serde --offline",
            "cargo publish --dry-run --offline",
            "cargo install --list",
        ],
    },
    Rule {
        name: "System packages",
        words: &[
            "apt", "apt-get", "dnf", "yum", "apk", "zypper", "brew", "snap", "flatpak", "pacman", "gem",
            "rustup",
        ],
        other_words: "",
        when: "while the network is off: `install`, `update`, `upgrade`, `add` and their kin.",
        applies: installs_on_system,
        reason: REASON,
        hint: "Use what is installed; `command -v <name>` tells. What is missing is for the user to install.",
        refused: &[
            "apt-get install -y jq",
            "apt update",
            "apk add curl",
            "brew install fd",
            "gem install rails",
            "pacman -Syu",
            "rustup update",
        ],
        passed: &[
            "apt list --installed | head",
            "dpkg -l | grep ssl",
            "apk info",
            "gem list",
            "rustup show",
            "pacman -Q",
        ],
    },
];

/// Whether a word is a package's name, and no path, file or option's value.
fn is_package(word: &Word) -> bool {
    let Some(text) = word.known() else { return false };
    let from_file = text.starts_with('.')
        || text.starts_with("file:")
        || [".whl", ".tgz", ".tar.gz", ".zip"].iter().any(|end| text.ends_with(end));
    let scoped = text.starts_with('@') || text.contains("://");
    !from_file && (scoped || !text.contains('/'))
}

fn named_packages(words: &[Word], valued: &[&str], offline: &[&str]) -> bool {
    let arguments = Arguments::of(words, valued);
    !arguments.has(offline)
        && !arguments.has(&["-h", "--help"])
        && arguments.operands.into_iter().any(is_package)
}

fn installs_python(command: &Command, settings: &PolicySettings) -> bool {
    let valued = [
        "-r",
        "-c",
        "-e",
        "-t",
        "-i",
        "-f",
        "-d",
        "--requirement",
        "--constraint",
        "--editable",
        "--target",
        "--prefix",
        "--root",
        "--index-url",
        "--dest",
        "--cache-dir",
    ];
    let offline = ["--no-index", "-f", "--find-links", "-i", "--index-url"];
    match command.arguments.split_first() {
        Some((verb, rest)) if matches!(verb.text(), "install" | "download") => {
            !settings.network && named_packages(rest, &valued, &offline)
        }
        _ => false,
    }
}

fn installs_javascript(command: &Command, settings: &PolicySettings) -> bool {
    let Some((verb, rest)) = command.arguments.split_first() else { return false };
    let valued = ["--prefix", "-w", "--workspace", "--registry", "-C", "--dir", "--filter"];
    let offline = ["--offline", "--prefer-offline", "--registry"];
    let needs = match verb.text() {
        "install" | "i" | "add" => named_packages(rest, &valued, &offline),
        "view" | "search" | "publish" | "login" | "adduser" => !command.says(&["--help", "-h", "--dry-run"]),
        _ => false,
    };
    needs && !settings.network
}

fn installs_rust(command: &Command, settings: &PolicySettings) -> bool {
    let toolchain = command.arguments.first().is_some_and(|word| word.text().starts_with('+'));
    let Some((verb, rest)) = command.arguments.get(usize::from(toolchain)..).and_then(<[Word]>::split_first)
    else {
        return false;
    };
    let valued = [
        "--path",
        "--root",
        "--version",
        "--features",
        "-F",
        "--target",
        "--target-dir",
        "--bin",
        "-j",
        "--profile",
    ];
    let offline = ["--path", "--offline", "--list", "--git", "--frozen", "--help", "-h"];
    let needs = match verb.text() {
        "install" => named_packages(rest, &valued, &offline),
        "search" | "publish" | "login" | "yank" | "owner" => !command.says(&offline),
        _ => false,
    };
    needs && !settings.network
}

fn installs_on_system(command: &Command, settings: &PolicySettings) -> bool {
    let verb = command.arguments.iter().find(|word| !word.text().starts_with('-')).map(Word::text);
    let named = matches!(
        verb,
        Some(
            "install" | "update" | "upgrade" | "dist-upgrade" | "full-upgrade" | "add" | "reinstall" | "self"
        )
    );
    let synced =
        command.name == "pacman" && command.arguments.iter().any(|word| word.text().starts_with("-S"));
    !settings.network && (named || synced) && !command.says(&["--help"])
}
