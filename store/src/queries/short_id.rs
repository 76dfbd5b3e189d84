//! Finds a task by the beginning or the end of its ID.
//!
//! IDs begin with the time, so tasks of the same minute begin alike. They differ at the end, so tables show
//! the end.

use super::QueryError;
use crate::sql::Connection;

/// How many characters of an ID tables show.
const SHOWN: usize = 8;

/// Fewer characters are too ambiguous.
const SHORTEST: usize = 4;

/// The end of an ID, as tables show it.
pub fn shown(id: &str) -> &str {
    let cut = id.len().saturating_sub(SHOWN);
    id.get(cut..).unwrap_or(id)
}

/// The whole ID of the one task that matches.
pub fn resolve(connection: &Connection, given: &str) -> Result<String, QueryError> {
    let exact = "select id from inbox where id = ?1";
    if let Some(id) = connection.query_optional(exact, [given], |row| row.get(0))? {
        return Ok(id);
    }
    if given.len() < SHORTEST {
        return Err(QueryError::NoTask(given.to_owned()));
    }
    let found: Vec<String> = connection.query_all(candidates(given), [given], |row| row.get(0))?;
    match &found[..] {
        [] => Err(QueryError::NoTask(given.to_owned())),
        [one] => Ok(one.clone()),
        several => Err(QueryError::Ambiguous(given.to_owned(), several.join(", "))),
    }
}

/// The query for at most four IDs that begin or end like this. The primary key serves beginnings, and an
/// index serves ends of at least the length that tables show; a shorter end scans all IDs.
fn candidates(given: &str) -> &'static str {
    if given.chars().count() < SHOWN {
        "select id from inbox where id between ?1 and ?1 || '\u{10ffff}'
         union select id from inbox where substr(id, -length(?1)) = ?1 order by id limit 4"
    } else {
        "select id from inbox where id between ?1 and ?1 || '\u{10ffff}'
         union select id from inbox
               where substr(id, -8) = substr(?1, -8) and substr(id, -length(?1)) = ?1 order by id limit 4"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::TestDatabase;

    #[test]
    fn what_tables_show_is_found_without_a_scan() {
        let database = TestDatabase::in_a_file();
        let explained = format!("explain query plan {}", candidates("11112222"));
        for step in database.query_all(&explained, ["11112222"], |row| row.get::<String>(3)).unwrap() {
            assert!(!step.contains("SCAN"), "{step}");
        }
    }

    #[test]
    fn a_task_is_found_by_the_beginning_or_end_of_its_id_if_only_one_matches() {
        let database = TestDatabase::in_a_file();
        for id in ["0190-aaaa-11112222", "0190-bbbb-33334444", "%%%%"] {
            let sql = "insert into inbox (id, channel, chat_id, text, state, available_at_ms, created_at_ms,
                                          updated_at_ms)
                       values (?1, 'local', 'local', '', 'queued', 0, 0, 0)";
            database.execute(sql, [id]).unwrap();
        }
        for (given, meant) in [
            ("11112222", "0190-aaaa-11112222"),
            ("a-11112222", "0190-aaaa-11112222"),
            ("0190-b", "0190-bbbb-33334444"),
            ("%%%%", "%%%%"),
        ] {
            assert_eq!(resolve(&database, given).unwrap(), meant);
            assert!(meant.ends_with(shown(meant)));
        }
        assert!(matches!(resolve(&database, "0190-"), Err(QueryError::Ambiguous(..))));
        for unknown in ["444", "5555", "____", ""] {
            assert!(matches!(resolve(&database, unknown), Err(QueryError::NoTask(_))), "{unknown:?}");
        }
    }
}
