//! The operator's rules about calls: those of `policy.toml`, and behind them the defaults.
//!
//! The file is read once, at the start. It lies outside every root, so no tool can change it.

use std::path::Path;

use process::config_file::{ConfigFile, ConfigFileError};
use process::quotas::Limits;
use serde::Deserialize;
use toml::Spanned;
use toolkit::Registry;
use toolkit::policy::{Policy, Rule, RuleSpec};

use crate::config::Config;

/// The name of the file in the configuration directory.
pub const FILE: &str = "policy.toml";

const DEFAULTS: &str = include_str!("defaults.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    rule: Vec<Spanned<RuleSpec>>,
    /// Read by [`process::quotas`]; here only so that no mistake in it goes unnoticed.
    #[serde(default, rename = "limits")]
    _limits: Limits,
}

/// The rules for the tools and transfers of a server with these settings.
///
/// # Errors
/// As [`read`].
pub fn of(config: &Config, registry: &Registry) -> Result<Policy, ConfigFileError> {
    let names: Vec<&str> = registry.names().chain(registry.transfer_names()).collect();
    read(config.files.config_dir.as_deref(), &names)
}

/// The rules for the tools with these names.
///
/// # Errors
/// With the file and the line of a rule that cannot be used.
pub fn read(config_dir: Option<&Path>, tools: &[&str]) -> Result<Policy, ConfigFileError> {
    let mut rules = Vec::new();
    let file = config_dir.map(|directory| ConfigFile::read(&directory.join(FILE))).transpose()?.flatten();
    if let Some(file) = file {
        for spec in file.parse::<Content>()?.rule {
            let span = spec.span();
            let origin = format!("{FILE}, line {}", file.line(span.start));
            let rule = Rule::new(spec.into_inner(), origin, tools);
            rules.push(rule.map_err(|what| file.error(Some(span), what))?);
        }
    }
    rules.extend(defaults(tools));
    Ok(Policy::new(rules))
}

/// What holds without a file.
fn defaults(tools: &[&str]) -> Vec<Rule> {
    let content: Content = toml::from_str(DEFAULTS).expect("a test reads the default rules");
    let specs = content.rule.into_iter().map(Spanned::into_inner).enumerate();
    specs
        .map(|(index, spec)| {
            Rule::new(spec, format!("default rule {}", index + 1), tools)
                .expect("a test reads the default rules")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: &[&str] = &["bash", "delete", "ls", "run_script", "url_fetch", "web_search"];

    #[test]
    fn a_mistake_is_named_with_its_file_and_line() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(FILE);
        let check = |text: &str, expected: &[&str]| {
            std::fs::write(&file, text).unwrap();
            let error = read(Some(directory.path()), TOOLS).unwrap_err().to_string();
            for part in expected {
                assert!(error.contains(part), "{text}: {error}");
            }
        };
        let good = "[[rule]]\ntools = [\"ls\"]\ndecision = \"allow\"\n\n";
        check(&format!("{good}[[rule]]\ntools = [\"lss\"]\ndecision = \"ask\""), &["line 5", "\"lss\""]);
        check(&format!("{good}[[rule]]\ndecision = \"maybe\""), &["line 6", "maybe", "allow"]);
        check("[[rule]]\ntool = [\"ls\"]\ndecision = \"ask\"", &["line 2", "unknown field `tool`"]);
        check("[[rule]]\ntools = [\"ls\"]", &["line 1", "decision"]);
        check("rules = 1", &["line 1", "unknown field `rules`"]);
        std::fs::write(&file, format!("{good}[limits.chat]\ntasks_per_day = 3\n")).unwrap();
        let rules = read(Some(directory.path()), TOOLS).unwrap();
        assert_eq!(rules.rules()[0].origin(), "policy.toml, line 1");
        std::fs::remove_file(&file).unwrap();
        let alone = read(Some(directory.path()), TOOLS).unwrap();
        assert_eq!(alone.rules().len(), read(None, TOOLS).unwrap().rules().len());
    }
}
