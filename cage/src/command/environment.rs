//! A command's environment: an allowlist, with everything interactive switched off.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Switches off terminals, colours, pagers and prompts. git must not read the system configuration: commands
/// cannot open it, and git fails when it sees a configuration that it cannot open.
const QUIET: [(&str, &str); 15] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("CLICOLOR", "0"),
    ("CARGO_TERM_COLOR", "never"),
    ("PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ASKPASS", "/bin/false"),
    ("SSH_ASKPASS", "/bin/false"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
    ("npm_config_yes", "true"),
];

/// The system directories that commands see.
const VISIBLE: [&str; 4] = ["/usr", "/bin", "/sbin", "/opt"];

/// The environment that commands get.
#[derive(Debug, Clone)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// PATH, cut to the directories visible inside, LANG or else UTF-8, the quiet settings, and the
    /// operator's own.
    pub fn new<'a>(
        search_path: &str,
        language: Option<&str>,
        visible: impl Iterator<Item = &'a Path>,
        own: &[(String, String)],
    ) -> Self {
        let visible: Vec<&Path> = VISIBLE.iter().map(Path::new).chain(visible).collect();
        let search_path: Vec<&str> = search_path
            .split(':')
            .filter(|directory| visible.iter().any(|root| Path::new(directory).starts_with(root)))
            .collect();
        // What else `LANG=C.UTF-8` sets is the same without it, and each program would open a dozen files.
        let (locale, language) = language.map_or(("LC_CTYPE", "C.UTF-8"), |language| ("LANG", language));
        let mut variables =
            vec![("PATH".to_owned(), search_path.join(":")), (locale.to_owned(), language.to_owned())];
        variables.extend(QUIET.map(|(name, value)| (name.to_owned(), value.to_owned())));
        variables.retain(|(name, _)| own.iter().all(|(own, _)| own != name));
        variables.extend(own.iter().cloned());
        Self { variables: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }

    /// All variables of a command whose relative paths start in `workspace`; those of its call replace ours.
    pub(crate) fn variables(
        &self,
        workspace: &Path,
        beside: impl Iterator<Item = (OsString, OsString)>,
        given: &BTreeMap<String, String>,
    ) -> Vec<(OsString, OsString)> {
        let is_given = |name: &OsString| name.to_str().is_some_and(|name| given.contains_key(name));
        let own = self.variables.iter().cloned().chain(beside).filter(|(name, _)| !is_given(name));
        let given = given.iter().map(|(name, value)| (name.into(), value.into()));
        own.chain(given).chain([("WORKSPACE".into(), workspace.into())]).collect()
    }

    pub(crate) fn search_path(&self) -> &str {
        let found = self.variables.iter().find(|(name, _)| name == "PATH");
        found.and_then(|(_, value)| value.to_str()).unwrap_or_default()
    }
}

/// The settings of git in each private home: a name for commits, which a repository's own settings and the
/// variables of git go before. It is the operator's, if these variables have one.
pub fn git_settings(variables: &[(String, String)]) -> String {
    let given = |name: &str, default: &str| {
        let found = variables.iter().find(|(own, value)| own == name && !value.is_empty());
        let value = found.map_or(default, |(_, value)| value.as_str());
        // In quotes, these are all that git reads in another way.
        value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
    };
    let name = given("GIT_AUTHOR_NAME", "Autonous");
    let email = given("GIT_AUTHOR_EMAIL", "autonous@localhost");
    format!("[user]\n\tname = \"{name}\"\n\temail = \"{email}\"\n")
}

/// The first program of this name in these directories, which colons separate.
pub fn find_program(name: &str, search_path: &str) -> Option<PathBuf> {
    std::env::split_paths(search_path).map(|directory| directory.join(name)).find(|path| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_have_the_operators_name_or_ours() {
        let ours = "[user]\n\tname = \"Autonous\"\n\temail = \"autonous@localhost\"\n";
        assert_eq!(git_settings(&[]), ours);
        let own = [("GIT_AUTHOR_NAME".to_owned(), "A \"B\" \\C".to_owned())];
        assert!(git_settings(&own).contains(r#"name = "A \"B\" \\C""#));
    }

    #[test]
    fn the_path_is_cut_to_what_is_visible_and_own_variables_win() {
        let own = [("TERM".to_owned(), "xterm".to_owned()), ("RUST_LOG".to_owned(), "debug".to_owned())];
        let toolchain = [Path::new("/srv/toolchain")];
        let environment =
            Environment::new("/root/bin:/usr/bin:/srv/toolchain/bin", None, toolchain.into_iter(), &own);
        assert_eq!(environment.search_path(), "/usr/bin:/srv/toolchain/bin");
        let value = |name: &str| {
            environment
                .variables(Path::new("/work"), std::iter::empty(), &BTreeMap::new())
                .into_iter()
                .filter(|(own, _)| own == name)
                .map(|(_, value)| value)
                .collect::<Vec<_>>()
        };
        assert_eq!(value("TERM"), ["xterm"]);
        assert_eq!(value("RUST_LOG"), ["debug"]);
        assert_eq!(value("WORKSPACE"), ["/work"]);
        assert_eq!(value("GIT_CONFIG_NOSYSTEM"), ["1"]);
        assert_eq!(value("LC_CTYPE"), ["C.UTF-8"]);
        let german = Environment::new("/usr/bin", Some("de_DE.UTF-8"), std::iter::empty(), &[]).variables(
            Path::new("/work"),
            std::iter::empty(),
            &BTreeMap::new(),
        );
        assert!(german.contains(&("LANG".into(), "de_DE.UTF-8".into())), "{german:?}");
        assert_eq!(value("HOME"), [""; 0], "the sandbox sets it");
    }
}
