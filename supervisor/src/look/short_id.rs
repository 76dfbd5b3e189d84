//! Tasks by a part of their id: the beginning or the end, as long as it means one task.
//!
//! Ids begin with the time, so tasks of one minute begin alike; what tells them apart stands at the end,
//! and that is what the tables show.

use rusqlite::{Connection, OptionalExtension};

use super::LookError;

/// How much of an id the tables show.
const SHOWN: usize = 8;

/// Less than this could mean anything.
const SHORTEST: usize = 4;

/// The part of an id that the tables show: its end.
pub fn shown(id: &str) -> &str {
    let cut = id.len().saturating_sub(SHOWN);
    id.get(cut..).unwrap_or(id)
}

/// The whole id of the one task that is meant.
pub fn resolve(connection: &Connection, given: &str) -> Result<String, LookError> {
    let exact = "select id from inbox where id = ?1";
    if let Some(id) = connection.query_row(exact, [given], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    if given.len() < SHORTEST {
        return Err(LookError::NoTask(given.to_owned()));
    }
    let parts = "select id from inbox where substr(id, 1, length(?1)) = ?1 or substr(id, -length(?1)) = ?1
                 order by id limit 4";
    let mut statement = connection.prepare(parts)?;
    let found: Vec<String> =
        statement.query_map([given], |row| row.get(0))?.collect::<Result<_, rusqlite::Error>>()?;
    match &found[..] {
        [] => Err(LookError::NoTask(given.to_owned())),
        [one] => Ok(one.clone()),
        several => Err(LookError::Ambiguous(given.to_owned(), several.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::open;

    #[test]
    fn a_task_is_found_by_its_beginning_or_its_end_when_only_one_has_it() {
        let directory = tempfile::tempdir().unwrap();
        let connection = open::for_writing(&directory.path().join("a.db")).unwrap();
        for id in ["0190-aaaa-11112222", "0190-bbbb-33334444", "%%%%"] {
            let sql = "insert into inbox (id, channel, chat_id, text, state, available_at_ms, created_at_ms,
                                          updated_at_ms)
                       values (?1, 'local', 'local', '', 'queued', 0, 0, 0)";
            connection.execute(sql, [id]).unwrap();
        }
        for (given, meant) in
            [("11112222", "0190-aaaa-11112222"), ("0190-b", "0190-bbbb-33334444"), ("%%%%", "%%%%")]
        {
            assert_eq!(resolve(&connection, given).unwrap(), meant);
            assert!(meant.ends_with(shown(meant)));
        }
        assert!(matches!(resolve(&connection, "0190-"), Err(LookError::Ambiguous(..))));
        for unknown in ["444", "5555", "____", ""] {
            assert!(matches!(resolve(&connection, unknown), Err(LookError::NoTask(_))), "{unknown:?}");
        }
    }
}
