//! The variables with secrets for requests to the web. Only the fetcher uses them; the supervisor passes them
//! on.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use settings::Source;
use settings::config_file::ConfigFile;
use settings::table::{FETCH_PROFILES_FILE, PREFIX, SEARCH_API_KEY};

/// The file with the credentials, as far as this program reads it.
#[derive(Deserialize)]
struct Content {
    #[serde(default)]
    profiles: BTreeMap<String, Profile>,
}

#[derive(Deserialize)]
struct Profile {
    secret_env: Option<String>,
}

/// The variables with secrets that only the fetcher gets. The tool server decides whether the file is valid.
pub(crate) fn fetch_secrets(source: &Source, current_dir: &Path) -> Vec<String> {
    let named = FETCH_PROFILES_FILE.read(source).ok().flatten();
    let file = named.and_then(|path| ConfigFile::read(&current_dir.join(path)).ok().flatten());
    let content: Option<Content> = file.and_then(|file| file.parse().ok());
    let profiles = content.map(|content| content.profiles).unwrap_or_default();
    let named = profiles.into_values().filter_map(|profile| profile.secret_env);
    // Ours stay here, whatever the file says.
    let named = named.filter(|name| !name.starts_with(PREFIX));
    [SEARCH_API_KEY.name().to_owned()].into_iter().chain(named).collect()
}
