//! Which settings make git run a program, as one table and a rule for what the table does not know.
//!
//! Sources: git-config(1) and the pages of the commands that it names, gitattributes(5), git-lfs-config(5),
//! git-annex(1). A setting that is not understood counts as dangerous; one that only describes data does not.

use std::path::PathBuf;

use super::git_config::Setting;
use files::roots::names;

/// When a setting of the table is dangerous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    /// Unless it is a truth value or a number, which name no program.
    Program,
    /// When the name of a tool is a path.
    Path,
    /// When it is an address that git gives to a program of its own, or that is read as an option.
    Address,
    /// When it is more than a plain command of git.
    Alias,
    /// Unless it is empty.
    NonEmpty,
    /// When it leads an address to another host.
    Redirect,
    /// When it is none of these values.
    NoneOf(&'static [&'static str]),
    /// When the key is none of these, and the value is one of [`When::Program`].
    KeyNoneOf(&'static [&'static str]),
    /// When it leads out of the roots.
    Worktree,
}

/// Section, key (`*` is any), and when. The first line that fits decides.
const TABLE: &[(&str, &str, When)] = &[
    ("include", "*", When::Always),
    ("includeif", "*", When::Always),
    ("core", "fsmonitor", When::Program),
    ("core", "hookspath", When::Always),
    ("core", "sshcommand", When::Always),
    ("core", "gitproxy", When::Always),
    ("core", "pager", When::Program),
    ("core", "editor", When::Program),
    ("core", "askpass", When::Program),
    ("core", "alternaterefscommand", When::Always),
    ("core", "worktree", When::Worktree),
    ("sequence", "editor", When::Program),
    ("interactive", "difffilter", When::Program),
    ("pager", "*", When::Program),
    ("alias", "*", When::Alias),
    ("hook", "*", When::Always),
    ("init", "templatedir", When::Always),
    ("credential", "helper", When::Program),
    ("diff", "external", When::Program),
    ("diff", "command", When::Program),
    ("diff", "textconv", When::Program),
    ("diff", "tool", When::Path),
    ("diff", "guitool", When::Path),
    ("merge", "driver", When::Program),
    ("merge", "tool", When::Path),
    ("merge", "guitool", When::Path),
    ("pull", "twohead", When::Path),
    ("pull", "octopus", When::Path),
    ("branch", "mergeoptions", When::Path),
    ("branch", "remote", When::Address),
    ("branch", "pushremote", When::Address),
    ("filter", "clean", When::Program),
    ("filter", "smudge", When::Program),
    ("filter", "process", When::Program),
    ("difftool", "*", When::Program),
    ("mergetool", "*", When::Program),
    ("guitool", "*", When::Program),
    ("browser", "*", When::Program),
    ("man", "*", When::Program),
    ("web", "browser", When::Program),
    ("help", "browser", When::Program),
    ("instaweb", "*", When::Program),
    ("imap", "tunnel", When::Always),
    ("gpg", "program", When::Always),
    ("gpg", "defaultkeycommand", When::Always),
    ("svn", "authorsprog", When::Always),
    ("svn", "authors-prog", When::Always),
    ("trailer", "command", When::Always),
    ("trailer", "cmd", When::Always),
    ("sendemail", "smtpserver", When::Path),
    ("sendemail", "sendmailcmd", When::Always),
    ("tar", "command", When::Always),
    ("uploadpack", "packobjectshook", When::Always),
    ("gc", "recentobjectshook", When::Always),
    ("remote", "url", When::Address),
    ("remote", "pushurl", When::Address),
    ("remote", "pushdefault", When::Address),
    ("remote", "uploadpack", When::Always),
    ("remote", "receivepack", When::Always),
    ("remote", "vcs", When::Always),
    ("url", "*", When::Redirect),
    ("http", "proxy", When::NonEmpty),
    ("remote", "proxy", When::NonEmpty),
    ("http", "curloptresolve", When::NonEmpty),
    ("http", "sslverify", When::NoneOf(TRUE)),
    ("http", "sslcainfo", When::NonEmpty),
    ("http", "sslcapath", When::NonEmpty),
    ("http", "proxysslcainfo", When::NonEmpty),
    ("core", "protecthfs", When::NoneOf(TRUE)),
    ("core", "protectntfs", When::NoneOf(TRUE)),
    ("submodule", "url", When::Address),
    ("submodule", "update", When::NoneOf(&["checkout", "rebase", "merge", "none"])),
    ("protocol", "version", When::NoneOf(&["0", "1", "2"])),
    ("protocol", "allow", When::NoneOf(&["never"])),
    ("http", "savecookies", When::NoneOf(&["false", "no", "off", "0"])),
    ("lfs", "*", When::KeyNoneOf(LFS_DATA)),
    (
        "annex",
        "*",
        When::KeyNoneOf(&["uuid", "version", "numcopies", "backend", "largefiles", "synccontent"]),
    ),
];

/// A setting that only its being true leaves harmless.
const TRUE: &[&str] = &["true", "yes", "on", "1"];

/// Schemes of addresses, which no abbreviation can be.
const SCHEMES: [&[u8]; 7] = [b"file:", b"ftp:", b"ftps:", b"git:", b"http:", b"https:", b"ssh:"];

/// Settings of git-lfs that name neither a program nor its arguments.
const LFS_DATA: &[&str] =
    &["access", "fetchexclude", "fetchinclude", "locksverify", "pushurl", "repositoryformatversion", "url"];

/// Protocols that git speaks itself, which may be allowed by name.
const OWN_PROTOCOLS: [&[u8]; 5] = [b"file", b"git", b"http", b"https", b"ssh"];

/// In keys that the table does not know, these words tell of a program.
const TELLING: [&str; 16] = [
    "askpass", "clean", "cmd", "command", "driver", "editor", "exec", "external", "helper", "hook", "pager",
    "process", "program", "sendmail", "smudge", "textconv",
];

/// Commands of git that an alias may stand for, as long as none of [`EXECUTING_OPTIONS`] is with them.
const PLAIN_COMMANDS: [&str; 35] = [
    "add", "blame", "branch", "checkout", "cherry", "cherry-pick", "clean", "commit", "describe", "diff",
    "diff-tree", "fetch", "for-each-ref", "log", "ls-files", "ls-tree", "merge", "merge-base", "mv", "pull",
    "push", "reflog", "remote", "reset", "restore", "rev-list", "rev-parse", "revert", "rm", "shortlog",
    "show", "stash", "status", "switch", "tag",
];

/// Options of those commands that run a program or write a file anywhere, which git also takes shortened.
const EXECUTING_OPTIONS: [&str; 5] = ["--exec", "--ext-diff", "--output", "--receive-pack", "--upload-pack"];

/// Why a setting is dangerous; none where it is not. `leads_out` says whether a path, as git resolves it from
/// the git directory, leads out of the roots.
pub(super) fn danger(setting: &Setting, leads_out: impl Fn(&PathBuf) -> bool) -> Option<String> {
    let fits = |(section, key, _): &&(&str, &str, When)| {
        *section == setting.section && (*key == "*" || *key == setting.key)
    };
    let value = setting.value.as_deref();
    let is_dangerous = match TABLE.iter().find(fits).map(|(.., when)| *when) {
        Some(When::Always) => true,
        Some(When::Program) => names_program(setting),
        Some(When::Path) => value.is_some_and(|value| value.contains(&b'/')),
        Some(When::Address) => value.is_some_and(is_address_of_helper),
        Some(When::NonEmpty) => value.is_some_and(|value| !value.is_empty()),
        Some(When::Redirect) => redirects(setting),
        Some(When::Alias) => value.is_some_and(|value| !is_plain_alias(value)),
        Some(When::NoneOf(values)) => !is_own_protocol(setting) && !is_one_of(value, values),
        Some(When::KeyNoneOf(keys)) => !keys.contains(&setting.key.as_str()) && names_program(setting),
        Some(When::Worktree) => value.is_some_and(|value| leads_out(&path_of(value))),
        None => TELLING.iter().any(|word| setting.key.contains(word)) && names_program(setting),
    };
    let runs = is_dangerous || value.is_some_and(is_command_by_itself);
    runs.then(|| format!("git runs or follows what `{}` says", names::to_text(&setting.name())))
}

/// A path in a setting.
pub(super) fn path_of(value: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(value))
}

/// Whether a value can be the name of a program at all.
fn names_program(setting: &Setting) -> bool {
    let Some(value) = setting.value.as_deref() else { return false };
    let is_number = value.iter().all(u8::is_ascii_digit);
    let shows_only = setting.key.contains("pager") || setting.section == "pager";
    !(is_number
        || is_one_of(Some(value), &["true", "false", "yes", "no", "on", "off"])
        || (shows_only && value == b"cat"))
}

fn is_one_of(value: Option<&[u8]>, values: &[&str]) -> bool {
    value.is_some_and(|value| values.iter().any(|one| value.eq_ignore_ascii_case(one.as_bytes())))
}

fn is_own_protocol(setting: &Setting) -> bool {
    let protocol = setting.subsection.as_deref().unwrap_or_default();
    setting.section == "protocol" && setting.key == "allow" && OWN_PROTOCOLS.contains(&protocol)
}

/// `helper::address`, or what a program would take for an option.
pub(super) fn is_address_of_helper(address: &[u8]) -> bool {
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let scheme = address.iter().take_while(|byte| is_scheme(byte)).count();
    address.starts_with(b"-") || address[scheme..].starts_with(b"::")
}

/// Whether addresses are replaced by those of a helper or of another host. What stands for a host by a word
/// of its own (`gh:`) replaces none.
fn redirects(setting: &Setting) -> bool {
    let (base, value) = (setting.subsection.as_deref().unwrap_or_default(), setting.value.as_deref());
    let value = value.unwrap_or_default();
    let is_abbreviation =
        value.ends_with(b":") && !SCHEMES.contains(&value) && !value.iter().any(|byte| b"/.@".contains(byte));
    let is_same_host = host(value).is_some_and(|host_before| host(base) == Some(host_before));
    is_address_of_helper(base) || !(is_abbreviation || is_same_host)
}

/// The host of an address, of either form: `scheme://user@host:port/path` or `user@host:path`. It must be
/// whole, so something follows it.
fn host(address: &[u8]) -> Option<Vec<u8>> {
    let scheme = address.windows(3).position(|part| part == b"://");
    let rest = scheme.map_or(address, |at| &address[at + 3..]);
    let end = rest.iter().position(|byte| b"/:".contains(byte))?;
    let host = rest[..end].rsplit(|byte| *byte == b'@').next()?;
    (!host.is_empty() && (scheme.is_some() || rest[end] == b':')).then(|| host.to_ascii_lowercase())
}

/// Values that are commands wherever git takes one.
fn is_command_by_itself(value: &[u8]) -> bool {
    value.starts_with(b"!") || value.windows(5).any(|part| part.eq_ignore_ascii_case(b"ext::"))
}

/// Whether an alias is one plain command of git without an option that runs something.
fn is_plain_alias(value: &[u8]) -> bool {
    let unquoted: Vec<u8> =
        value.iter().copied().filter(|byte| !matches!(byte, b'"' | b'\'' | b'\\')).collect();
    let unquoted = String::from_utf8_lossy(&unquoted);
    let mut words = unquoted.split_ascii_whitespace();
    let is_plain = words.next().is_none_or(|command| PLAIN_COMMANDS.contains(&command));
    is_plain && !words.any(executes)
}

fn executes(word: &str) -> bool {
    let option = word.split('=').next().unwrap_or(word);
    option.len() > 3 && EXECUTING_OPTIONS.iter().any(|executing| executing.starts_with(option))
}

#[cfg(test)]
mod tests {
    use super::super::git_config::GitConfig;
    use super::*;

    fn is_dangerous(config: &str) -> bool {
        let config = GitConfig::parse(config.as_bytes());
        assert_eq!(config.broken_at, None);
        config.settings.iter().any(|(setting, _)| danger(setting, |path| path.is_absolute()).is_some())
    }

    /// The configs are separated by ` · `.
    fn assert_dangerous(configs: &str) {
        for config in configs.split(" · ") {
            assert!(is_dangerous(config), "{config}");
        }
    }

    #[test]
    fn what_git_runs_is_dangerous() {
        assert_dangerous(
            "[core] fsmonitor = ./x · [CORE] FSMonitor = x · [core] hooksPath = true · \
            [core] sshCommand = ssh -v · [core] pager = less · [core] editor = vim · [core] askPass = x · \
            [core] gitProxy = x · [core] worktree = /home/user · [core] alternateRefsCommand = x · \
            [sequence] editor = x · [interactive] diffFilter = x · [pager] log = x · \
            [man \"x\"] path = x · [browser \"x\"] cmd = x · [credential] helper = store · \
            [credential \"https://x\"] helper = !x · [gpg] program = x · [gpg \"ssh\"] program = x · \
            [gpg \"ssh\"] defaultKeyCommand = x · [include] path = x · \
            [includeIf \"gitdir:~/\"] path = x · [init] templateDir = x · [hook \"x\"] command = x · \
            [hook \"x\"] event = pre-commit · [uploadpack] packObjectsHook = x · \
            [gc] recentObjectsHook = x · [tar \"x\"] command = x · [trailer \"x\"] cmd = x · \
            [imap] tunnel = x · [sendemail] smtpServer = /x · [sendemail] toCmd = x · \
            [sendemail \"x\"] sendmailCmd = x · [remote \"x\"] uploadpack = x · \
            [remote \"x\"] receivepack = x · [submodule \"x\"] update = !x",
        );
    }

    #[test]
    fn an_alias_that_is_no_plain_command_is_dangerous() {
        assert_dangerous(
            "[alias] st = !id · [alias] st = -c core.fsmonitor=x status · \
            [alias] st = \"'-c' core.fsmonitor=x status\" · [alias] r = rebase -x ./x · \
            [alias] f = fetch --upl=./x · [alias] d = diff --output=/home/user/.bashrc · [alias] s = x/y",
        );
    }

    #[test]
    fn what_git_runs_to_compare_merge_and_filter_is_dangerous() {
        assert_dangerous(
            "[diff \"x\"] textconv = x · [diff \"x\"] command = x · [diff] external = x · \
            [diff] tool = ../../x · [merge \"x\"] driver = x %O · [merge] tool = ../../../x · \
            [mergetool \"x\"] cmd = x · [mergetool \"x\"] path = x · [difftool \"x\"] cmd = x · \
            [guitool \"x\"] cmd = x · [filter \"x\"] clean = x · [filter \"x\"] smudge = x · \
            [filter \"x\"] process = x · [branch \"x\"] mergeOptions = -s ../x · [pull] twohead = ../x",
        );
    }

    #[test]
    fn an_address_of_a_helper_or_of_another_host_is_dangerous() {
        assert_dangerous(
            "[remote \"x\"] vcs = x/y · [remote \"x\"] url = ext::sh -c id · [remote \"x\"] url = fd::3 · \
            [remote \"x\"] url = --upload-pack=x · [url \"ext::sh -c id\"] insteadOf = https://x · \
            [url \"https://evil.example/\"] insteadOf = https://example.org/ · \
            [url \"git@evil.example:\"] pushInsteadOf = git@example.org: · \
            [url \"https://evil.example/\"] insteadOf = https: · \
            [url \"https://evil.example/\"] insteadOf = git@ · \
            [url \"https://evil.example/\"] insteadOf = · \
            [url \"https://example.org.evil.example/\"] insteadOf = https://example.org · \
            [url \"https://example.org@evil.example/\"] insteadOf = https://example.org/ · \
            [branch \"x\"] remote = ext::x · [protocol \"ext\"] allow = always · \
            [protocol] allow = always",
        );
    }

    #[test]
    fn what_changes_or_weakens_a_connection_or_a_protection_is_dangerous() {
        assert_dangerous(
            "[http] proxy = http://127.0.0.1:1 · [http \"https://example.org\"] proxy = socks5://x · \
            [remote \"origin\"] proxy = http://127.0.0.1:1 · [http] sslVerify = false · \
            [http \"https://example.org\"] sslVerify = 0 · [http] sslCAInfo = ./ca.pem · \
            [http] curloptResolve = example.org:443:127.0.0.1 · [core] protectNTFS = false",
        );
    }

    #[test]
    fn what_extensions_of_git_run_is_dangerous() {
        assert_dangerous(
            "[lfs \"customtransfer.x\"] path = x · [lfs] standalonetransferagent = x · \
            [lfs \"extension.x\"] clean = x · [remote \"x\"] annex-shell-command = x · \
            [annex] youtube-dl-command = x · [something \"new\"] runCommand = x · [something] thing = !x",
        );
    }

    #[test]
    fn what_only_describes_is_not() {
        for config in [
            "[user] name = A\nemail = a@b\nsigningKey = X",
            "[core] repositoryformatversion = 0\nfilemode = true\nbare = false\nlogallrefupdates = true",
            "[core] fsmonitor = true\npager = cat\neditor = true\nautocrlf = input\nworktree = ../../../sub",
            "[core] fsmonitor\nfsmonitorHookVersion = 2",
            "[remote \"origin\"] url = https://example.org/x\nfetch = +refs/heads/*:refs/remotes/origin/*",
            "[remote \"origin\"] url = git@example.org:x/y\npushurl = ssh://example.org/x\npromisor = true",
            "[remote \"origin\"] url = /srv/x\npartialclonefilter = blob:none",
            "[branch \"main\"] remote = origin\nmerge = refs/heads/main\nrebase = true",
            "[alias] st = status -sb\nlg = log --graph --oneline --pretty=format:'%h %s'\nco = checkout",
            "[submodule \"lib\"] url = ../lib\nactive = true\nupdate = rebase",
            "[gitflow \"prefix\"] feature = feature/",
            "[color] pager = false\nui = auto",
            "[advice] ignoredHook = false",
            "[diff] tool = vimdiff\nalgorithm = histogram",
            "[diff \"x\"] xfuncname = ^x\nbinary = true",
            "[merge] tool = meld\nconflictStyle = zdiff3",
            "[filter \"lfs\"] required = true",
            "[lfs] repositoryformatversion = 0",
            "[lfs \"https://example.org/x\"] access = basic",
            "[protocol] version = 2",
            "[protocol \"file\"] allow = always",
            "[extensions] worktreeConfig = true\nobjectFormat = sha256",
            "[url \"git@example.org:\"] insteadOf = https://example.org/",
            "[commit] gpgSign = false",
            "[pull] rebase = true",
            "[init] defaultBranch = main",
            "[http] proxy =",
            "[http] sslVerify = true",
            "[url \"https://example.org/\"] insteadOf = git@example.org:",
            "[url \"https://example.org/me/\"] insteadOf = me:",
            "[core] protectHFS = true",
            "[push] autoSetupRemote = true",
            "[trailer \"x\"] key = X",
        ] {
            assert!(!is_dangerous(config), "{config}");
        }
    }
}
