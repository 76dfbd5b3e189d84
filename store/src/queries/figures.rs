//! What waits in the database, for metrics. Each query reads an index of what is open, however much has
//! ended.

use crate::StoreError;
use crate::sql::Connection;

/// What waits at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Tasks that wait for a worker.
    pub queued: Group,
    /// Tasks that a worker works on.
    pub in_progress: Group,
    /// Tasks that wait for a person without a worker.
    pub waiting: Group,
    /// Tasks that were given up.
    pub dead: Group,
    /// Messages that wait to be sent.
    pub replies: Group,
    /// Messages that were given up.
    pub dead_replies: Group,
    /// Calls about which people were asked.
    pub approvals: i64,
}

/// Rows of one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Group {
    pub count: i64,
    /// When the oldest one was stored, in milliseconds since the epoch; none without rows, and for what was
    /// given up, because that waits for nothing.
    pub oldest_ms: Option<i64>,
}

const WAITS: &str = "exists (select 1 from awaited where awaited.task_id = inbox.id and ended is null)";

/// What waits now.
pub fn figures(connection: &Connection) -> Result<Figures, StoreError> {
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<i64>(0));
    let group = |count: &str, oldest: &str| -> Result<Group, StoreError> {
        let oldest_ms = connection.query_optional(oldest, [], |row| row.get(0))?.flatten();
        Ok(Group { count: number(count)?, oldest_ms })
    };
    let given_up = |table: &str| -> Result<Group, StoreError> {
        let count = number(&format!("select count(*) from {table} where state = 'dead'"))?;
        Ok(Group { count, oldest_ms: None })
    };
    let waiting = group(
        "select count(distinct task_id) from awaited indexed by awaited_open where ended is null",
        "select min(created_at_ms) from inbox where state = 'queued'
         and id in (select task_id from awaited indexed by awaited_open where ended is null)",
    )?;
    let oldest_queued = format!(
        "select created_at_ms from inbox where state = 'queued' and not {WAITS} order by seq limit 1"
    );
    let queued = group("select count(*) from inbox where state = 'queued'", &oldest_queued)?;
    Ok(Figures {
        queued: Group { count: queued.count - waiting.count, ..queued },
        in_progress: group(
            "select count(*) from inbox where state = 'in_progress'",
            "select min(created_at_ms) from inbox where state = 'in_progress'",
        )?,
        waiting,
        dead: given_up("inbox")?,
        replies: group(
            "select count(*) from outbox where state = 'queued'",
            "select created_at_ms from outbox where state = 'queued' order by seq limit 1",
        )?,
        dead_replies: given_up("outbox")?,
        approvals: number("select count(distinct approval_id) from questions where is_open")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDatabase, dead, test_chat};

    #[test]
    fn each_state_is_counted_with_the_age_of_its_oldest_row() {
        let database = TestDatabase::new();
        assert_eq!(figures(&database).unwrap(), Figures::default());
        for chat in 1..=4 {
            database.enqueue(test_chat(chat), "hello");
        }
        let given_up = database.claim();
        database.end(&given_up, dead());
        database.claim();
        let parked = database.texts("select id from inbox where state = 'queued' order by seq limit 1");
        let wait = format!(
            "insert into parked values ('{0}', '{{}}'); insert into awaited values ('{0}', 'a', null);
             insert into questions (approval_id, channel, chat_id)
                 values ('a', 'test', '3'), ('a', 'x', '1')",
            parked[0]
        );
        database.execute_batch(&wait).unwrap();
        let created = database.column::<i64>("select created_at_ms from inbox order by seq");
        let figures = figures(&database).unwrap();
        let group = |row: usize| Group { count: 1, oldest_ms: Some(created[row]) };
        assert_eq!((figures.in_progress, figures.waiting, figures.queued), (group(1), group(2), group(3)));
        assert_eq!((figures.dead, figures.approvals), (Group { count: 1, oldest_ms: None }, 1));
    }

    #[test]
    fn no_query_reads_what_has_ended() {
        let database = TestDatabase::in_a_file();
        for (sql, index) in [
            ("select count(*) from inbox where state = 'queued'", "inbox_queued"),
            ("select min(created_at_ms) from inbox where state = 'in_progress'", "inbox_in_progress"),
            ("select count(*) from inbox where state = 'dead'", "inbox_dead"),
            ("select count(*) from outbox where state = 'queued'", "outbox_"),
            ("select count(*) from outbox where state = 'dead'", "outbox_dead"),
            ("select count(distinct approval_id) from questions where is_open", "questions_open"),
            (
                "select count(distinct task_id) from awaited indexed by awaited_open where ended is null",
                "awaited_open",
            ),
        ] {
            let plan = format!("explain query plan {sql}");
            let steps = database.query_all(&plan, [], |row| row.get::<String>(3)).unwrap();
            assert!(steps.iter().any(|step| step.contains(index)), "{sql}: {steps:?}");
        }
    }
}
