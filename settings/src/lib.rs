//! The settings of all programs: one table with a row for each, and how a row is read.
//!
//! A row of [`table`] has a setting's name, default, bounds, readers and meaning, and no other place repeats
//! any of them: `table::WORKERS.read(&source)` gives a value of the row's type, or an error that names the
//! setting, the value and what is right. Error messages, `GET /status`, what the supervisor passes on to its
//! children and the tables of docs/reference.md come from the rows. Values come from a [`Source`]. Nothing
//! here knows what a setting does.

mod check;
mod checks;
pub mod choices;
pub mod command_network;
pub mod config_file;
mod error;
mod find_file;
pub mod language;
mod origin;
pub mod place;
mod provider;
pub mod quotas;
mod readers;
mod row;
pub mod selection;
mod setting;
mod settings_file;
mod source;
mod span;
pub mod table;
pub mod template;
mod values;

pub use check::check;
pub use checks::{SHORTEST_RETENTION, is_node_name};
pub use error::{SettingError, is_bad_setting};
pub use find_file::{Search, find};
pub use origin::Origin;
pub use provider::{Provider, base_url};
pub use row::{Form, FromSupervisor, Program, Readers, Row, WhenUnset};
pub use setting::{Optional, Setting};
pub use settings_file::{SETTINGS_FILE, SettingsFile};
pub use source::{FILE_ENDING, Source, secret_in};
pub use span::{InvalidSpan, Span, UNITS};
pub use values::Values;

use process::logs::LogSettings;

/// How this program logs.
pub fn logs(source: &Source) -> Result<LogSettings, SettingError> {
    Ok(LogSettings { filter: table::RUST_LOG.read(source)?, format: table::LOG_FORMAT.read(source)? })
}
