//! Tasks by a part of their id: the beginning or the end, as long as it means one task.
//!
//! Ids begin with the time, so tasks of one minute begin alike; what tells them apart stands at the end,
//! and that is what the tables show.

use rusqlite::{Connection, OptionalExtension};

use super::QueryError;

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
pub fn resolve(connection: &Connection, given: &str) -> Result<String, QueryError> {
    let exact = "select id from inbox where id = ?1";
    if let Some(id) = connection.query_row(exact, [given], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    if given.len() < SHORTEST {
        return Err(QueryError::NoTask(given.to_owned()));
    }
    let mut statement = connection.prepare(candidates(given))?;
    let found: Vec<String> =
        statement.query_map([given], |row| row.get(0))?.collect::<Result<_, rusqlite::Error>>()?;
    match &found[..] {
        [] => Err(QueryError::NoTask(given.to_owned())),
        [one] => Ok(one.clone()),
        several => Err(QueryError::Ambiguous(given.to_owned(), several.join(", "))),
    }
}

/// The query for at most four ids that begin or end so. A beginning is looked up in the order of the ids,
/// and an end that is at least as long as what is shown in the index of that; a shorter end means a look at
/// every id.
fn candidates(given: &str) -> &'static str {
    if given.chars().count() < SHOWN {
        "select id from inbox where id between ?1 and ?1 || char(0x10ffff)
         union select id from inbox where substr(id, -length(?1)) = ?1 order by id limit 4"
    } else {
        "select id from inbox where id between ?1 and ?1 || char(0x10ffff)
         union select id from inbox
               where substr(id, -8) = substr(?1, -8) and substr(id, -length(?1)) = ?1 order by id limit 4"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::open;

    #[test]
    fn what_the_tables_show_is_found_without_a_look_at_every_task() {
        let directory = tempfile::tempdir().unwrap();
        let connection = open::for_writing(&directory.path().join("a.db")).unwrap();
        let explained = format!("explain query plan {}", candidates("11112222"));
        let mut statement = connection.prepare(&explained).unwrap();
        let steps = statement.query_map(["11112222"], |row| row.get::<_, String>(3)).unwrap();
        for step in steps.map(Result::unwrap) {
            assert!(!step.contains("SCAN"), "{step}");
        }
    }

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
        for (given, meant) in [
            ("11112222", "0190-aaaa-11112222"),
            ("a-11112222", "0190-aaaa-11112222"),
            ("0190-b", "0190-bbbb-33334444"),
            ("%%%%", "%%%%"),
        ] {
            assert_eq!(resolve(&connection, given).unwrap(), meant);
            assert!(meant.ends_with(shown(meant)));
        }
        assert!(matches!(resolve(&connection, "0190-"), Err(QueryError::Ambiguous(..))));
        for unknown in ["444", "5555", "____", ""] {
            assert!(matches!(resolve(&connection, unknown), Err(QueryError::NoTask(_))), "{unknown:?}");
        }
    }
}
