//! The environment of each child: built from nothing and these lists.
//!
//! A variable that is not listed here reaches no child. Secrets are not passed as variables but through a
//! pipe, and each child gets only its own.

use std::collections::HashMap;
use std::path::PathBuf;

use process::models::{self, CONFIG_DIR, ModelsError, Provider};
use process::{Secret, Variables};

/// The variables for the tool server that users may set.
pub(crate) const TOOL_SERVER_VARIABLES: &[&str] = &[
    "RUST_LOG",
    "AUTONOUS_LOG_FORMAT",
    "PATH",
    "LANG",
    "AUTONOUS_TOOL_ALLOWED_HOSTS",
    "AUTONOUS_TOOL_TIMEOUT_SECONDS",
    "AUTONOUS_TOOL_MAX_OUTPUT_LINES",
    "AUTONOUS_TOOL_MAX_OUTPUT_BYTES",
    "AUTONOUS_TOOL_MAX_EDIT_BYTES",
    "AUTONOUS_TOOL_JOURNAL_MAX_BYTES",
    "AUTONOUS_TOOL_SEARCH_MAX_ENTRIES",
    "AUTONOUS_TOOL_DISABLED",
    "AUTONOUS_TOOL_DENY_PATHS",
    "AUTONOUS_TOOL_PROTECTED",
    "AUTONOUS_TOOL_BASH_DENYLIST",
    "AUTONOUS_TOOL_BASH_NETWORK",
    "AUTONOUS_TOOL_BASH_ALLOW_NETWORK",
    "AUTONOUS_TOOL_SANDBOX",
    "AUTONOUS_TOOL_DISABLE_EXEC",
    "AUTONOUS_TOOL_READONLY_ROOTS",
    "AUTONOUS_TOOL_ENV",
    "AUTONOUS_TOOL_MAX_MEMORY_MB",
    "AUTONOUS_TOOL_MIN_FREE_MB",
];

/// The variables for the worker that users may set.
pub(crate) const WORKER_VARIABLES: &[&str] = &[
    "RUST_LOG",
    "AUTONOUS_LOG_FORMAT",
    CONFIG_DIR,
    "AUTONOUS_MODEL_PROVIDER",
    "AUTONOUS_MODEL_NAME",
    "AUTONOUS_MODEL_BASE_URL",
    "AUTONOUS_MODEL_TOOL_PROTOCOL",
    "AUTONOUS_MODEL_FALLBACK",
    "AUTONOUS_MODEL_SCRIPT",
    "AUTONOUS_MODEL_CONTEXT_TOKENS",
    "AUTONOUS_MODEL_PROMPT",
    "AUTONOUS_MODEL_REASONING_EFFORT",
    "AUTONOUS_MODEL_MAX_OUTPUT_TOKENS",
    "AUTONOUS_MODEL_TEMPERATURE",
    "AUTONOUS_MODEL_EXTRA_BODY",
    "AUTONOUS_MODEL_VISION",
    "AUTONOUS_MODEL_FIRST_TOKEN_SECONDS",
    "AUTONOUS_MODEL_IDLE_SECONDS",
    "NO_PROXY",
    "no_proxy",
    "AUTONOUS_CONTROL_MAX_TURNS",
    "AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS",
    "AUTONOUS_CONTROL_MAX_TOKENS",
    "AUTONOUS_CONTROL_MAX_RETRIES",
];

/// The users' settings for the children, before the supervisor adds its own.
#[derive(Debug, Clone)]
pub(crate) struct ChildSettings {
    /// The directory of the children's programs: that of this program.
    pub programs: PathBuf,
    pub tool_server: Vec<(String, String)>,
    pub worker: Vec<(String, String)>,
    pub worker_secrets: HashMap<String, Secret>,
}

impl ChildSettings {
    /// Takes the variables that the lists above name, and the secrets of the models that are used.
    pub(crate) fn from_variables(variables: &Variables, programs: PathBuf) -> Result<Self, ModelsError> {
        let mut tool_server = variables.pass_on(TOOL_SERVER_VARIABLES);
        tool_server.extend(named_for_commands(variables));
        let secrets = models::used_secrets(variables)?.into_iter();
        let mut worker = variables.pass_on(WORKER_VARIABLES);
        worker.extend(variables.pass_on(&Provider::ALL.map(Provider::base_url_variable)));
        Ok(Self {
            programs,
            tool_server,
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

/// `AUTONOUS_TOOL_ENV` may name variables without values: the tool server needs these to pass them on.
fn named_for_commands(variables: &Variables) -> Vec<(String, String)> {
    let named = variables.list("AUTONOUS_TOOL_ENV").unwrap_or_default();
    let without_value: Vec<&str> = named
        .iter()
        .map(String::as_str)
        .filter(|name| !name.contains('=') && !TOOL_SERVER_VARIABLES.contains(name))
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
        assert_eq!(names(&settings.worker), ["AUTONOUS_MODEL_NAME"]);
        assert!(settings.worker_secrets["OPENAI_API_KEY"].matches("k"));
    }
}
