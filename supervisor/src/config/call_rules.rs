//! The operator's rules about the calls that the supervisor itself runs, with its defaults behind them.

use std::path::Path;

use settings::config_file::ConfigFileError;
use toolkit::policy::{Policy, file};

const DEFAULTS: &str = include_str!("call_rules.toml");

/// The rules of the directory's `policy.toml`.
pub(super) fn read(config_dir: Option<&Path>) -> Result<Policy, ConfigFileError> {
    file::read(config_dir, &[], DEFAULTS)
}
