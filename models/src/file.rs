//! `models.toml`: the models that an operator has, and which of them are used.

use std::collections::HashSet;
use std::path::Path;

use serde::Deserialize;
use toml::Spanned;

use process::Secret;
use settings::choices::ModelProvider;
use settings::config_file::ConfigFile;
use settings::table::{
    CONFIG_DIR, MODEL_BASE_URL, MODEL_CONTEXT_TOKENS, MODEL_EXTRA_BODY, MODEL_EXTRA_HEADERS, MODEL_FALLBACK,
    MODEL_MAX_OUTPUT_TOKENS, MODEL_NAME, MODEL_PROVIDER, MODEL_REASONING_EFFORT, MODEL_TEMPERATURE,
    MODEL_VISION,
};
use settings::{Row, SettingError, Source};

use super::entry::ModelEntry;

/// What describes one model where there is no file; beside it, it would be ignored in silence.
const DESCRIBE_ONE_MODEL: [&dyn Row; 9] = [
    &MODEL_PROVIDER, &MODEL_BASE_URL, &MODEL_CONTEXT_TOKENS, &MODEL_REASONING_EFFORT,
    &MODEL_MAX_OUTPUT_TOKENS, &MODEL_TEMPERATURE, &MODEL_EXTRA_BODY, &MODEL_EXTRA_HEADERS, &MODEL_VISION,
];

/// Longer than any key.
const MAX_KEY_BYTES: u64 = 16 * 1024;

/// The models of an operator, in their order.
#[derive(Debug)]
pub struct ModelsFile {
    file: ConfigFile,
    entries: Vec<Spanned<ModelEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default)]
    model: Vec<Spanned<ModelEntry>>,
}

impl ModelsFile {
    /// Reads `models.toml` in the configuration directory; none without it, or if no model server is used.
    pub fn read(source: &Source) -> Result<Option<Self>, SettingError> {
        let Some(directory) = CONFIG_DIR.read(source)? else { return Ok(None) };
        match MODEL_PROVIDER.read(source)? {
            Some(ModelProvider::Direct | ModelProvider::Scripted) => return Ok(None),
            Some(ModelProvider::Server(_)) | None => {}
        }
        let Some(file) = ConfigFile::read(&directory.join("models.toml"))? else {
            return Ok(None);
        };
        let Content { model: entries } = file.parse()?;
        if entries.is_empty() {
            return Err(file.error(None, "has no [[model]]: add one, or remove the file").into());
        }
        let (mut names, mut chats) = (HashSet::new(), HashSet::new());
        for entry in &entries {
            let twice = !names.insert(&entry.get_ref().name);
            let twice = twice.then(|| format!("a second model has the name {:?}", entry.get_ref().name));
            let shared = entry.get_ref().chats.iter().find(|chat| !chats.insert(*chat));
            let twice = twice.or_else(|| shared.map(|chat| format!("a chat has two models: {chat:?}")));
            if let Some(what) = twice.or_else(|| entry.get_ref().contradiction()) {
                return Err(file.error(Some(entry.span()), what).into());
            }
        }
        Ok(Some(Self { file, entries }))
    }

    /// All models.
    pub fn entries(&self) -> impl Iterator<Item = &ModelEntry> {
        self.entries.iter().map(Spanned::get_ref)
    }

    /// The models that are used: the one that `AUTONOUS_MODEL_NAME` names, by default the first one, and then
    /// those of `AUTONOUS_MODEL_FALLBACK`, in their order.
    pub fn used(&self, source: &Source) -> Result<Vec<&ModelEntry>, SettingError> {
        if let Some(row) = DESCRIBE_ONE_MODEL.iter().find(|row| source.secret(row.name()).is_some()) {
            let expected = format!("nothing, because {} describes the models", self.file.path().display());
            return Err(SettingError::new(row.name(), "***", expected));
        }
        let first = match MODEL_NAME.read(source)? {
            Some(name) => self.named(MODEL_NAME.name(), &name)?,
            None => self.entries[0].get_ref(),
        };
        let mut used = vec![first];
        for name in MODEL_FALLBACK.read(source)? {
            let next = self.named(MODEL_FALLBACK.name(), &name)?;
            if used.iter().any(|entry| entry.name == name) {
                return Err(MODEL_FALLBACK.refuse(name, "each model once, and not the first"));
            }
            used.push(next);
        }
        Ok(used)
    }

    /// The models that a chat can choose: those that are used, then the others whose keys are there. One that
    /// is fixed for a chat needs its key.
    pub fn selectable(&self, source: &Source) -> Result<Vec<&ModelEntry>, SettingError> {
        let mut selectable = self.used(source)?;
        for entry in self.entries() {
            let is_new = selectable.iter().all(|known| known.name != entry.name);
            let key = self.key(entry, source);
            if is_new && key.is_ok() {
                selectable.push(entry);
            } else if !entry.chats.is_empty() {
                key?;
            }
        }
        Ok(selectable)
    }

    fn named(&self, variable: &str, name: &str) -> Result<&ModelEntry, SettingError> {
        self.entries().find(|entry| entry.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.entries().map(|entry| entry.name.as_str()).collect();
            let expected = format!("a model of {}: {}", self.file.path().display(), names.join(", "));
            SettingError::new(variable, name, expected)
        })
    }

    /// A model's key: from its file or variable. A model at its provider's own address has the vendor's.
    pub fn key(&self, entry: &ModelEntry, source: &Source) -> Result<Option<Secret>, SettingError> {
        let part = self.entries.iter().find(|known| known.get_ref().name == entry.name).map(Spanned::span);
        let failed = |what: String| SettingError::from(self.file.error(part.clone(), what));
        if let Some(file) = &entry.api_key_file {
            let path = self.file.path().with_file_name("").join(file);
            let key =
                read_key(&path).map_err(|why| failed(format!("api_key_file {}: {why}", path.display())))?;
            return Ok(Some(key));
        }
        let Some(name) = entry.key_variable() else { return Ok(None) };
        // A key that comes from a file often ends in a newline, which a header must not have.
        let key = source.secret(name).map(|key| Secret::from(key.expose().trim()));
        match (key, entry.needs_key(source)?) {
            (None, true) => {
                Err(failed(format!("the model {:?} needs a key: set {name}, or api_key_file", entry.name)))
            }
            (key, _) => Ok(key),
        }
    }
}

impl ModelEntry {
    /// The variable with the model's key. The vendor's own key goes to no address but that of the vendor, or
    /// the one that stands beside it in the vendor's variable.
    pub fn key_variable(&self) -> Option<&str> {
        match (&self.api_key_env, &self.api_key_file, &self.base_url) {
            (Some(name), _, _) => Some(name),
            (None, None, None) => Some(self.provider.key_variable()),
            (None, _, _) => None,
        }
    }

    /// Named variables must be set, and a vendor wants a key; another server may need none.
    fn needs_key(&self, source: &Source) -> Result<bool, SettingError> {
        let is_vendor = self.base_url.is_none()
            && self.provider.base_url(source)?.as_str() == self.provider.vendor_base_url();
        Ok(self.api_key_env.is_some() || is_vendor)
    }
}

fn read_key(path: &Path) -> Result<Secret, String> {
    let file = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !file.is_file() || file.len() > MAX_KEY_BYTES {
        return Err(format!("expected a file of at most {MAX_KEY_BYTES} bytes with the key"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    match text.trim() {
        "" => Err("is empty".to_owned()),
        key if key.chars().any(char::is_whitespace) => Err("has more than a key in it".to_owned()),
        key => Ok(Secret::from(key)),
    }
}

#[cfg(test)]
mod tests;
