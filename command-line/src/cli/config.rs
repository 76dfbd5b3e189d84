//! `supervisor config`: prints what holds and where it comes from, writes a new `autonous.toml`, judges one.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;
use settings::place::{Place, sections};
use settings::table::{self, ALL, CONFIG_DIR, DATA_DIR};
use settings::{
    Origin, Program, Row, SETTINGS_FILE, SettingError, SettingsFile, Source, WhenUnset, template,
};

use super::error::CommandError;
use supervisor::config::Config;
use supervisor::data_dir::DataDir;

/// The column of the comments.
const COMMENTS: usize = 48;

#[derive(Debug, Args)]
pub(crate) struct ConfigArguments {
    #[command(subcommand)]
    pub command: Option<ConfigCommand>,
    /// Only what is set, without the defaults.
    #[arg(long)]
    pub set: bool,
    /// Print JSON: an array of {"section": …, "key": …, "variable": …, "value": …, "origin":
    /// "default|variable|file|credential", "from": …}.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Write a file with all settings as comments, with their meanings and defaults.
    ///
    /// It goes into AUTONOUS_CONFIG_DIR, or else into the data directory, as autonous.toml. A file that is
    /// there stays as it is.
    Init {
        /// Another place for the file; `-` prints it.
        file: Option<PathBuf>,
    },
    /// Judge a file: its names, its values, and whether they go together. Variables are left aside.
    Check {
        /// The file.
        file: PathBuf,
    },
}

#[derive(Debug, Serialize)]
struct Line {
    section: &'static str,
    key: String,
    variable: &'static str,
    /// None if nothing is set and the default is no value.
    value: Option<String>,
    origin: &'static str,
    /// The variable, or the file and its line.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
}

/// What holds.
pub(super) fn show(source: &Source, data: &DataDir, arguments: &ConfigArguments) -> String {
    let lines: Vec<Line> = sections()
        .flat_map(|section| ALL.iter().filter(move |row| Place::of(row.name()).section == section))
        .map(|row| line(*row, source, data))
        .filter(|line| !arguments.set || line.origin != "default")
        .collect();
    if arguments.json {
        return super::pretty(&serde_json::json!(lines));
    }
    let file = source.file().map_or_else(
        || format!("# There is no {SETTINGS_FILE}. `supervisor config init` writes one."),
        |file| format!("# {}", file.display()),
    );
    let mut text = vec![file];
    for section in sections() {
        let mut of_section = lines.iter().filter(|line| line.section == section).peekable();
        if of_section.peek().is_some() {
            text.push(format!("\n[{section}]"));
            text.extend(of_section.map(shown));
        }
    }
    text.join("\n")
}

fn line(row: &dyn Row, source: &Source, data: &DataDir) -> Line {
    let origin = source.origin(row.name());
    let value = match (&origin, row.default()) {
        _ if row.name() == DATA_DIR.name() => Some(data.path().display().to_string()),
        (Origin::Default, WhenUnset::Words(_)) => None,
        (Origin::Default, _) => row.shown(source),
        _ if row.is_secret() => Some("***".to_owned()),
        _ => row.shown(source),
    };
    let (origin, from) = match origin {
        Origin::Default => ("default", None),
        Origin::Variable(name) => ("variable", Some(name)),
        Origin::File(path, line) => ("file", Some(format!("{}:{line}", path.display()))),
        Origin::Credential => ("credential", Some(row.name().to_owned())),
    };
    let Place { section, key } = Place::of(row.name());
    Line { section, key, variable: row.name(), value, origin, from }
}

/// A line as a file would have it, and behind it where the value comes from.
fn shown(line: &Line) -> String {
    let row = table::row(line.variable);
    let setting = match (&line.value, row) {
        (Some(value), Some(row)) if !row.is_secret() => {
            format!("{} = {}", line.key, row.form().literal(value))
        }
        (Some(value), _) => format!("{} = {value}", line.key),
        (None, _) => format!("# {}", line.key),
    };
    let from = match (&line.from, row.map(|row| row.default())) {
        (Some(from), _) if line.origin == "credential" => format!("credential {from}"),
        (Some(from), _) => from.clone(),
        (None, Some(WhenUnset::Words(words))) => format!("default: {words}"),
        (None, _) => "default".to_owned(),
    };
    format!("{setting:<COMMENTS$}  # {from}")
}

/// Writes a new file; the text that says so.
pub(super) fn init(source: &Source, data: &DataDir, file: Option<&Path>) -> Result<String, CommandError> {
    if file == Some(Path::new("-")) {
        return Ok(template::text().trim_end().to_owned());
    }
    let path = file.map_or_else(|| place(source, data), Path::to_owned);
    match write_new(&path, &template::text()) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(CommandError::SettingsFileExists(path));
        }
        Err(error) => return Err(CommandError::SettingsFile(path, error)),
    }
    let path = path.display();
    Ok(format!(
        "{path} has all settings as comments. Take the # from those that you change, then type:\n\
         \x20 supervisor config check '{path}'"
    ))
}

/// Where a file of this environment belongs.
pub(crate) fn place(source: &Source, data: &DataDir) -> PathBuf {
    let config_dir = source.text(CONFIG_DIR.name()).map(PathBuf::from);
    config_dir.unwrap_or_else(|| data.path().to_owned()).join(SETTINGS_FILE)
}

/// Only its owner reads it, and a directory that is missing.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Judges a file, as if nothing else were set.
///
/// # Errors
/// With the first thing that is wrong.
pub(super) fn check(path: &Path, data: &DataDir) -> anyhow::Result<String> {
    let file = SettingsFile::read(path)?.ok_or_else(|| CommandError::NoSettingsFile(path.to_owned()))?;
    let source = Source::default().with_file(Some(&file));
    let located = |error: SettingError| source.located(error);
    for program in [Program::Supervisor, Program::ToolServer, Program::Worker] {
        settings::check(&source, program).map_err(located)?;
    }
    Config::read(&source, Some(data.path())).map_err(|error| source.located_any(error))?;
    let settings = if file.count() == 1 { "setting" } else { "settings" };
    Ok(format!("{}: {} {settings}, all valid", path.display(), file.count()))
}
