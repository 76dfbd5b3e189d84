//! The operator's rules about the calls of this server, with its defaults behind them.

use std::path::Path;

use settings::config_file::ConfigFileError;
use toolkit::Registry;
use toolkit::policy::{Policy, file};

use crate::config::Config;

const DEFAULTS: &str = include_str!("defaults.toml");

/// The rules for the tools and transfers of a server with these settings.
///
/// # Errors
/// As [`file::read`].
pub fn of(config: &Config, registry: &Registry) -> Result<Policy, ConfigFileError> {
    let names: Vec<&str> = registry.names().chain(registry.transfer_names()).collect();
    read(config.files.config_dir.as_deref(), &names)
}

/// The rules for the tools with these names.
///
/// # Errors
/// As [`file::read`].
pub fn read(config_dir: Option<&Path>, tools: &[&str]) -> Result<Policy, ConfigFileError> {
    file::read(config_dir, tools, DEFAULTS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde::Deserialize;
    use toolkit::policy::Circumstance;

    use super::*;

    #[derive(Deserialize)]
    struct Defaults {
        rule: Vec<DefaultRule>,
    }

    #[derive(Deserialize)]
    struct DefaultRule {
        #[serde(default)]
        tools: BTreeSet<String>,
        #[serde(default)]
        circumstances: BTreeSet<String>,
    }

    /// With such a rule for any tool, each `read` has its path followed four times more: it took 1.7 times
    /// as long.
    #[test]
    fn a_default_rule_that_needs_to_know_what_a_call_touches_names_its_tools() {
        let defaults: Defaults = toml::from_str(DEFAULTS).unwrap();
        let (mut circumstances, mut tools) = (BTreeSet::new(), BTreeSet::new());
        for rule in defaults.rule.iter().filter(|rule| !rule.circumstances.is_empty()) {
            assert!(!rule.tools.is_empty(), "{:?} name no tool", rule.circumstances);
            circumstances.extend(rule.circumstances.iter().map(String::as_str));
            tools.extend(rule.tools.iter().map(String::as_str));
        }
        // Of control files the argument says it all.
        let all = Circumstance::ALL.map(Circumstance::name).into_iter();
        assert_eq!(circumstances, all.filter(|name| *name != "control_files").collect());
        for (source, name) in tools_with_circumstances() {
            assert!(
                tools.contains(name.as_str()) || name == "bash",
                "{source}: no default rule names `{name}`"
            );
        }
    }

    /// The tools whose source has a circumstance, or takes what it touches from what sends to a chat.
    fn tools_with_circumstances() -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tools")];
        while let Some(directory) = directories.pop() {
            for entry in directory.read_dir().unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    directories.push(entry.path());
                    continue;
                }
                let source = std::fs::read_to_string(entry.path()).unwrap();
                let has = ["Circumstance::", "circumstances:", "touches_outgoing"];
                let named = source.split_once("const NAME: &'static str = \"");
                let named = named.filter(|_| has.iter().any(|word| source.contains(word)));
                let name = named.and_then(|(_, rest)| rest.split_once('"'));
                found.extend(name.map(|(name, _)| (entry.path().display().to_string(), name.to_owned())));
            }
        }
        assert!(found.len() >= 8, "{found:?}");
        found
    }
}
