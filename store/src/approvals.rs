//! Approvals: which chats were asked, in which rows of the outbox, so that each is asked once and reads what
//! became of it; and what was decided here, from when it is stored until the keeper of the approval has taken
//! it, so that a kill in between loses no decision. The first one about an approval counts.

use channel::{Chat, Content, Delivery};
use protocol::approval::{ApprovalDecision, ApprovalScope};
use protocol::{EventId, MessageId, TaskId, now_ms};
use texts::{Language, Text};

use super::columns::{chat, content, known, message_id};
use super::sql::{Connection, params};
use super::{StoreError, languages, outbox};

/// A question that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub approval: EventId,
    pub chat: Chat,
    /// The row with the buttons.
    outbox: i64,
}

/// What somebody can choose about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    Once,
    Task,
    Chat,
    Deny,
}

impl Choice {
    /// As the tool server takes it: the decision and its scope.
    pub const fn decision(self) -> (ApprovalDecision, ApprovalScope) {
        match self {
            Self::Once => (ApprovalDecision::Grant, ApprovalScope::Call),
            Self::Task => (ApprovalDecision::Grant, ApprovalScope::Task),
            Self::Chat => (ApprovalDecision::Grant, ApprovalScope::Chat),
            Self::Deny => (ApprovalDecision::Deny, ApprovalScope::Call),
        }
    }

    /// How it is written.
    pub const fn letter(self) -> char {
        match self {
            Self::Once => 'o',
            Self::Task => 't',
            Self::Chat => 'c',
            Self::Deny => 'd',
        }
    }

    /// The choice that is written so.
    pub fn of_letter(given: &str) -> Option<Self> {
        let all = [Self::Once, Self::Task, Self::Chat, Self::Deny];
        all.into_iter().find(|choice| given == choice.letter().to_string())
    }
}

/// A decision that is to be passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub approval: String,
    pub choice: Choice,
    /// Who decided.
    pub by: String,
    pub reason: Option<String>,
    /// The answer to a question, which goes with [`Choice::Once`].
    pub answer: Option<String>,
}

pub fn was_asked(connection: &Connection, approval: &EventId) -> Result<bool, StoreError> {
    let sql = "select exists (select 1 from questions where approval_id = ?1)";
    Ok(connection.query_row(sql, [approval.as_str()], |row| row.get(0))?)
}

/// Asks a chat, unless it was asked before.
pub fn ask(
    connection: &Connection,
    approval: &EventId,
    chat: &Chat,
    contents: Vec<Content>,
    run: &EventId,
) -> Result<(), StoreError> {
    let sql = "insert into questions (approval_id, channel, chat_id) values (?1, ?2, ?3)
               on conflict do nothing";
    let (channel, id) = (chat.channel.as_str(), chat.id.as_str());
    if connection.execute(sql, params![approval.as_str(), channel, id])? == 0 {
        return Ok(());
    }
    let rows = outbox::queue(connection, None, chat, contents, Delivery::Push, Some(run))?;
    let sql = "update questions set outbox_seq = ?4 where approval_id = ?1 and channel = ?2 and chat_id = ?3";
    connection.execute(sql, params![approval.as_str(), channel, id, rows.last()])?;
    Ok(())
}

/// The open questions about calls of this node's tool server.
pub fn open(connection: &Connection) -> Result<Vec<Question>, StoreError> {
    let sql = "select approval_id, channel, chat_id, outbox_seq from questions
               where is_open /* mine: questions */ order by rowid";
    let questions = connection.query_all(sql, [], |row| {
        let (approval, chat, outbox) = (known(row, 0)?, chat(row, 1)?, row.get(3)?);
        Ok(approval.map(|approval| Question { approval, chat, outbox }))
    })?;
    Ok(questions.into_iter().flatten().collect())
}

/// The open questions of a chat that are decided by yes or no, and the messages with their buttons, once they
/// were sent.
pub fn open_in(
    connection: &Connection,
    chat: &Chat,
) -> Result<Vec<(EventId, Option<MessageId>)>, StoreError> {
    let sql = "select approval_id, message_id from questions left join outbox on outbox.seq = outbox_seq
               where is_open and asks is null and questions.channel = ?1 and questions.chat_id = ?2
               order by questions.rowid";
    let questions = connection.query_all(sql, params![chat.channel.as_str(), chat.id], |row| {
        let message = message_id(row, 1)?;
        Ok(known(row, 0)?.map(|approval| (approval, message)))
    })?;
    Ok(questions.into_iter().flatten().collect())
}

/// Asks the open questions of a chat once more, in new messages; the older ones lose their buttons. Returns
/// how many there are.
pub fn ask_again(connection: &Connection, chat: &Chat, run: &EventId) -> Result<usize, StoreError> {
    let questions: Vec<Question> =
        open(connection)?.into_iter().filter(|question| question.chat == *chat).collect();
    for question in &questions {
        let sql = "select kind, text, target_message_id, file_name, outbox.file_id, entities, is_big,
                          size_bytes, buttons, caption_entities, media, message_id
                   from outbox left join outgoing_files on outgoing_files.file_id = outbox.file_id
                   where seq = ?1";
        let found = connection
            .query_optional(sql, [question.outbox], |row| Ok((content(row, 0)?, message_id(row, 11)?)));
        // One that has not left yet comes anyway.
        let Some((content, Some(message_id))) = found? else { continue };
        let text = Text::QuestionComesAgain.to(languages::of(connection, chat)?);
        let edit = Content::Edit { message_id, text };
        let rows = outbox::queue(connection, None, chat, vec![edit, content], Delivery::Push, Some(run))?;
        let sql = "update questions set outbox_seq = ?3 where approval_id = ?1 and outbox_seq = ?2";
        let moved = params![question.approval.as_str(), question.outbox, rows.last()];
        connection.execute(sql, moved)?;
    }
    Ok(questions.len())
}

/// Replaces the questions about an approval, and their buttons, by what became of it. One that has not left
/// yet is not sent.
pub fn close(
    connection: &Connection,
    approval: &EventId,
    text: impl Fn(Language) -> String,
    run: &EventId,
) -> Result<(), StoreError> {
    for question in open(connection)?.into_iter().filter(|question| question.approval == *approval) {
        let sql = "select message_id from outbox where seq = ?1";
        let sent = connection.query_optional(sql, [question.outbox], |row| message_id(row, 0))?;
        let text = text(languages::of(connection, &question.chat)?);
        let content = match sent.flatten() {
            Some(message_id) => Content::Edit { message_id, text },
            None => {
                outbox::withdraw(connection, question.outbox)?;
                Content::Text(text)
            }
        };
        outbox::queue(connection, None, &question.chat, vec![content], Delivery::Push, Some(run))?;
    }
    let sql = "update questions set is_open = 0 where approval_id = ?1";
    connection.execute(sql, [approval.as_str()])?;
    Ok(())
}

/// Stores a decision that the caller passes on. Returns false if there is one about this approval already.
pub fn keep(connection: &Connection, decision: &Decision) -> Result<bool, StoreError> {
    insert(connection, decision, false)
}

fn insert(connection: &Connection, decision: &Decision, is_given_up: bool) -> Result<bool, StoreError> {
    let sql = "insert into decisions
                   (approval_id, choice, decided_by, reason, created_at_ms, is_given_up, answer)
               values (?1, ?2, ?3, ?4, ?5, ?6, ?7) on conflict do nothing";
    let Decision { approval, choice, by, reason, answer } = decision;
    let values = params![approval, choice.letter().to_string(), by, reason, now_ms(), is_given_up, answer];
    Ok(connection.execute(sql, values)? == 1)
}

/// Whether a decision is about a call of this node's tool server.
pub fn is_ours(connection: &Connection, decision: &Decision) -> Result<bool, StoreError> {
    let Some(node) = connection.node() else { return Ok(true) };
    let sql = "select not exists (select 1 from decisions where approval_id = ?1 and node <> ?2)";
    Ok(connection.query_row(sql, params![decision.approval, node], |row| row.get(0))?)
}

/// Those that no process has in hand, the oldest first: they were given up, or stored at this time or before.
pub fn to_pass_on(connection: &Connection, until_ms: i64) -> Result<Vec<Decision>, StoreError> {
    let sql = "select approval_id, choice, decided_by, reason, answer from decisions
               where (is_given_up = 1 or created_at_ms <= ?1) /* mine: decisions */ order by created_at_ms";
    let decisions = connection.query_all(sql, [until_ms], |row| {
        let (approval, by, reason, answer) = (row.get(0)?, row.get(2)?, row.get(3)?, row.get(4)?);
        let choice = Choice::of_letter(row.text(1)?);
        Ok(choice.map(|choice| Decision { approval, choice, by, reason, answer }))
    })?;
    Ok(decisions.into_iter().flatten().collect())
}

/// A decision has been taken, or came too late.
pub fn remove(connection: &Connection, approval: &str) -> Result<(), StoreError> {
    connection.execute("delete from decisions where approval_id = ?1", [approval])?;
    Ok(())
}

/// The process that took a decision has not passed it on, and does not try again.
pub fn give_up(connection: &Connection, approval: &str) -> Result<(), StoreError> {
    let sql = "update decisions set is_given_up = 1 where approval_id = ?1";
    connection.execute(sql, [approval])?;
    Ok(())
}

/// Refuses what a task that has ended still asks for: it would not run.
pub(super) fn withdraw(connection: &Connection, task: &TaskId) -> Result<(), StoreError> {
    let sql = "select distinct asked.payload ->> 'approval_id' from events as asked indexed by events_task
               where task_id = ?1 and type = 'approval.requested' and not exists (
                   select 1 from events as ended indexed by events_task
                   where ended.task_id = ?1
                       and ended.type in ('approval.granted', 'approval.denied', 'approval.expired')
                       and ended.payload ->> 'approval_id' = asked.payload ->> 'approval_id')";
    for approval in connection.query_all(sql, [task.as_str()], |row| row.get::<String>(0))? {
        let (by, reason) = ("the supervisor".to_owned(), Some("its task has ended".to_owned()));
        insert(connection, &Decision { approval, choice: Choice::Deny, by, reason, answer: None }, true)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use protocol::event::ApprovalRequested;
    use protocol::{Risk, SessionId};

    use super::*;
    use crate::fixture::{TestDatabase, done, test_chat};

    #[test]
    fn the_first_decision_about_an_approval_is_kept_until_it_is_taken() {
        let database = TestDatabase::new();
        let decision = |choice, by: &str| {
            let (approval, by) = ("a".to_owned(), by.to_owned());
            Decision { approval, choice, by, reason: Some("so".to_owned()), answer: Some("red".to_owned()) }
        };
        assert!(keep(&database, &decision(Choice::Task, "Ada")).unwrap());
        assert!(!keep(&database, &decision(Choice::Deny, "Bob")).unwrap());
        let long_ago = now_ms() - 60_000;
        assert_eq!(to_pass_on(&database, long_ago).unwrap(), []);
        assert_eq!(to_pass_on(&database, now_ms()).unwrap(), [decision(Choice::Task, "Ada")]);
        give_up(&database, "a").unwrap();
        assert_eq!(to_pass_on(&database, long_ago).unwrap(), [decision(Choice::Task, "Ada")]);
        remove(&database, "a").unwrap();
        assert_eq!(to_pass_on(&database, i64::MAX).unwrap(), []);
    }

    #[test]
    fn what_a_task_that_has_ended_still_asks_for_is_refused() {
        let (database, task) = TestDatabase::with_claimed(test_chat(1));
        let approval = EventId::new();
        let requested = ApprovalRequested {
            approval_id: approval.clone(),
            tool_name: "write".to_owned(),
            risk: Risk::Low,
            arguments: serde_json::Map::new(),
            preview: String::new(),
            reason: String::new(),
            rule: String::new(),
            token: String::new(),
            digest: String::new(),
            expires_at_ms: 0,
            session: SessionId::default_session(),
        };
        database.append(requested, None, Some(&task.id));
        assert!(database.end(&task, done("ok")));
        let refused = to_pass_on(&database, 0).unwrap();
        assert_eq!(refused.len(), 1);
        assert_eq!((refused[0].approval.as_str(), refused[0].choice), (approval.as_str(), Choice::Deny));
    }
}
