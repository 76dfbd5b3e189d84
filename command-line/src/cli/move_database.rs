//! `supervisor move-database`: from the file of the data directory to a server, or back.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use clap::Args;
use process::Secret;
use progress_line::ProgressLine;
use serde_json::json;
use store::sql::address::ServerAddress;

use crate::terminal::{Column, Screen, Table};
use supervisor::data_dir::DataDir;
use supervisor::move_database::{Moved, Target, move_database};

/// What `--to` has to be for the file of the data directory.
const SQLITE: &str = "sqlite";

const URL_FILE: &str = "--to-url-file";

#[derive(Debug, Args)]
pub(crate) struct MoveDatabaseArguments {
    /// A URL such as postgres://user@host/database, or `sqlite` for a new file of the data directory.
    ///
    /// Other users of the machine can see a password on a command line.
    #[arg(long, value_name = "URL|sqlite", value_parser = secret, required_unless_present = "to_url_file")]
    pub to: Option<Secret>,
    /// A file with the URL, as `database_url_file` of autonous.toml names it.
    #[arg(long, value_name = "FILE", conflicts_with = "to")]
    pub to_url_file: Option<PathBuf>,
    /// Print JSON: {"from": …, "to": …, "tables": [{"name": …, "rows": …, "sha256": …}]}.
    #[arg(long)]
    pub json: bool,
}

/// Nothing prints what may have a password in it, not even an error about it.
fn secret(text: &str) -> Result<Secret, Infallible> {
    Ok(Secret::from(text))
}

const COLUMNS: &[Column] =
    &[Column::text("TABLE", 32), Column::number("ROWS", 14), Column::text("COMPARED", 0)];

pub(super) fn run(
    data: &DataDir,
    arguments: &MoveDatabaseArguments,
    screen: Screen,
) -> anyhow::Result<String> {
    let target = target(arguments)?;
    let moved = move_database(data, &target, &ProgressLine::new())?;
    if arguments.json {
        return Ok(super::pretty(&json!(moved)));
    }
    let next = match target {
        Target::Server(_) => next_on_server(arguments.to_url_file.as_deref(), &moved),
        Target::File => next_in_file(&moved),
    };
    Ok(format!("{}\n\n{next}", report(&moved, screen)))
}

fn target(arguments: &MoveDatabaseArguments) -> anyhow::Result<Target> {
    let (url, origin) = match (&arguments.to, &arguments.to_url_file) {
        (_, Some(file)) => (settings::secret_in(URL_FILE, &file.display().to_string())?, URL_FILE),
        (to, None) => (to.clone().unwrap_or_else(|| Secret::from("")), "--to"),
    };
    if url.matches(SQLITE) {
        return Ok(Target::File);
    }
    let address = ServerAddress::parse(url.expose());
    let address = address.with_context(|| format!("{origin} takes {SQLITE} or the URL of a server"))?;
    Ok(Target::Server(Arc::new(address)))
}

fn report(moved: &Moved, screen: Screen) -> String {
    let mut table = Table::new(COLUMNS);
    for one in &moved.tables {
        table.row([(one.name.clone(), None), (one.rows.to_string(), None), ("equal".to_owned(), None)]);
    }
    let rows: u64 = moved.tables.iter().map(|table| table.rows).sum();
    let lines = table.lines(screen.columns, screen.paint).join("\n");
    let tables = moved.tables.len();
    format!("{lines}\n\nMoved {tables} tables with {rows} rows from {} to {}.", moved.from, moved.to)
}

fn next_on_server(url_file: Option<&Path>, moved: &Moved) -> String {
    let file = url_file.and_then(|file| std::path::absolute(file).ok());
    let file = file.map_or("a file that has the URL".to_owned(), |file| file.display().to_string());
    format!(
        "Next: name the server in autonous.toml, for the supervisor and all its commands, or set \
         AUTONOUS_DATABASE_URL,\n\n  [data]\n  database_url_file = {file:?}\n\nand start the supervisor. {} \
         was not changed and stays as a copy of today; it is not kept up to date.",
        moved.from
    )
}

fn next_in_file(moved: &Moved) -> String {
    format!(
        "Next: take AUTONOUS_DATABASE_URL, or database_url_file in the section [data] of autonous.toml, out \
         of the settings, and start the supervisor. {} was not changed and stays as a copy of today; it is \
         not kept up to date.",
        moved.from
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(text: &str) -> anyhow::Result<Target> {
        target(&MoveDatabaseArguments { to: Some(Secret::from(text)), to_url_file: None, json: false })
    }

    #[test]
    fn a_target_is_a_server_or_the_file_and_its_password_is_never_shown() {
        assert!(matches!(to("sqlite").unwrap(), Target::File));
        assert!(matches!(to("postgres://ada:hidden@localhost/a").unwrap(), Target::Server(_)));
        for wrong in ["mysql://ada:hidden@b/c", "hidden", "postgres://a:hidden@b/c?sslmode=prefer"] {
            let error = format!("{:#}", to(wrong).unwrap_err());
            assert!(error.starts_with("--to takes sqlite or the URL of a server: "), "{error}");
            assert!(!error.contains("hidden"), "{error}");
        }
    }
}
