//! Whether the programs, the database and the service that runs are of this program's version. Nothing is
//! asked of another machine.

use std::path::Path;

use store::Location;
use store::open;
use store::queries::{self, QueryError};

use super::{Finding, children};
use supervisor::control::status::Status;
use supervisor::data_dir::DataDir;

/// The version of this program.
pub(crate) const OWN: &str = env!("CARGO_PKG_VERSION");

/// The other programs in `programs`, the database's schema, and the service that runs, if one does.
pub(crate) async fn versions(
    data: &DataDir,
    programs: &Path,
    service: Option<Result<Status, String>>,
) -> Vec<Finding> {
    let schema = schema(&data.database()).unwrap_or_else(|error| {
        let remedy = "Run `supervisor check`.";
        Finding::fail("database", error.to_string(), remedy)
    });
    vec![children::programs(programs).await, schema, running(service)]
}

fn schema(database: &Location) -> Result<Finding, QueryError> {
    const NAME: &str = "database";
    let connection = match queries::open(database) {
        Ok(connection) => connection,
        Err(QueryError::Missing(_) | QueryError::NoTables(_)) => {
            return Ok(Finding::ok(NAME, "does not exist yet"));
        }
        Err(error) => return Err(error),
    };
    let known = open::known_version();
    Ok(match open::version(&connection)? {
        newer if newer > known => {
            let what = format!("schema {newer}, of a newer program; this one knows {known}");
            let remedy = "Use the newer program, or go back with its copy: see docs/packages.md.";
            Finding::fail(NAME, what, remedy)
        }
        older if older < known => {
            let what =
                format!("schema {older}; the next start changes it to {known}, after a copy for going back");
            Finding::ok(NAME, what)
        }
        _ => Finding::ok(NAME, format!("schema {known}")),
    })
}

fn running(service: Option<Result<Status, String>>) -> Finding {
    const NAME: &str = "service";
    match service {
        None => Finding::ok(NAME, "does not run"),
        Some(Err(error)) => super::service::unreachable(error),
        Some(Ok(status)) if status.version == OWN => Finding::ok(NAME, format!("{OWN} runs")),
        Some(Ok(status)) => {
            let runs = if status.version.is_empty() { "an older version" } else { &status.version };
            let what = format!("{runs} runs, and this program is {OWN}");
            Finding::warn(NAME, what, "Stop it and start it again.")
        }
    }
}
