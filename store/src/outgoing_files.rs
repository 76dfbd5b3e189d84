//! Files that leave, in parts: a file comes in part by part, each in a transaction of its own, and is read
//! again in the same way by the next sender.
//!
//! A file without a row in the outbox is one that was being fetched; the next start deletes it.

use std::io;

use channel::BoxFuture;
use channel::content::{FileBody, StoredFile, StoredFiles};
use protocol::EventId;

use super::sql::{Connection, params};
use super::{Store, StoreError};

/// The ID of a file that the outbox is to send; one that comes as bytes is stored.
pub(super) fn of(connection: &Connection, body: &FileBody) -> Result<String, StoreError> {
    match body {
        FileBody::Stored(stored) => Ok(stored.id.clone()),
        FileBody::Bytes(bytes) => {
            let id = begin(connection)?;
            add_part(connection, &id, 0, bytes)?;
            Ok(id)
        }
    }
}

/// Begins an empty file, and returns its ID.
pub fn begin(connection: &Connection) -> Result<String, StoreError> {
    let id = EventId::new().to_string();
    let sql = "insert into outgoing_files (file_id, size_bytes) values (?1, 0)";
    connection.execute(sql, [&id])?;
    Ok(id)
}

/// Adds the part of this number; the first has number 0.
pub fn add_part(
    connection: &Connection,
    id: &str,
    number: u32,
    bytes: &[u8],
) -> Result<StoredFile, StoreError> {
    let sql = "insert into outgoing_parts (file_id, number, bytes) values (?1, ?2, ?3)";
    connection.execute(sql, params![id, number, bytes])?;
    let sql = "update outgoing_files set size_bytes = size_bytes + ?2 where file_id = ?1
               returning size_bytes";
    let added = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    let size: i64 = connection.query_row(sql, params![id, added], |row| row.get(0))?;
    Ok(StoredFile { id: id.to_owned(), size_bytes: u64::try_from(size).unwrap_or_default() })
}

/// The part of this number; none behind the last.
pub fn part(connection: &Connection, id: &str, number: u32) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = "select bytes from outgoing_parts where file_id = ?1 and number = ?2";
    Ok(connection.query_optional(sql, params![id, number], |row| row.get(0))?)
}

impl StoredFiles for Store {
    fn part<'a>(&'a self, id: &'a str, number: u32) -> BoxFuture<'a, io::Result<Option<Vec<u8>>>> {
        let id = id.to_owned();
        Box::pin(async move { self.write(move |tx| part(tx, &id, number)).await.map_err(io::Error::other) })
    }
}

/// Deletes a file that will not be sent.
pub fn delete(connection: &Connection, id: &str) -> Result<(), StoreError> {
    let sql = "delete from outgoing_files where file_id = ?1
               and not exists (select 1 from outbox where outbox.file_id = ?1)";
    connection.execute(sql, [id])?;
    Ok(())
}

/// Deletes what an earlier run was fetching.
pub fn delete_abandoned(connection: &Connection) -> Result<(), StoreError> {
    let sql = "delete from outgoing_files where not exists (
                   select 1 from outbox where outbox.file_id = outgoing_files.file_id)";
    connection.execute(sql, [])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use channel::Content;

    use super::*;
    use crate::fixture::{TestDatabase, file, test_chat};

    #[test]
    fn a_file_in_parts_is_kept_until_its_row_goes_and_only_if_it_has_one() {
        let database = TestDatabase::new();
        let id = begin(&database).unwrap();
        assert_eq!(add_part(&database, &id, 0, b"ab").unwrap().size_bytes, 2);
        let stored = add_part(&database, &id, 1, b"c").unwrap();
        assert_eq!(stored.size_bytes, 3);
        let abandoned = begin(&database).unwrap();
        add_part(&database, &abandoned, 0, b"x").unwrap();

        let file = file("a", FileBody::Stored(stored));
        database.queue(&test_chat(1), vec![Content::Document(file)]);
        delete(&database, &id).unwrap();
        delete_abandoned(&database).unwrap();
        let parts: Vec<_> = (0..3).map(|number| part(&database, &id, number).unwrap()).collect();
        assert_eq!(parts, [Some(b"ab".to_vec()), Some(b"c".to_vec()), None]);
        assert_eq!(part(&database, &abandoned, 0).unwrap(), None);

        database.execute("delete from outbox", []).unwrap();
        let left = "select (select count(*) from outgoing_files) + (select count(*) from outgoing_parts)";
        assert_eq!(database.column::<i64>(left), [0]);
    }
}
