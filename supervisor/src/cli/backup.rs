//! `supervisor backup`: a checked copy of the database in one file.

use std::path::{Path, PathBuf};

use clap::Args;
use progress_line::ProgressLine;
use serde_json::json;

use crate::backup::{BackupError, backup};
use crate::data_dir::DataDir;

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// The file to write; it must not exist yet.
    pub file: PathBuf,
    /// Print JSON: {"file": …, "bytes": …, "tasks": …, "events": …}.
    #[arg(long)]
    pub json: bool,
}

/// The text to print; `file` is where the copy goes, absolute, and `roots` what tools reach.
pub(super) fn run(
    data: &DataDir,
    arguments: &BackupArguments,
    roots: &[PathBuf],
    file: &Path,
) -> Result<String, BackupError> {
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
