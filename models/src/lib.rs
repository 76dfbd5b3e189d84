//! Which models there are and which are used: `models.toml` in the configuration directory, or else the
//! settings for one model.
//!
//! The worker uses the models, and the supervisor hands it their keys and no others, so both read this. What
//! a request to them looks like is the worker's.

mod entry;
mod file;

pub use entry::{ExtraBody, ExtraHeaders, ModelEntry, Prices};
pub use file::ModelsFile;

use std::collections::BTreeMap;

use settings::table::{MODEL_API_KEY, MODEL_EXTRA_HEADERS};
use settings::{Provider, SettingError, Source};

/// The proxy for models' servers, in the common spellings; the first one that is set counts.
pub const PROXY: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];

/// The variables that hold secrets of models and must leave the environment: those of the vendors, and those
/// that `models.toml` names. Whether that file is valid is not decided here.
pub fn secret_variables(source: &Source) -> Vec<String> {
    let file = ModelsFile::read(source).ok().flatten();
    let listed = file.iter().flat_map(|file| file.entries()).filter_map(|entry| entry.api_key_env.clone());
    let mut names: Vec<String> = always_secret().map(str::to_owned).chain(listed).collect();
    // A proxy's address is for everybody to see unless it has a password in it.
    let proxies = PROXY.iter().filter(|name| source.text(name).is_some_and(|url| url.contains('@')));
    names.extend(proxies.map(|name| (*name).to_owned()));
    names.sort();
    names.dedup();
    names
}

/// What chats can have; empty without `models.toml`.
#[derive(Debug, Clone, Default)]
pub struct Selectable {
    /// The names of the models that a chat can choose, the first one first.
    pub names: Vec<String>,
    /// The chats whose model is fixed, with its name.
    pub fixed: BTreeMap<String, String>,
}

impl Selectable {
    /// Reads which models there are.
    pub fn read(source: &Source) -> Result<Self, SettingError> {
        let Some(file) = ModelsFile::read(source)? else { return Ok(Self::default()) };
        let entries = file.selectable(source)?;
        let fixed = entries.iter().flat_map(|entry| entry.chats.iter().map(|chat| (chat, &entry.name)));
        Ok(Self {
            names: entries.iter().map(|entry| entry.name.clone()).collect(),
            fixed: fixed.map(|(chat, name)| (chat.clone(), name.clone())).collect(),
        })
    }
}

/// The variables with the secrets of the models that are used or can be chosen.
pub fn used_secrets(source: &Source) -> Result<Vec<String>, SettingError> {
    let mut names: Vec<String> = PROXY.map(str::to_owned).into();
    match ModelsFile::read(source)? {
        None => names.extend(always_secret().map(str::to_owned)),
        Some(file) => {
            let selectable = file.selectable(source)?;
            names.extend(selectable.iter().filter_map(|entry| entry.key_variable()).map(str::to_owned));
        }
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

fn always_secret() -> impl Iterator<Item = &'static str> {
    [MODEL_API_KEY.name(), MODEL_EXTRA_HEADERS.name()]
        .into_iter()
        .chain(Provider::ALL.map(Provider::key_variable))
}
