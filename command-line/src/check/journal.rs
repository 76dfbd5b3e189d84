//! Checks that the journal is still what was read of it.

use std::path::Path;

use store::Location;
use store::queries::{self, QueryError};

use super::Finding;
use supervisor::data_dir::DataDir;
use supervisor::journal::compare::{Comparison, Depth};
use supervisor::journal::tampering;

const NAME: &str = "journal";

const REMEDY: &str =
    "Find out what happened. `supervisor journal accept --reason \"…\"` accepts it as it is.";

/// How often what was read meanwhile, or pruned, is looked up again.
const TRIES: usize = 3;

pub(super) fn journal(data: &DataDir) -> Finding {
    match inspect(&data.database(), &data.journal()) {
        Ok(finding) => finding,
        Err(QueryError::Missing(_)) => Finding::ok(NAME, "nothing was read of it yet"),
        Err(error) => Finding::fail(NAME, error.to_string(), "See the finding on the database."),
    }
}

fn inspect(database: &Location, journal: &Path) -> Result<Finding, QueryError> {
    let mut finding = Finding::ok(NAME, "nothing was read of it yet");
    for _ in 0..TRIES {
        let connection = queries::open(database)?;
        if let Some(found) = tampering::open_finding(&connection)? {
            let what = format!("{}; records that are missing: {}", found.error, found.missing_records);
            return Ok(Finding::fail(NAME, what, REMEDY));
        }
        let (Some(base), Some(head)) = (tampering::base(&connection)?, tampering::position(&connection)?)
        else {
            break;
        };
        let compared = Comparison::default().first_mismatch(journal, &base.position, &head, Depth::Whole);
        finding = match compared {
            Ok(None) => return Ok(Finding::ok(NAME, format!("intact up to {}", head.last_hash))),
            Ok(Some(mismatch)) => Finding::fail(NAME, mismatch.what, REMEDY),
            Err(error) => Finding::fail(NAME, format!("cannot be read: {error}"), "Check the disk."),
        };
    }
    Ok(finding)
}
