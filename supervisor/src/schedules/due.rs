//! The clock: queues the schedules that are due.

use std::time::Duration;

use channel::{Channels, Content, Delivery};
use protocol::{EventId, now_ms};
use store::schedules::{self, Due, Missed, Schedule};
use store::timing;
use store::{StoreError, languages, outbox};
use texts::Text;
use tokio_util::sync::CancellationToken;

use super::{Schedules, refusal};

/// The longest pause before the clock is looked at again: it may be set, and a suspended machine does not
/// count its sleep.
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// Queues the schedules that are due until `stop`.
pub(crate) async fn keep(schedules: Schedules, run: EventId, stop: CancellationToken) {
    loop {
        let next_at_ms = match look(&schedules, &run).await {
            Ok(next_at_ms) => next_at_ms,
            Err(error) => {
                tracing::error!(%error, "could not look at the schedules; trying again");
                Some(now_ms().saturating_add(LOOK_EVERY.as_millis().try_into().unwrap_or(i64::MAX)))
            }
        };
        let pause = async {
            match next_at_ms {
                Some(at_ms) => {
                    let left = u64::try_from(at_ms.saturating_sub(now_ms())).unwrap_or(0);
                    tokio::time::sleep(Duration::from_millis(left).min(LOOK_EVERY)).await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = pause => {}
            () = schedules.changed.notified() => {}
        }
    }
}

/// Queues all that is due now, and returns when the next one is.
async fn look(schedules: &Schedules, run: &EventId) -> Result<Option<i64>, StoreError> {
    loop {
        let (run, channels) = (run.clone(), schedules.channels.clone());
        let least_pause_ms = schedules.limits.least_pause_ms();
        let looked = schedules.store.write(move |tx| {
            let may_run = |chat: &_| refusal(&channels, chat).is_none();
            let Due { missed, has_more } = schedules::make_due(tx, now_ms(), least_pause_ms, &run, may_run)?;
            for (schedule, reason) in missed {
                tell(tx, &channels, &schedule, reason, &run)?;
            }
            Ok((has_more, schedules::next_due(tx)?))
        });
        let (has_more, next_at_ms) = looked.await?;
        if !has_more {
            return Ok(next_at_ms);
        }
    }
}

/// Sends a chat what was not run, if its channel can send.
fn tell(
    connection: &store::sql::Connection,
    channels: &Channels,
    schedule: &Schedule,
    missed: Missed,
    run: &EventId,
) -> Result<(), StoreError> {
    let reason = missed.reason();
    tracing::warn!(schedule_id = schedule.id, chat = %schedule.chat.id, reason, "a schedule was not run");
    let Some(channel) = channels.get(&schedule.chat.channel) else { return Ok(()) };
    let zone = timing::zone(&schedule.timezone).unwrap_or(jiff::tz::TimeZone::UTC);
    let due_at = timing::shown(schedule.next_at_ms, &zone);
    let (text, due) = (schedule.text.as_str(), due_at.as_str());
    let text = match missed {
        Missed::NoAccess => Text::NotDoneByAccess { text, due },
        Missed::TooLate => Text::NotDoneByAge { text, due },
    };
    let text = text.to(languages::of(connection, &schedule.chat)?);
    match channel.prepare(&schedule.chat.id, Content::Text(text)) {
        Ok(contents) if channel.delivery() == Delivery::Push => {
            outbox::queue(connection, None, &schedule.chat, contents, Delivery::Push, Some(run)).map(|_| ())
        }
        _ => Ok(()),
    }
}
