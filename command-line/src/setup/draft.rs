//! The file that a set-up is about to write, with the secrets that it names.
//!
//! Nothing is written before the end.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use process::Secret;
use settings::place::{Place, sections};
use settings::table::PREFIX;
use settings::{FILE_ENDING, SettingError, SettingsFile, Source};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use supervisor::config::{SECRETS, secret_variables};

/// What the file will say.
pub(super) struct Draft {
    path: PathBuf,
    environment: Source,
    document: DocumentMut,
    /// By variable: where each goes, and what it is.
    secrets: Vec<(&'static str, PathBuf, Secret)>,
    /// The variables that were set.
    set: Vec<String>,
}

impl Draft {
    /// The file at this place, or a new one.
    pub(super) fn open(path: PathBuf, environment: Source) -> anyhow::Result<Self> {
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.with_context(|| format!("could not read {}", path.display()))?,
        };
        // Its mistakes are reported with their lines.
        SettingsFile::of_text(&path, &text)?;
        let document = text.parse().with_context(|| format!("could not read {}", path.display()))?;
        Ok(Self { path, environment, document, secrets: Vec::new(), set: Vec::new() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The variables of this shell that win over what was set here.
    pub(super) fn overruled(&self) -> Vec<&str> {
        let wins = |name: &&String| self.environment.text(name).is_some();
        self.set.iter().filter(wins).map(String::as_str).collect()
    }

    /// Sets the setting of a variable.
    pub(super) fn set(&mut self, variable: &str, value: impl Into<Value>) {
        let place = Place::of(variable);
        let (section, mut value) = (self.section(place.section), value.into());
        match section.get_mut(&place.key).and_then(Item::as_value_mut) {
            // A comment behind it stays.
            Some(old) => {
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
            None => drop(section.insert(&place.key, Item::Value(value))),
        }
        if !self.set.iter().any(|name| name == variable) {
            self.set.push(variable.to_owned());
        }
    }

    /// The setting of a variable has its default again.
    pub(super) fn unset(&mut self, variable: &str) {
        let place = Place::of(variable);
        if self.document.contains_key(place.section) {
            self.section(place.section).remove(&place.key);
        }
        self.set.retain(|name| name != variable);
        self.secrets.retain(|(name, ..)| format!("{name}{FILE_ENDING}") != variable);
    }

    /// Keeps a secret in a file of its own, which the settings name.
    pub(super) fn set_secret(&mut self, variable: &'static str, secret: Secret) {
        let name = variable.strip_prefix(PREFIX).unwrap_or(variable).to_ascii_lowercase();
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let file = directory.join(SECRETS).join(name);
        self.set(&format!("{variable}{FILE_ENDING}"), file.display().to_string());
        self.secrets.retain(|(known, ..)| *known != variable);
        self.secrets.push((variable, file, secret));
    }

    /// A section; new ones come in the order of the documentation.
    fn section(&mut self, name: &str) -> &mut dyn TableLike {
        let position = sections().position(|section| section == name).unwrap_or_default();
        let item = self.document.entry(name).or_insert_with(|| {
            let mut table = Table::new();
            table.set_position(isize::try_from(position).ok());
            Item::Table(table)
        });
        item.as_table_like_mut().expect("a section was read as a table")
    }

    /// The settings that will hold in this shell.
    pub(super) fn source(&self) -> Result<Source, SettingError> {
        let file = SettingsFile::of_text(&self.path, &self.document.to_string())?;
        let source = self.environment.clone().with_file(Some(&file));
        let with_secret = |source: Source, (name, _, secret): &(&'static str, PathBuf, Secret)| {
            source.with_secret(name, secret.clone())
        };
        let source = self.secrets.iter().fold(source, with_secret);
        source.with_secret_files(&secret_variables(&source))
    }

    /// Writes the secrets, then the file: whole or not at all.
    pub(super) fn write(&self) -> anyhow::Result<()> {
        for (_, path, secret) in &self.secrets {
            replace(path, &format!("{}\n", secret.expose()))?;
        }
        replace(&self.path, &self.document.to_string())
    }
}

/// Replaces a file. Only its owner reads it, and in a directory of another group, as that of a service, that
/// group.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let written = || -> io::Result<()> {
        let directory = path.parent().unwrap_or(Path::new("."));
        let group = directory_for(directory)?;
        let new = path.with_extension("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        share(&file, group, 0o640)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, path)
    };
    written().with_context(|| format!("could not write {}", path.display()))
}

/// Makes a directory if it is missing; the group that reads what is in it, if there is one.
fn directory_for(directory: &Path) -> io::Result<Option<u32>> {
    if !directory.is_dir() {
        let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
        let group = parent.map(directory_for).transpose()?.flatten();
        DirBuilder::new().mode(0o700).create(directory)?;
        share(&File::open(directory)?, group, 0o750)?;
    }
    let facts = fs::metadata(directory)?;
    let is_shared = rustix::process::geteuid().is_root() && facts.gid() != 0 && facts.mode() & 0o040 != 0;
    Ok(is_shared.then_some(facts.gid()))
}

fn share(file: &File, group: Option<u32>, mode: u32) -> io::Result<()> {
    let Some(group) = group else { return Ok(()) };
    fchown(file, None, Some(group))?;
    rustix::fs::fchmod(file, rustix::fs::Mode::from_raw_mode(mode))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_setting_changes_and_the_rest_of_the_file_stays() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("autonous.toml");
        let text = "# mine\n[limits]\nworkers = 2 # few\n\n[telegram]\nallowed_chats = [-5]\n";
        fs::write(&path, text).unwrap();
        let mut draft = Draft::open(path.clone(), Source::default()).unwrap();
        draft.set("AUTONOUS_WORKERS", 3_i64);
        draft.set_secret("AUTONOUS_TELEGRAM_TOKEN", Secret::from("1:abc"));
        draft.set("AUTONOUS_MODEL_PROVIDER", "direct");
        draft.unset("AUTONOUS_MODEL_PROVIDER");
        draft.write().unwrap();
        let written = fs::read_to_string(&path).unwrap();
        assert!(written.starts_with("# mine\n[limits]\nworkers = 3 # few\n"), "{written}");
        assert!(written.contains("allowed_chats = [-5]\ntoken_file = "), "{written}");
        assert!(!written.contains("provider") && !written.contains("abc"), "{written}");
        let secret = directory.path().join("secrets/telegram_token");
        assert_eq!(fs::read_to_string(&secret).unwrap(), "1:abc\n");
        for (path, mode) in [(&path, 0o600), (&secret, 0o600), (&directory.path().join("secrets"), 0o700)] {
            assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, mode, "{}", path.display());
        }
        let source = draft.source().unwrap();
        assert!(source.secret("AUTONOUS_TELEGRAM_TOKEN").unwrap().matches("1:abc"));
    }
}
