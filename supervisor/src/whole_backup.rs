//! Backs up all that another machine needs, into a new directory that can be a data directory itself: the
//! database, the journal, the agent's own notes, the skills, the files of the configuration, and the
//! workspace if that is wanted.
//!
//! The database is copied before the journal, so that the journal has at least what the database knows of it.
//! What a killed backup left behind is removed by the next one into the same directory.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use progress_line::ProgressLine;
use rustix::fs::{CWD, RenameFlags, renameat_with, syncfs};
use serde::Serialize;
use store::kv;
use store::queries::{self, QueryError};

use crate::backup::{Backup, BackupError, backup, lock, remove_abandoned, roots_of_last_run, unfinished};
use crate::config::SECRETS;
use crate::data_dir::DataDir;
use crate::tree_copy::{Copied, copy_directory};

/// The files that are copied of the configuration directory: others may lie beside it, such as keys.
const CONFIG_FILES: [&str; 4] = ["AUTONOUS.md", "autonous.toml", "models.toml", "policy.toml"];

/// The one that the data directory can have instead.
const OWN_CONFIG: [&str; 1] = ["autonous.toml"];

/// The directory of the backup that has those of a configuration directory.
const CONFIG: &str = "config";

/// The parts that a backup has.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// What tools reach by the settings of this shell.
    pub roots: &'a [PathBuf],
    /// The configuration directory by the settings of this shell; else that of the last run counts.
    pub config_dir: Option<PathBuf>,
    pub has_workspace: bool,
    /// The directory with secrets beside the configuration, which `supervisor setup` makes.
    pub has_secrets: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WholeBackup {
    pub directory: PathBuf,
    pub database: Backup,
    /// The other files, and their bytes.
    pub files: u64,
    pub bytes: u64,
    /// The files of the configuration that are in it.
    pub config: Vec<&'static str>,
    /// Directories that tools reach and that are not in it.
    pub without: Vec<PathBuf>,
    /// The directory with secrets that is not in it.
    pub without_secrets: Option<PathBuf>,
    /// Pipes, sockets, and what could not be read.
    pub left_out: u64,
}

/// Copies everything to `directory`, which must not exist. `progress` shows the steps.
pub fn back_up(
    data: &DataDir,
    wanted: &Wanted<'_>,
    directory: &Path,
    progress: &ProgressLine,
) -> Result<WholeBackup, BackupError> {
    if directory.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(directory.to_owned()));
    }
    let partial = unfinished(directory);
    let copied = copy_all(data, wanted, (&partial, directory), progress);
    if copied.is_err() {
        // Only this backup can have this name.
        let _ = fs::remove_dir_all(&partial);
    }
    copied
}

fn copy_all(
    data: &DataDir,
    wanted: &Wanted<'_>,
    (partial, directory): (&Path, &Path),
    progress: &ProgressLine,
) -> Result<WholeBackup, BackupError> {
    let written = |error| BackupError::Write(directory.to_owned(), error);
    let new = |path: &Path| DirBuilder::new().mode(0o700).create(path).map_err(written);
    new(partial)?;
    let opened = File::open(partial).and_then(|opened| lock(&opened).map(|()| opened)).map_err(written)?;
    new(&partial.join("db"))?;
    let database = backup(data, wanted.roots, &partial.join("db/autonous.db"), progress)?;
    // It would have refused a directory that tools reach.
    remove_abandoned(directory.parent().unwrap_or(Path::new("/")));
    let (mut copied, mut parts) = (Copied::default(), vec!["journal", "state", "skills"]);
    parts.extend(wanted.has_workspace.then_some("workspace"));
    for part in &parts {
        progress.step("Copying files");
        copy_directory(&data.path().join(part), &partial.join(part), &mut copied).map_err(written)?;
    }
    let (from, to, names) = match config_dir(data, wanted)? {
        Some(from) => (from, partial.join(CONFIG), &CONFIG_FILES[..]),
        None => (data.path().to_owned(), partial.to_owned(), &OWN_CONFIG[..]),
    };
    if to != partial {
        new(&to)?;
    }
    let config = copy_config(&from, &to, names, &mut copied).map_err(written)?;
    let without_secrets = copy_secrets(&from, &to, wanted, &mut copied).map_err(written)?;
    progress.step("Writing to the disk");
    syncfs(&opened).map_err(|errno| written(errno.into()))?;
    renameat_with(CWD, partial, CWD, directory, RenameFlags::NOREPLACE).map_err(|errno| match errno {
        rustix::io::Errno::EXIST => BackupError::Exists(directory.to_owned()),
        other => written(other.into()),
    })?;
    let kept = |root: &&PathBuf| !parts.iter().any(|part| root.starts_with(data.path().join(part)));
    Ok(WholeBackup {
        directory: directory.to_owned(),
        database: Backup { file: directory.join("db/autonous.db"), ..database },
        files: copied.files,
        bytes: copied.bytes,
        config,
        without: roots(data, wanted)?.iter().filter(kept).cloned().collect(),
        without_secrets,
        left_out: copied.left_out,
    })
}

fn config_dir(data: &DataDir, wanted: &Wanted<'_>) -> Result<Option<PathBuf>, QueryError> {
    if wanted.config_dir.is_some() {
        return Ok(wanted.config_dir.clone());
    }
    let of_last_run = kv::get(&queries::open(data.database())?, kv::CONFIG_DIR)?;
    Ok(of_last_run.filter(|directory| !directory.is_empty()).map(PathBuf::from))
}

/// What tools reach: by the last run, else by the settings of this shell.
fn roots(data: &DataDir, wanted: &Wanted<'_>) -> Result<Vec<PathBuf>, QueryError> {
    let of_last_run = roots_of_last_run(&queries::open(data.database())?)?;
    Ok(if of_last_run.is_empty() { wanted.roots.to_vec() } else { of_last_run })
}

/// Copies the files of the configuration that are there, and returns their names.
fn copy_config(
    from: &Path,
    to: &Path,
    names: &[&'static str],
    copied: &mut Copied,
) -> io::Result<Vec<&'static str>> {
    let mut found = Vec::new();
    for &name in names {
        match fs::copy(from.join(name), to.join(name)) {
            Ok(bytes) => {
                found.push(name);
                copied.files += 1;
                copied.bytes += bytes;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Copies the secrets beside the configuration if they are wanted, and otherwise names their directory.
fn copy_secrets(
    from: &Path,
    to: &Path,
    wanted: &Wanted<'_>,
    copied: &mut Copied,
) -> io::Result<Option<PathBuf>> {
    let secrets = from.join(SECRETS);
    if wanted.has_secrets {
        copy_directory(&secrets, &to.join(SECRETS), copied)?;
        return Ok(None);
    }
    Ok(Some(secrets).filter(|secrets| secrets.is_dir()))
}
