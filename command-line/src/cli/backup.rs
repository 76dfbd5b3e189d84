//! `supervisor backup`: a checked copy of the database in one file, or of everything in a new directory.

use std::path::{Path, PathBuf};

use clap::Args;
use progress_line::ProgressLine;
use serde_json::json;

use supervisor::backup::{BackupError, backup};
use supervisor::data_dir::DataDir;
use supervisor::whole_backup::{Wanted, WholeBackup, back_up};

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// The file to write, or with --all the directory; it must not exist yet.
    pub file: PathBuf,
    /// Copy everything that another machine needs into a directory: database, journal, the agent's notes,
    /// skills, and the files of the configuration.
    #[arg(long)]
    pub all: bool,
    /// With --all: the workspace, too.
    #[arg(long, requires = "all")]
    pub workspace: bool,
    /// With --all: the secrets that `supervisor setup` keeps beside the settings, too.
    #[arg(long, requires = "all")]
    pub secrets: bool,
    /// Print JSON: {"file": …, "bytes": …, "tasks": …, "events": …}; with --all, that as `database` beside
    /// `directory`, `files`, `bytes`, `config`, `without`, `without_secrets` and `left_out`.
    #[arg(long)]
    pub json: bool,
}

/// The text to print; `file` is where the copy goes, absolute. What tools reach and the configuration
/// directory are those of this shell's settings.
pub(super) fn run(
    data: &DataDir,
    arguments: &BackupArguments,
    (roots, config_dir): (&[PathBuf], Option<PathBuf>),
    file: &Path,
) -> Result<String, BackupError> {
    if arguments.all {
        let (has_workspace, has_secrets) = (arguments.workspace, arguments.secrets);
        let wanted = Wanted { roots, config_dir, has_workspace, has_secrets };
        let made = back_up(data, &wanted, file, &ProgressLine::new())?;
        return Ok(if arguments.json { super::pretty(&json!(made)) } else { told(&made) });
    }
    let made = backup(data, roots, file, &ProgressLine::new())?;
    if arguments.json {
        return Ok(super::pretty(&json!(made)));
    }
    Ok(format!(
        "{}: {} bytes, {} tasks, {} events, checked",
        made.file.display(),
        made.bytes,
        made.tasks,
        made.events
    ))
}

fn told(made: &WholeBackup) -> String {
    let WholeBackup { database, files, bytes, config, .. } = made;
    let config = if config.is_empty() { "none".to_owned() } else { config.join(", ") };
    let mut text = format!(
        "{}: the database with {} tasks and {} events, checked, and {files} further files, {bytes} bytes\n\
         Configuration: {config}. Tokens and keys of the environment are not in it.",
        made.directory.display(),
        database.tasks,
        database.events,
    );
    if let Some(secrets) = &made.without_secrets {
        text.push_str(&format!("\nNot in it, unless --secrets is given: {}", secrets.display()));
    }
    if !made.without.is_empty() {
        let without: Vec<String> = made.without.iter().map(|root| root.display().to_string()).collect();
        text.push_str(&format!("\nNot in it: {}", without.join(", ")));
    }
    if made.left_out > 0 {
        text.push_str(&format!("\nLeft out: {} that are no files, or could not be read", made.left_out));
    }
    text
}
