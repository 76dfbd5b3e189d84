//! Chats that are allowed while the supervisor runs: a stranger gets a code, and the operator pairs it.

use channel::{ChannelName, Chat, Content, Delivery};
use protocol::event::{ChatPaired, ChatUnpaired};
use protocol::{Event, EventId, now_ms};
use serde::{Deserialize, Serialize};
use texts::Text;

use super::columns::chat;
use super::sql::{Connection, Row, params};
use super::{StoreError, cancel, events, kv, languages, outbox, schedules};

/// How long a code can be used, and the pause before its chat gets another one.
const CODE_LIFE_MS: i64 = 60 * 60 * 1000;

/// The most codes at a time, and the most chats that wait for one: a flood of strangers fills neither the
/// database nor the outbox.
const MAX_CODES: i64 = 1000;

/// The most questions about strangers that the owner of a channel has open at a time.
pub const MAX_QUESTIONS: i64 = 3;

/// A chat that did not get a code within this time has to write again.
const WAIT_MS: i64 = 24 * 60 * 60 * 1000;

/// How long the message about how many wait is kept back, for those who write within a moment.
const DIGEST_DELAY_MS: i64 = 5000;

/// Without characters that look like others.
const CODE_CHARACTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE_LENGTH: usize = 8;

/// A chat that was paired, or wants to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownChat {
    pub chat: Chat,
    /// What people called it then.
    pub title: String,
    /// When it was paired or got its code, in milliseconds since the epoch.
    pub since_ms: i64,
    /// Who paired it, or the code.
    pub note: String,
}

/// What `POST /pair` responds with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paired {
    pub channel: String,
    pub chat: String,
    pub title: String,
}

/// A code for a chat; none if it was given one within the hour, or too many others were.
pub fn give_code(connection: &Connection, chat: &Chat, title: &str) -> Result<Option<String>, StoreError> {
    let now = now_ms();
    // A code that was given in the future is older than the clock says.
    let sql = "delete from pairing_codes where given_at_ms <= ?1 or given_at_ms > ?2";
    connection.execute(sql, [now - CODE_LIFE_MS, now])?;
    let count = connection.query_row("select count(*) from pairing_codes", [], |row| row.get::<i64>(0))?;
    if count >= MAX_CODES {
        tracing::warn!(count, "too many strangers want to use the bot; some get no answer");
        return Ok(None);
    }
    let code = new_code()?;
    let sql = "insert into pairing_codes (code, channel, chat_id, title, given_at_ms)
               values (?1, ?2, ?3, ?4, ?5) on conflict (channel, chat_id) do nothing";
    let given = connection.execute(sql, params![code, chat.channel.as_str(), chat.id, title, now])?;
    Ok((given == 1).then_some(code))
}

/// Notes that the owner is asked about the chat with this code, or has answered.
pub fn set_asked(connection: &Connection, code: &str, is_asked: bool) -> Result<(), StoreError> {
    let sql = "update pairing_codes set is_asked = ?2 where code = ?1";
    connection.execute(sql, params![code, is_asked])?;
    Ok(())
}

/// The chats that the owner of a channel is asked about, oldest first.
pub fn asked(connection: &Connection, channel: &ChannelName) -> Result<Vec<KnownChat>, StoreError> {
    let sql = "select channel, chat_id, title, given_at_ms, code from pairing_codes
               where channel = ?1 and is_asked = 1 and given_at_ms > ?2 order by given_at_ms, chat_id";
    Ok(connection.query_all(sql, params![channel.as_str(), now_ms() - CODE_LIFE_MS], known)?)
}

/// A chat waits until the owner of its channel can be asked about it.
pub fn wait(connection: &Connection, chat: &Chat, title: &str) -> Result<(), StoreError> {
    let sql = "delete from strangers where wrote_at_ms <= ?1";
    let now = now_ms();
    connection.execute(sql, [now - WAIT_MS])?;
    let sql = "insert into strangers (channel, chat_id, title, wrote_at_ms)
               select ?1, ?2, ?3, ?4
               where (select count(*) from strangers) < ?5
                 and not exists (select 1 from pairing_codes
                                 where channel = ?1 and chat_id = ?2 and given_at_ms > ?6)
               on conflict (channel, chat_id) do nothing";
    connection
        .execute(sql, params![chat.channel.as_str(), chat.id, title, now, MAX_CODES, now - CODE_LIFE_MS])?;
    Ok(())
}

/// Takes the chat of a channel that has waited longest, if the owner has fewer than [`MAX_QUESTIONS`] open.
pub fn next_stranger(
    connection: &Connection,
    channel: &ChannelName,
) -> Result<Option<(Chat, String)>, StoreError> {
    if i64::try_from(asked(connection, channel)?.len()).unwrap_or(i64::MAX) >= MAX_QUESTIONS {
        return Ok(None);
    }
    let sql = "delete from strangers
               where channel = ?1 and chat_id = (select chat_id from strangers where channel = ?1
                                                 order by wrote_at_ms, chat_id limit 1)
               returning chat_id, title";
    Ok(connection.query_optional(sql, [channel.as_str()], |row| {
        Ok((Chat::new(channel.clone(), &row.get::<String>(0)?), row.get(1)?))
    })?)
}

/// The names of the chats of a channel that wait for a code, oldest first.
pub fn waiting_strangers(connection: &Connection, channel: &ChannelName) -> Result<Vec<String>, StoreError> {
    let sql = "select title from strangers where channel = ?1 order by wrote_at_ms, chat_id";
    Ok(connection.query_all(sql, [channel.as_str()], |row| row.get(0))?)
}

/// Tells the owner of a channel how many chats wait: in a message that has not left yet, else in a new one,
/// but not twice within the hour.
pub fn tell_how_many(
    connection: &Connection,
    owner: &Chat,
    in_words: impl Fn(i64) -> String,
    run: &EventId,
) -> Result<(), StoreError> {
    let channel = owner.channel.as_str();
    let sql = "select count(*), count(*) filter (where is_told = 0) from strangers where channel = ?1";
    let (all, untold): (i64, i64) =
        connection.query_row(sql, [channel], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if untold == 0 {
        return Ok(());
    }
    let key = format!("{channel}.strangers_told");
    let last: Option<(i64, i64)> = kv::get(connection, &key)?.and_then(|last| {
        let (seq, at) = last.split_once(' ')?;
        Some((seq.parse().ok()?, at.parse().ok()?))
    });
    if let Some((seq, at)) = last {
        let sql = "update outbox set text = ?2 where seq = ?1 and state = 'queued' and attempt = 0";
        if connection.execute(sql, params![seq, in_words(all)])? == 1 {
            return Ok(());
        }
        if (0..CODE_LIFE_MS).contains(&(now_ms() - at)) {
            return Ok(());
        }
    }
    let content = Content::Text(in_words(all));
    let seq = outbox::queue_notice(connection, owner, content, DIGEST_DELAY_MS, run)?;
    kv::set(connection, &key, &format!("{seq} {}", now_ms()))?;
    let sql = "update strangers set is_told = 1 where channel = ?1";
    connection.execute(sql, [channel])?;
    Ok(())
}

/// The chat that waits with this code, if it is still good.
pub fn waiting_with(connection: &Connection, code: &str) -> Result<Option<KnownChat>, StoreError> {
    Ok(waiting(connection)?.into_iter().find(|known| known.note == code))
}

/// Allows the chat that a code was given to; none if no chat has it.
pub fn pair(
    connection: &Connection,
    code: &str,
    by: &str,
    run: &EventId,
) -> Result<Option<KnownChat>, StoreError> {
    let sql = "delete from pairing_codes where code = ?1 and given_at_ms > ?2
               returning channel, chat_id, title, given_at_ms, code";
    let code = code.trim().to_ascii_uppercase();
    let found = connection.query_optional(sql, params![code, now_ms() - CODE_LIFE_MS], known)?;
    let Some(known) = found else { return Ok(None) };
    let sql = "insert into paired_chats (channel, chat_id, title, paired_at_ms, paired_by)
               values (?1, ?2, ?3, ?4, ?5)
               on conflict (channel, chat_id) do update set title = excluded.title";
    let KnownChat { chat, title, .. } = &known;
    connection.execute(sql, params![chat.channel.as_str(), chat.id, title, now_ms(), by])?;
    let paired = ChatPaired {
        channel: chat.channel.as_str().to_owned(),
        chat_id: chat.id.clone(),
        title: title.clone(),
        by: by.to_owned(),
    };
    events::append(connection, &Event::now(paired, Some(run), None))?;
    Ok(Some(known))
}

/// Tells a chat that it may write.
pub fn welcome(
    connection: &Connection,
    known: &KnownChat,
    delivery: Delivery,
    run: &EventId,
) -> Result<(), StoreError> {
    let content = vec![Content::Text(Text::Welcome.to(languages::of(connection, &known.chat)?))];
    outbox::queue(connection, None, &known.chat, content, delivery, Some(run)).map(|_| ())
}

/// Takes a pairing back and cancels what the chat has asked for; none if no chat with this ID was paired.
pub fn unpair(
    connection: &Connection,
    chat_id: &str,
    by: &str,
    run: &EventId,
) -> Result<Option<Chat>, StoreError> {
    let sql = "delete from paired_chats where chat_id = ?1
               returning channel, chat_id, title, paired_at_ms, paired_by";
    let found = connection.query_optional(sql, [chat_id], known)?;
    let Some(KnownChat { chat, .. }) = found else { return Ok(None) };
    cancel::in_chat(connection, &chat, true, by)?;
    schedules::cancel_all(connection, &chat, by, run)?;
    let unpaired = ChatUnpaired {
        channel: chat.channel.as_str().to_owned(),
        chat_id: chat.id.clone(),
        by: by.to_owned(),
    };
    events::append(connection, &Event::now(unpaired, Some(run), None))?;
    Ok(Some(chat))
}

/// The chats that were paired, oldest first.
pub fn paired(connection: &Connection) -> Result<Vec<KnownChat>, StoreError> {
    let sql = "select channel, chat_id, title, paired_at_ms, paired_by from paired_chats
               order by paired_at_ms, chat_id";
    Ok(connection.query_all(sql, [], known)?)
}

/// The chats that have a code, oldest first.
pub fn waiting(connection: &Connection) -> Result<Vec<KnownChat>, StoreError> {
    let sql = "select channel, chat_id, title, given_at_ms, code from pairing_codes
               where given_at_ms > ?1 order by given_at_ms, chat_id";
    Ok(connection.query_all(sql, [now_ms() - CODE_LIFE_MS], known)?)
}

fn known(row: &Row<'_>) -> crate::sql::Result<KnownChat> {
    Ok(KnownChat { chat: chat(row, 0)?, title: row.get(2)?, since_ms: row.get(3)?, note: row.get(4)? })
}

fn new_code() -> Result<String, StoreError> {
    let mut bytes = [0; CODE_LENGTH];
    getrandom::fill(&mut bytes).map_err(|_| StoreError::NoRandomness)?;
    let character = |byte: u8| char::from(CODE_CHARACTERS[usize::from(byte) % CODE_CHARACTERS.len()]);
    Ok(bytes.into_iter().map(character).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDatabase, test_chat};

    fn give(database: &TestDatabase, chat: i64) -> Option<String> {
        give_code(database, &test_chat(chat), "A stranger").unwrap()
    }

    fn use_code(database: &TestDatabase, code: &str) -> Option<KnownChat> {
        pair(database, code, "cli", &database.run).unwrap()
    }

    #[test]
    fn a_code_allows_its_chat_once_and_only_within_the_hour() {
        let database = TestDatabase::new();
        let code = give(&database, 1).unwrap();
        assert!(code.len() == CODE_LENGTH && code.bytes().all(|byte| CODE_CHARACTERS.contains(&byte)));
        assert_eq!(give(&database, 1), None, "a chat is told once an hour");
        assert_eq!(use_code(&database, "WRONG222"), None);
        assert_eq!(use_code(&database, &format!(" {} ", code.to_lowercase())).unwrap().chat, test_chat(1));
        assert_eq!(use_code(&database, &code), None, "it was used");
        assert_eq!(paired(&database).unwrap().len(), 1);

        let late = give(&database, 2).unwrap();
        database.execute("update pairing_codes set given_at_ms = given_at_ms - 3600000", []).unwrap();
        assert_eq!(waiting(&database).unwrap(), []);
        assert_eq!(use_code(&database, &late), None);
        assert_ne!(give(&database, 2), None);
    }

    #[test]
    fn a_pairing_is_taken_back_with_what_the_chat_has_asked_for() {
        let database = TestDatabase::new();
        use_code(&database, &give(&database, 1).unwrap()).unwrap();
        database.enqueue(test_chat(1), "hello");
        database.enqueue(test_chat(2), "hello");
        for expected in [Some(test_chat(1)), None] {
            assert_eq!(unpair(&database, "1", "cli", &database.run).unwrap(), expected);
        }
        assert_eq!(database.texts("select state from inbox order by seq"), ["cancelled", "queued"]);
        let types = database.texts("select type from events where type like 'chat.%'");
        assert_eq!(types, ["chat.paired", "chat.unpaired"]);
    }

    #[test]
    fn strangers_beyond_the_bound_get_no_code() {
        let database = TestDatabase::new();
        database.execute_batch("begin").unwrap();
        (0..MAX_CODES).for_each(|chat| assert!(give(&database, chat).is_some()));
        assert_eq!(give(&database, MAX_CODES), None);
    }

    #[test]
    fn a_chat_waits_unless_it_has_a_code_that_is_still_good() {
        let database = TestDatabase::new();
        let channel = test_chat(1).channel;
        give(&database, 1).unwrap();
        wait(&database, &test_chat(1), "A stranger").unwrap();
        assert_eq!(waiting_strangers(&database, &channel).unwrap(), Vec::<String>::new());
        database.execute("update pairing_codes set given_at_ms = given_at_ms - 3600000", []).unwrap();
        wait(&database, &test_chat(1), "A stranger").unwrap();
        assert_eq!(waiting_strangers(&database, &channel).unwrap(), ["A stranger"]);
        let next = next_stranger(&database, &channel).unwrap();
        assert_eq!(next, Some((test_chat(1), "A stranger".to_owned())));
        assert_ne!(give(&database, 1), None);
    }

    #[test]
    fn a_group_that_moves_stays_paired() {
        let database = TestDatabase::new();
        use_code(&database, &give(&database, -1).unwrap()).unwrap();
        crate::chats::move_to(&database, &test_chat(-1), "-1001", None).unwrap();
        assert_eq!(paired(&database).unwrap()[0].chat, test_chat(-1001));
    }
}
