//! `policy.toml`: the operator's rules as a file, and behind them the defaults of the program that reads it.
//!
//! Each program that runs tools reads the same file, with the tools of all of them, and applies the rules to
//! its own calls. It is read once, at the start, and lies outside every root, so no tool can change it.

use std::path::Path;

use serde::Deserialize;
use settings::config_file::{ConfigFile, ConfigFileError};
pub use settings::quotas::FILE;
use settings::quotas::Limits;
use toml::Spanned;

use super::{Policy, Rule, RuleSpec};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    rule: Vec<Spanned<RuleSpec>>,
    /// Read by [`settings::quotas`]; here only so that no mistake in it goes unnoticed.
    #[serde(default, rename = "limits")]
    _limits: Limits,
}

/// The rules of the directory's file, and behind them `defaults`, which are written like it, about tools with
/// these names.
///
/// # Errors
/// With the file and the line of a rule that cannot be used.
///
/// # Panics
/// If the defaults cannot be used, which a test of each program holds.
pub fn read(config_dir: Option<&Path>, tools: &[&str], defaults: &str) -> Result<Policy, ConfigFileError> {
    let mut tools = tools.to_vec();
    tools.sort_unstable();
    let mut rules = Vec::new();
    let file = config_dir.map(|directory| ConfigFile::read(&directory.join(FILE))).transpose()?.flatten();
    if let Some(file) = file {
        for spec in file.parse::<Content>()?.rule {
            let span = spec.span();
            let origin = format!("{FILE}, line {}", file.line(span.start));
            let rule = Rule::new(spec.into_inner(), origin, &tools);
            rules.push(rule.map_err(|what| file.error(Some(span), what))?);
        }
    }
    let content: Content = toml::from_str(defaults).expect("a test reads the default rules");
    for (number, spec) in (1..).zip(content.rule) {
        let rule = Rule::new(spec.into_inner(), format!("default rule {number}"), &tools);
        rules.push(rule.expect("a test reads the default rules"));
    }
    Ok(Policy::new(rules))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistake_is_named_with_its_file_and_line() {
        let directory = std::env::temp_dir().join(format!("policy-{}", protocol::TaskId::new()));
        std::fs::create_dir(&directory).unwrap();
        let file = directory.join(FILE);
        let defaults = "[[rule]]\ntools = [\"delete\"]\ndecision = \"ask\"\n";
        let read = || read(Some(&directory), &["fly", "ls", "delete"], defaults);
        let check = |text: &str, expected: &[&str]| {
            std::fs::write(&file, text).unwrap();
            let error = read().unwrap_err().to_string();
            for part in expected {
                assert!(error.contains(part), "{text}: {error}");
            }
        };
        let good = "[[rule]]\ntools = [\"fly\", \"ls\"]\ndecision = \"allow\"\n\n";
        check(&format!("{good}[[rule]]\ntools = [\"lss\"]\ndecision = \"ask\""), &["line 5", "\"lss\""]);
        check(&format!("{good}[[rule]]\ndecision = \"maybe\""), &["line 6", "maybe", "allow"]);
        check("[[rule]]\ntool = [\"ls\"]\ndecision = \"ask\"", &["line 2", "unknown field `tool`"]);
        check("[[rule]]\ntools = [\"ls\"]", &["line 1", "decision"]);
        check(
            "[[rule]]\ncircumstances = [\"full_moon\"]\ndecision = \"ask\"",
            &["line 1", "\"full_moon\"", "other_chat"],
        );
        check("rules = 1", &["line 1", "unknown field `rules`"]);
        std::fs::write(&file, format!("{good}[limits.chat]\ntasks_per_day = 3\n")).unwrap();
        let origins: Vec<String> =
            read().unwrap().rules().iter().map(|rule| rule.origin().to_owned()).collect();
        assert_eq!(origins, ["policy.toml, line 1", "default rule 1"]);
        std::fs::remove_dir_all(&directory).unwrap();
        assert_eq!(read().unwrap().rules().len(), 1);
    }
}
