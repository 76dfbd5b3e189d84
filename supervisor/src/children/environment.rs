//! The environment of each child: built from nothing and the table of settings.
//!
//! A variable without a row that says so reaches no child. Secrets are not passed as variables but through a
//! pipe, and each child gets only its own.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use models::used_secrets;
use process::Secret;
use settings::selection::passed_to;
use settings::table::{TOOL_DISABLE_EXEC, TOOL_ENV};
use settings::{Program, Provider, SettingError, Source};

use super::fetch_secrets::fetch_secrets;

/// What commands need.
const OF_COMMANDS: [&str; 2] = ["PATH", "LANG"];

/// The proxy's exceptions, which the worker needs.
const OF_WORKER: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The users' settings for the children, before the supervisor adds its own.
#[derive(Debug, Clone)]
pub struct ChildSettings {
    /// The directory of the children's programs: that of this program.
    pub programs: PathBuf,
    pub tool_server: Vec<(String, String)>,
    /// The credentials of the tool server's fetcher.
    pub tool_secrets: HashMap<String, Secret>,
    pub worker: Vec<(String, String)>,
    pub worker_secrets: HashMap<String, Secret>,
    /// Whether the tool server serves only the file tools.
    pub runs_no_commands: bool,
}

impl ChildSettings {
    /// Takes the settings that the children read, and the secrets of the models that are used.
    pub fn read(source: &Source, programs: PathBuf) -> Result<Self, SettingError> {
        let passed: Vec<&str> = passed_to(Program::ToolServer).chain(OF_COMMANDS).collect();
        let mut tool_server = source.pass_on(passed.iter().copied());
        tool_server.extend(named_for_commands(source, &passed)?);
        let of_worker = passed_to(Program::Worker).chain(OF_WORKER);
        let secrets = |names: Vec<String>| -> HashMap<String, Secret> {
            names.into_iter().filter_map(|name| Some((name.clone(), source.secret(&name)?))).collect()
        };
        Ok(Self {
            programs,
            tool_server,
            tool_secrets: secrets(fetch_secrets(source, Path::new(""))),
            worker: source.pass_on(of_worker.chain(Provider::ALL.map(Provider::base_url_variable))),
            worker_secrets: secrets(used_secrets(source)?),
            runs_no_commands: TOOL_DISABLE_EXEC.read(source)?,
        })
    }
}

/// `AUTONOUS_TOOL_ENV` may name variables without values: the tool server needs these to pass them on.
fn named_for_commands(source: &Source, passed: &[&str]) -> Result<Vec<(String, String)>, SettingError> {
    let named = TOOL_ENV.read(source)?;
    let without_value =
        named.iter().map(String::as_str).filter(|name| !name.contains('=') && !passed.contains(name));
    Ok(source.pass_on(without_value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_gets_what_its_list_names_and_nothing_else() {
        let source = Source::from_pairs([
            ("AUTONOUS_TOOL_DISABLED", "bash"),
            ("AUTONOUS_MODEL_NAME", "m"),
            ("AUTONOUS_TOOL_ENV", "EDITOR,COLOUR=off"),
            ("EDITOR", "ed"),
            ("HOME", "/home/someone"),
            ("OPENAI_API_KEY", "k"),
        ]);
        let settings = ChildSettings::read(&source, PathBuf::from("/programs")).unwrap();
        let names = |pairs: &[(String, String)]| pairs.iter().map(|pair| pair.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&settings.tool_server), ["AUTONOUS_TOOL_DISABLED", "AUTONOUS_TOOL_ENV", "EDITOR"]);
        assert_eq!(names(&settings.worker), ["AUTONOUS_TOOL_DISABLED", "AUTONOUS_MODEL_NAME"]);
        assert!(settings.worker_secrets["OPENAI_API_KEY"].matches("k"));
    }
}
