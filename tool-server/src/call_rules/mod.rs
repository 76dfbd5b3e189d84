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
