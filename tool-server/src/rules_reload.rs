//! Reads `policy.toml` again while the server runs: its rules, and the limits of a day.

use std::path::PathBuf;
use std::sync::Arc;

use cage::command::Commands;
use process::error_chain;
use settings::config_file::ConfigFileError;
use settings::quotas::Limits;
use toolkit::Registry;
use toolkit::policy::CurrentPolicy;

use crate::call_rules;
use crate::config::Config;

/// What is read again, and where it then holds.
pub(crate) struct RulesReload {
    config_dir: Option<PathBuf>,
    /// The names of all tools and transfers.
    tools: Vec<&'static str>,
    policy: CurrentPolicy,
    commands: Arc<Commands>,
}

impl RulesReload {
    /// The rules of the start, and what reads them again.
    pub(crate) fn begin(
        config: &Config,
        registry: &Registry,
        commands: Arc<Commands>,
    ) -> Result<(CurrentPolicy, Arc<Self>), ConfigFileError> {
        let policy = CurrentPolicy::new(call_rules::of(config, registry)?);
        let tools = registry.names().chain(registry.transfer_names()).collect();
        let config_dir = config.files.config_dir.clone();
        Ok((policy.clone(), Arc::new(Self { config_dir, tools, policy, commands })))
    }

    /// Reads the file and replaces the rules. A file that cannot be used changes nothing.
    pub(crate) fn reload(&self) {
        let directory = self.config_dir.as_deref();
        let read =
            call_rules::read(directory, &self.tools).and_then(|rules| Ok((rules, Limits::read(directory)?)));
        match read {
            Ok((rules, limits)) => {
                let count = rules.rules().len();
                self.policy.replace(rules);
                self.commands.set_limits(&limits);
                tracing::info!(count, "the rules and limits were read again");
            }
            Err(error) => {
                tracing::error!(error = error_chain(&error), "the rules from before still hold");
            }
        }
    }
}
