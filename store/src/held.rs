//! Tasks that a limit of the day keeps waiting until midnight (UTC). Nothing of them is lost.

use std::time::Duration;

use channel::{Channels, Delivery};
use protocol::event::QuotaExhausted;
use protocol::{EventId, ReplyFormat, now_ms};
use settings::quotas::{DAY_MS, minutes_until_midnight, next_midnight_ms};
use texts::{Language, Text};

use super::attempt::{self, Ending};
use super::claim::{self, Claim, Exhausted};
use super::sql::{Connection, params};
use super::{StoreError, events, outbox};

/// The lease of an attempt that ends in the transaction in which it begins.
const NO_TIME: Duration = Duration::from_secs(60);

/// Keeps a task until midnight and says so, once a day in each chat: the messages behind it wait, too. A chat
/// that only gets replies to its own messages gets this as the reply; the task can be run again then.
pub fn hold(
    connection: &Connection,
    channels: &Channels,
    exhausted: Exhausted,
    run: &EventId,
) -> Result<(), StoreError> {
    let Exhausted { seq, task, limit } = exhausted;
    let now = now_ms();
    let until_ms = next_midnight_ms(now);
    let event = QuotaExhausted { limit: limit.in_words(Language::English), until_ms };
    events::record(connection, event, Some(run), &task.id)?;
    let language = task.language;
    let used_up = used_up(&limit.in_words(language), now, language);
    let channel = channels.get(&task.chat.channel);
    let delivery = channel.map_or(Delivery::Off, |channel| channel.delivery());
    if delivery == Delivery::Pull {
        let again = Text::LimitSendAgain { task: task.id.as_str() }.to(language);
        let reply = Text::Sentences { first: &used_up, second: &again }.to(language);
        let Claim::Task(task) = claim::take(connection, seq, task, now, NO_TIME, run)? else {
            return Ok(());
        };
        attempt::end(connection, channels, &task, &Ending::Dead { error: used_up, reply })?;
        return Ok(());
    }
    let sql = "update inbox set available_at_ms = ?2, updated_at_ms = ?3 where seq = ?1 and state = 'queued'";
    connection.execute(sql, params![seq, until_ms, now])?;
    if let (Some(channel), Delivery::Push) = (channel, delivery) {
        let kept = Text::LimitKept.to(language);
        let text = Text::Sentences { first: &used_up, second: &kept }.to(language);
        let contents = channel.decorate(&text, ReplyFormat::Plain, language);
        outbox::queue(connection, None, &task.chat, contents, delivery, None)?;
    }
    Ok(())
}

/// That a limit is used up, and when it is free again.
fn used_up(limit: &str, now: i64, language: Language) -> String {
    let text = match minutes_until_midnight(now) {
        minutes @ ..60 => Text::LimitUsedUpMinutes { limit, minutes },
        minutes => Text::LimitUsedUpHours { limit, hours: (minutes + 59) / 60 },
    };
    text.to(language)
}

/// Looks again at what a limit keeps waiting: it may have been raised with this start.
pub fn look_again(connection: &Connection) -> Result<usize, StoreError> {
    let now = now_ms();
    let sql = "update inbox set available_at_ms = ?1, updated_at_ms = ?1
               where state = 'queued' and available_at_ms > ?1 and id in (
                   select task_id from events where type = 'quota.exhausted' and time_ms >= ?1 - ?2)";
    Ok(connection.execute(sql, params![now, DAY_MS])?)
}
