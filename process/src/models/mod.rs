//! Which models there are and which are used: `models.toml` in the configuration directory, or else the
//! variables for one model.
//!
//! The worker uses the models, and the supervisor hands it their keys and no others, so both read this. What
//! a request to them looks like is the worker's.

mod entry;
mod file;
mod provider;

pub use entry::{
    DEFAULT_CONTEXT_TOKENS, Effort, ExtraBody, ExtraHeaders, MAX_CONTEXT_TOKENS, MIN_CONTEXT_TOKENS,
    ModelEntry, Prices, PromptForm, checked_temperature,
};
pub use file::{ModelsError, ModelsFile};
pub use provider::{Provider, base_url};

use crate::variables::Variables;

/// The directory with `models.toml`.
pub const CONFIG_DIR: &str = "AUTONOUS_CONFIG_DIR";

/// The key of the one model that the variables describe. It goes before the vendor's own variable.
pub const OWN_KEY: &str = "AUTONOUS_MODEL_API_KEY";

/// Headers for the one model, which may hold a key.
pub const EXTRA_HEADERS: &str = "AUTONOUS_MODEL_EXTRA_HEADERS";

/// The proxy for models' servers, in the common spellings; the first one that is set counts.
pub const PROXY: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];

/// The variables that hold secrets of models and must leave the environment: those of the vendors, and those
/// that `models.toml` names. Whether that file is valid is not decided here.
pub fn secret_variables(variables: &Variables) -> Vec<String> {
    let file = ModelsFile::read(variables).ok().flatten();
    let listed = file.iter().flat_map(|file| file.entries()).filter_map(|entry| entry.api_key_env.clone());
    let mut names: Vec<String> = always_secret().map(str::to_owned).chain(listed).collect();
    // A proxy's address is for everybody to see unless it has a password in it.
    let proxies = PROXY.iter().filter(|name| variables.text(name).is_some_and(|url| url.contains('@')));
    names.extend(proxies.map(|name| (*name).to_owned()));
    names.sort();
    names.dedup();
    names
}

/// The names of the models that a chat can choose, the first one first; none without `models.toml`.
pub fn selectable_names(variables: &Variables) -> Result<Vec<String>, ModelsError> {
    let Some(file) = ModelsFile::read(variables)? else { return Ok(Vec::new()) };
    Ok(file.selectable(variables)?.into_iter().map(|entry| entry.name.clone()).collect())
}

/// The variables with the secrets of the models that are used or can be chosen.
pub fn used_secrets(variables: &Variables) -> Result<Vec<String>, ModelsError> {
    let mut names: Vec<String> = PROXY.map(str::to_owned).into();
    match ModelsFile::read(variables)? {
        None => names.extend(always_secret().map(str::to_owned)),
        Some(file) => {
            let selectable = file.selectable(variables)?;
            names.extend(selectable.iter().filter_map(|entry| entry.key_variable()).map(str::to_owned));
        }
    }
    names.dedup();
    Ok(names)
}

fn always_secret() -> impl Iterator<Item = &'static str> {
    [OWN_KEY, EXTRA_HEADERS].into_iter().chain(Provider::ALL.map(Provider::key_variable))
}
