//! Where `autonous.toml` is: in the configuration directory, else in the data directory, and never in both.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::config_file::ConfigFileError;
use crate::place::wrong_value;
use crate::settings_file::{SETTINGS_FILE, SettingsFile};
use crate::source::Source;
use crate::table::{CONFIG_DIR, DATA_DIR};

/// Which data directory may hold the file.
#[derive(Debug, Clone, Copy)]
pub enum Search<'a> {
    /// This one, which a command line names.
    Named(&'a Path),
    /// The one of the settings, or else the default.
    Default,
    /// The one of the settings. Without one, none is looked into: the default lies below the current
    /// directory, which can be one that tools write to.
    OnlyGiven,
}

/// The file of this environment; none if there is none.
///
/// # Errors
/// A file that cannot be used, and two of them.
pub fn find(environment: &Source, search: Search<'_>) -> Result<Option<SettingsFile>, ConfigFileError> {
    let config_dir = environment.text(CONFIG_DIR.name()).map(Path::new);
    let in_config_dir = config_dir.map(read).transpose()?.flatten();
    let given = environment.text(DATA_DIR.name());
    let given = given.or_else(|| in_config_dir.as_ref().and_then(|file| file.value(DATA_DIR.name())));
    let data_dir = match (search, given) {
        (Search::Named(path), _) => Some(path.to_owned()),
        (Search::Default | Search::OnlyGiven, Some(path)) => Some(PathBuf::from(path)),
        (Search::Default, None) => Some(DATA_DIR.default_value()),
        (Search::OnlyGiven, None) => None,
    };
    if let Some(file) = in_config_dir {
        refuse(&file, CONFIG_DIR.name(), "nothing: this file lies in the configuration directory")?;
        refuse_second(&file, data_dir.as_deref())?;
        return Ok(Some(file));
    }
    let in_data_dir = data_dir.as_deref().map(read).transpose()?.flatten();
    if let Some(file) = &in_data_dir {
        refuse(file, DATA_DIR.name(), "nothing: this file lies in the data directory")?;
        refuse_second(file, file.value(CONFIG_DIR.name()).map(Path::new))?;
    }
    Ok(in_data_dir)
}

/// A file that others can change would set what they want.
fn read(directory: &Path) -> Result<Option<SettingsFile>, ConfigFileError> {
    let path = directory.join(SETTINGS_FILE);
    match std::fs::metadata(&path) {
        Ok(file) if file.permissions().mode() & 0o002 != 0 => {
            let path = path.display().to_string();
            let cure = format!("every user of this machine can change it: type chmod o-w '{path}'");
            Err(ConfigFileError::whole(Path::new(&path), cure))
        }
        Ok(_) | Err(_) => SettingsFile::read(&path),
    }
}

fn refuse(file: &SettingsFile, variable: &str, expected: &str) -> Result<(), ConfigFileError> {
    match file.setting(variable) {
        None => Ok(()),
        Some(setting) => Err(file.error(setting, wrong_value(variable, &setting.value, expected))),
    }
}

/// Which of two files holds would be a riddle.
fn refuse_second(first: &SettingsFile, directory: Option<&Path>) -> Result<(), ConfigFileError> {
    let Some(second) = directory.map(|directory| directory.join(SETTINGS_FILE)) else { return Ok(()) };
    let is_same = match (first.path().canonicalize(), second.canonicalize()) {
        (Ok(first), Ok(second)) => first == second,
        (_, Err(_)) => true,
        (Err(_), Ok(_)) => false,
    };
    if is_same {
        return Ok(());
    }
    let what = format!("{} is there, too: keep one of them", second.display());
    Err(ConfigFileError::whole(first.path(), what))
}
