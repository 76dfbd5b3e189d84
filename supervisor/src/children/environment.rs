//! The environment of each child: built from nothing and the lists of known variables.
//!
//! A variable that is not listed reaches no child. Secrets are not passed as variables but through a
//! pipe, and each child gets only its own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use process::fetch_profiles;
use process::known_variables::{TOOL_SERVER, WORKER};
use process::models::{self, CONFIG_DIR, ModelsError, Provider};
use process::{Secret, Variables};

/// What every child gets of what programs usually have.
const COMMON: &[&str] = &["RUST_LOG", "AUTONOUS_LOG_FORMAT"];

/// What commands need.
const OF_COMMANDS: &[&str] = &["PATH", "LANG"];

/// What the worker needs beside its own variables.
const OF_WORKER: &[&str] = &[CONFIG_DIR, "AUTONOUS_TOOL_DISABLED", "NO_PROXY", "no_proxy"];

/// The users' settings for the children, before the supervisor adds its own.
#[derive(Debug, Clone)]
pub(crate) struct ChildSettings {
    /// The directory of the children's programs: that of this program.
    pub programs: PathBuf,
    pub tool_server: Vec<(String, String)>,
    /// The credentials of the tool server's fetcher.
    pub tool_secrets: HashMap<String, Secret>,
    pub worker: Vec<(String, String)>,
    pub worker_secrets: HashMap<String, Secret>,
}

impl ChildSettings {
    /// Takes the known variables of the children, and the secrets of the models that are used.
    pub(crate) fn from_variables(variables: &Variables, programs: PathBuf) -> Result<Self, ModelsError> {
        let passed = [COMMON, OF_COMMANDS, &[CONFIG_DIR], TOOL_SERVER].concat();
        let mut tool_server = variables.pass_on(&passed);
        tool_server.extend(named_for_commands(variables, &passed));
        let secrets = models::used_secrets(variables)?.into_iter();
        let mut worker = variables.pass_on(&[COMMON, OF_WORKER, WORKER].concat());
        worker.extend(variables.pass_on(&Provider::ALL.map(Provider::base_url_variable)));
        Ok(Self {
            programs,
            tool_server,
            tool_secrets: fetch_secrets(variables)
                .into_iter()
                .filter_map(|name| Some((name.clone(), variables.secret(&name)?)))
                .collect(),
            worker,
            worker_secrets: secrets
                .filter_map(|name| Some((name.clone(), variables.secret(&name)?)))
                .collect(),
        })
    }
}

impl ChildSettings {
    /// Whether `AUTONOUS_TOOL_DISABLE_EXEC` is set.
    pub(crate) fn runs_no_commands(&self) -> bool {
        let is_set =
            |(name, value): &(String, String)| name == "AUTONOUS_TOOL_DISABLE_EXEC" && value.trim() == "true";
        self.tool_server.iter().any(is_set)
    }
}

/// The variables with the secrets that only the tool server's fetcher gets.
fn fetch_secrets(variables: &Variables) -> Vec<String> {
    fetch_profiles::secret_variables(variables, Path::new(""))
}

/// `AUTONOUS_TOOL_ENV` may name variables without values: the tool server needs these to pass them on.
fn named_for_commands(variables: &Variables, passed: &[&str]) -> Vec<(String, String)> {
    let named = variables.list("AUTONOUS_TOOL_ENV").unwrap_or_default();
    let without_value: Vec<&str> = named
        .iter()
        .map(String::as_str)
        .filter(|name| !name.contains('=') && !passed.contains(name))
        .collect();
    variables.pass_on(&without_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_gets_what_its_list_names_and_nothing_else() {
        let variables = Variables::from_pairs([
            ("AUTONOUS_TOOL_DISABLED", "bash"),
            ("AUTONOUS_MODEL_NAME", "m"),
            ("AUTONOUS_TOOL_ENV", "EDITOR,COLOUR=off"),
            ("EDITOR", "ed"),
            ("HOME", "/home/someone"),
            ("OPENAI_API_KEY", "k"),
        ]);
        let settings = ChildSettings::from_variables(&variables, PathBuf::from("/programs")).unwrap();
        let names = |pairs: &[(String, String)]| pairs.iter().map(|pair| pair.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&settings.tool_server), ["AUTONOUS_TOOL_DISABLED", "AUTONOUS_TOOL_ENV", "EDITOR"]);
        assert_eq!(names(&settings.worker), ["AUTONOUS_TOOL_DISABLED", "AUTONOUS_MODEL_NAME"]);
        assert!(settings.worker_secrets["OPENAI_API_KEY"].matches("k"));
    }
}
