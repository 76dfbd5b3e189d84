//! Forms that need another machine: of network clients and package managers. The loopback interface is
//! there for every command, and a name that is not completely known counts as local.

use super::arguments::{Arguments, listed};
use super::command::Command;
use super::settings::PolicySettings;
use super::word::{UNKNOWN, Word};

/// Options of the downloaders that take a value. `-O` takes one for wget only.
const DOWNLOAD_VALUED: &str = "-A -b -c -C -d -D -e -E -F -H -K -m -o -P -Q -r -t -T -u -U -w -x -X -Y -y -z \
     -i --data --data-raw --data-binary --data-urlencode --json --header --output --request --user \
     --user-agent --max-time --connect-timeout --retry --retry-delay --form --write-out --cookie \
     --cookie-jar --cacert --cert --key --upload-file --output-document --limit-rate --directory-prefix \
     --timeout --tries --post-data --post-file --url-query --range --referer";

/// Options of the other clients that take a value.
const CLIENT_VALUED: &str = "-b -c -D -E -e -F -I -i -J -L -l -m -M -o -p -q -R -s -S -t -U -W -w -X";

/// Uses a network client in a way that leaves this machine.
pub(super) fn leaves_machine(command: &Command, settings: &PolicySettings) -> bool {
    if settings.network || command.asks_for_help() {
        return false;
    }
    let words = &command.arguments;
    match command.name.as_str() {
        "git" => reaches_repository(command),
        "curl" => downloads(words, DOWNLOAD_VALUED),
        "wget" | "http" | "https" | "xh" => downloads(words, &format!("{DOWNLOAD_VALUED} -O")),
        "aria2c" | "lynx" | "w3m" | "links" | "elinks" => words.iter().any(|word| is_remote_url(word.text())),
        "scp" | "rsync" | "rclone" => {
            let valued = "-e -f --exclude --include --rsh --filter --exclude-from --files-from";
            Arguments::of(words, valued).operands.iter().any(|word| is_remote_file(word.text()))
        }
        // A host, then a port, a command or a question: remote, unless something names this machine.
        _ => {
            let operands = Arguments::of(words, CLIENT_VALUED).operands;
            let mut names = operands.iter().filter(|word| word.text().parse::<u16>().is_err()).peekable();
            names.peek().is_some() && names.all(|word| is_remote(word.text().trim_start_matches('@')))
        }
    }
}

/// Reaches a repository by an address on another machine.
fn reaches_repository(command: &Command) -> bool {
    let Some((name, rest)) = command.git_subcommand() else { return false };
    let is_address = |text: &str| is_remote_url(text) || text.contains('@') && is_remote_file(text);
    let reaches = matches!(name, "clone" | "fetch" | "pull" | "push" | "ls-remote")
        || name == "submodule" && rest.first().is_some_and(|word| word.text() == "add");
    reaches && rest.iter().any(|word| is_address(word.text()))
}

fn downloads(words: &[Word], valued: &str) -> bool {
    let connects_elsewhere = "--unix-socket --abstract-unix-socket --resolve --connect-to --proxy -x";
    let urls: Vec<&Word> = words.iter().filter(|word| word.text().contains("://")).collect();
    let targets = if urls.is_empty() { Arguments::of(words, valued).operands } else { urls };
    !targets.is_empty()
        && targets.iter().all(|word| is_remote(word.text()))
        && !words.iter().any(|word| listed(connects_elsewhere, word.text()))
}

/// Whether `user@host:path` or `host:path` names a file on another machine.
fn is_remote_file(text: &str) -> bool {
    let host = text.split_once(':').map_or("", |(host, _)| host);
    is_remote_url(text) || !text.contains("://") && !host.contains('/') && is_remote(host)
}

/// Whether a text is a URL on another machine.
fn is_remote_url(text: &str) -> bool {
    let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
    let is_scheme = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+');
    is_scheme && scheme != "file" && is_remote(text)
}

/// Whether the host in `scheme://user@host:port/path` is known and is not this machine.
fn is_remote(text: &str) -> bool {
    let authority = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or(authority);
    let host = authority.rsplit('@').next().unwrap_or(authority).to_ascii_lowercase();
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or(address),
        None => host.split(':').next().unwrap_or(&host),
    };
    let is_local = listed("localhost ::1 0.0.0.0 0 ip6-localhost", host)
        || host.starts_with("127.")
        || host.ends_with(".localhost");
    !host.is_empty() && !is_local && !host.contains(UNKNOWN)
}

/// Options of package managers that take a value.
const PACKAGE_VALUED: &str = "-r -c -e -t -i -f -d -w -C -F -j --requirement --constraint --editable \
     --target --prefix --root --index-url --dest --cache-dir --workspace --registry --dir --filter --path \
     --version --features --target-dir --bin --profile";

/// Options that keep a package manager on this machine, or lead it to another registry.
const OFFLINE: &str = "--no-index -f --find-links -i --index-url --offline --prefer-offline --registry \
     --frozen --path --git --list -s --simulate --dry-run --just-print --no-download --local -h --help";

/// Asks a registry for packages.
pub(super) fn downloads_packages(command: &Command, settings: &PolicySettings) -> bool {
    let arguments = Arguments::of(&command.arguments, PACKAGE_VALUED);
    // `cargo +nightly install …`.
    let mut operands = arguments.operands.iter().skip_while(|word| word.text().starts_with('+'));
    let verb = operands.next().map_or("", |verb| verb.text());
    let downloads = match command.name.as_str() {
        "pacman" => command.has("-Sy -Su -Syu --sync") || arguments.has("-S"),
        "cargo" | "npm" if listed("search publish login view", verb) => true,
        "cargo" | "pip" | "pip3" | "pipx" | "npm" | "yarn" | "pnpm" | "bun" => {
            listed("install download i add", verb) && operands.any(|word| is_package(word))
        }
        _ if listed("update upgrade dist-upgrade full-upgrade", verb) => true,
        _ => listed("install add reinstall", verb) && operands.any(|word| is_package(word)),
    };
    downloads && !settings.network && !arguments.has(OFFLINE)
}

/// Whether a word is the name of a package, not a path or a file.
fn is_package(word: &Word) -> bool {
    let Some(text) = word.known() else { return false };
    let is_file = text.starts_with('.')
        || text.starts_with("file:")
        || [".whl", ".tgz", ".tar.gz", ".zip", ".deb", ".rpm"].iter().any(|end| text.ends_with(end));
    !is_file && (text.starts_with('@') || text.contains("://") || !text.contains('/'))
}
