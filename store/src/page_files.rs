//! Files of the page's chats, in parts, so that none is ever in memory as a whole.
//!
//! A file that nothing refers to belongs to a message that was not stored; the next start deletes it.

use protocol::EventId;

use super::StoreError;
use super::sql::{Connection, params};

/// What is known of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFile {
    pub name: String,
    pub size_bytes: u64,
}

/// Begins an empty file, and returns its ID.
pub fn begin(connection: &Connection, name: &str) -> Result<String, StoreError> {
    let id = EventId::new().to_string();
    let sql = "insert into page_files (file_id, name) values (?1, ?2)";
    connection.execute(sql, [&id, name])?;
    Ok(id)
}

/// Adds the part of this number; the first has number 0.
pub fn add_part(connection: &Connection, id: &str, number: u32, bytes: &[u8]) -> Result<(), StoreError> {
    let sql = "insert into page_parts (file_id, number, bytes) values (?1, ?2, ?3)";
    connection.execute(sql, params![id, number, bytes])?;
    let sql = "update page_files set size_bytes = size_bytes + ?2 where file_id = ?1";
    let added = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
    connection.execute(sql, params![id, added])?;
    Ok(())
}

/// What is known of a file; none if it is gone.
pub fn find(connection: &Connection, id: &str) -> Result<Option<PageFile>, StoreError> {
    let sql = "select name, size_bytes from page_files where file_id = ?1";
    Ok(connection.query_optional(sql, [id], |row| {
        let size: i64 = row.get(1)?;
        let size_bytes = u64::try_from(size).unwrap_or_default();
        Ok(PageFile { name: row.get(0)?, size_bytes })
    })?)
}

/// The part of this number; none behind the last.
pub fn part(connection: &Connection, id: &str, number: u32) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = "select bytes from page_parts where file_id = ?1 and number = ?2";
    Ok(connection.query_optional(sql, params![id, number], |row| row.get(0))?)
}

/// Deletes a file whose message was not stored.
pub fn delete(connection: &Connection, id: &str) -> Result<(), StoreError> {
    connection.execute("delete from page_files where file_id = ?1", [id])?;
    Ok(())
}

/// Deletes what an earlier run began and no message refers to.
pub fn delete_abandoned(connection: &Connection) -> Result<(), StoreError> {
    let sql = "delete from page_files
               where not exists (select 1 from attachments where source = page_files.file_id)
                   and not exists (select 1 from outbox where message_id = page_files.file_id)";
    connection.execute(sql, [])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use channel::Content;
    use channel::content::FileBody;

    use super::*;
    use crate::fixture::{TestDatabase, file, test_chat};

    #[test]
    fn a_file_is_kept_until_its_message_goes_and_only_if_it_has_one() {
        let database = TestDatabase::new();
        let [kept, abandoned] = ["kept.txt", "abandoned.txt"].map(|name| begin(&database, name).unwrap());
        for id in [&kept, &abandoned] {
            add_part(&database, id, 0, b"ab").unwrap();
            add_part(&database, id, 1, b"c").unwrap();
        }
        let file = file("kept.txt", FileBody::Bytes(b"abc".to_vec()));
        database.queue(&test_chat(1), vec![Content::Document(file)]);
        let sent = "update outbox set state = 'sent', file_id = null, finished_at_ms = 1, message_id = ?1";
        database.execute(sent, [&kept]).unwrap();

        delete_abandoned(&database).unwrap();
        let parts: Vec<_> = (0..3).map(|number| part(&database, &kept, number).unwrap()).collect();
        assert_eq!(parts, [Some(b"ab".to_vec()), Some(b"c".to_vec()), None]);
        assert_eq!(find(&database, &kept).unwrap().unwrap().size_bytes, 3);
        assert_eq!(find(&database, &abandoned).unwrap(), None);

        database.execute("delete from outbox", []).unwrap();
        let left = "select (select count(*) from page_files) + (select count(*) from page_parts)";
        assert_eq!(database.column::<i64>(left), [0]);
    }
}
