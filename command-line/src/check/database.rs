//! Checks the database: intact, of a known version, and how many tasks are queued.

use store::queries::{self, QueryError, tasks};
use store::sql::Connection;
use store::{Location, open};

use super::Finding;
use supervisor::data_dir::DataDir;

const NAME: &str = "database";

pub(super) fn database(data: &DataDir) -> Finding {
    match data.require_database(data.trace_of_earlier_runs()) {
        Ok(()) => at(&data.database()),
        Err(error) => {
            let remedy = "Restore a backup, or mount the disk that has it; see docs/backup.md.";
            Finding::fail(NAME, error.to_string(), remedy)
        }
    }
}

fn at(location: &Location) -> Finding {
    match queries::open(location).and_then(|connection| inspect(&connection)) {
        Ok(finding) => finding,
        Err(QueryError::Missing(_) | QueryError::NoTables(_)) => {
            Finding::warn(NAME, "does not exist yet", "`supervisor run` creates it.")
        }
        Err(error) => {
            let remedy = "Keep the file and restore a backup; see docs/backup.md.";
            Finding::fail(NAME, error.to_string(), remedy)
        }
    }
}

fn inspect(connection: &Connection) -> Result<Finding, QueryError> {
    let version = open::version(connection)?;
    let known = open::known_version();
    if version > known {
        let what = format!("its version is {version}; this program supports up to {known}");
        return Ok(Finding::fail(NAME, what, "Use the newer program or restore an older backup."));
    }
    let integrity = match connection {
        Connection::Sqlite(_) => connection.query_row("pragma quick_check(1)", [], |row| row.get(0))?,
        Connection::Server(_) => "ok".to_owned(),
    };
    if integrity != "ok" {
        let remedy = "Stop the supervisor, keep the file and restore a backup; see docs/backup.md.";
        return Ok(Finding::fail(NAME, format!("it is damaged: {integrity}"), remedy));
    }
    if version < known {
        let what = format!("intact, version {version}; the next start migrates it to {known}");
        return Ok(Finding::ok(NAME, what));
    }
    let counts = tasks::counts(connection)?;
    let all: i64 = counts.tasks.iter().map(|(_, count)| count).sum();
    let dead = counts.tasks.iter().find(|(state, _)| *state == "dead").map_or(0, |(_, count)| *count);
    let tasks = if all == 1 { "1 task".to_owned() } else { format!("{all} tasks") };
    let what = format!("intact, version {version}, {tasks}");
    if dead + counts.undelivered == 0 {
        return Ok(Finding::ok(NAME, what));
    }
    let what = format!("{what}; {dead} dead, {} replies not delivered", counts.undelivered);
    Ok(Finding::warn(
        NAME,
        what,
        "See `supervisor tasks --state dead`; `supervisor resend` sends replies again.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Verdict;

    #[test]
    fn a_database_is_missing_good_too_new_or_damaged() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        assert_eq!(at(&Location::from(&path)).verdict, Verdict::Warn);
        let connection = open::for_writing(&path).unwrap();
        assert_eq!(at(&Location::from(&path)).verdict, Verdict::Ok);
        connection.execute_batch("pragma user_version = 99").unwrap();
        let newer = at(&Location::from(&path));
        assert!(newer.verdict == Verdict::Fail && newer.what.contains("99"), "{newer:?}");
        drop(connection);
        std::fs::write(&path, "x".repeat(5000)).unwrap();
        let damaged = at(&Location::from(&path));
        assert!(damaged.verdict == Verdict::Fail && damaged.what.contains("damaged"), "{damaged:?}");
    }
}
