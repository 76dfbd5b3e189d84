//! Sends a channel's queued messages: one at a time in each chat, many chats at once.
//!
//! Each chat is a line of its own, so that one whose messages fail or take long holds up no other. `pace.rs`
//! keeps the channel's limits, `room.rs` keeps slow chats from taking every place.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use channel::chat::whole;
use channel::{Audience, Channel, Chat, Outgoing, SendOutcome};
use protocol::now_ms;
use store::chats;
use store::delivery::{self, Head};
use store::{Store, StoreError};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::pace::SharedPace;
use super::room::Room;
use crate::words::Words;

/// How long messages that are being sent may still take once the supervisor stops.
const STOP_PATIENCE: Duration = Duration::from_secs(3);
/// The pause before a message is sent again that had no answer, where others have one.
const AFTER_A_BREAK: Duration = Duration::from_secs(1);
/// The pause after the database failed.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// Sends until `stop`, and a little longer: a message sent but not marked is sent again at the next start.
pub(crate) async fn send_queued(
    channel: Arc<dyn Channel>,
    store: Store,
    pace: SharedPace,
    words: Words,
    stop: CancellationToken,
) {
    let mut changes = store.changes();
    let mut sender = Sender {
        pace,
        room: Room::default(),
        channel,
        store,
        words,
        under_way: JoinSet::new(),
        put_off: HashMap::new(),
    };
    let reach = sender.channel.reach();
    // What an earlier run could not reach is tried at once.
    let mut breaks = reach.breaks();
    sender.after_a_break().await;
    while !stop.is_cancelled() {
        changes.mark_unchanged();
        let next = match sender.begin_what_is_due().await {
            Ok(next) => next,
            Err(error) => {
                tracing::error!(%error, "could not read the outbox; trying again");
                Some(Instant::now() + STORE_PAUSE)
            }
        };
        tokio::select! {
            () = stop.cancelled() => break,
            changed = changes.changed() => if changed.is_err() { break },
            Some(ended) = sender.under_way.join_next() => sender.ended(ended),
            () = sleep_until(next) => {}
            over = reach.again(breaks) => {
                breaks = over;
                sender.after_a_break().await;
            }
        }
    }
    sender.finish().await;
}

struct Sender {
    channel: Arc<dyn Channel>,
    store: Store,
    words: Words,
    pace: SharedPace,
    room: Room,
    under_way: JoinSet<Ended>,
    /// Chats whose last message the database did not take.
    put_off: HashMap<String, Instant>,
}

/// An attempt to send that is over.
struct Ended {
    chat_id: String,
    /// Whether the channel took the message.
    is_sent: bool,
    stored: Result<(), StoreError>,
}

impl Sender {
    /// Begins what may begin now; returns when to look again, if time alone can change anything.
    async fn begin_what_is_due(&mut self) -> Result<Option<Instant>, StoreError> {
        let name = self.channel.name();
        let mut heads = self.store.write(move |tx| delivery::heads(tx, &name)).await?;
        let (now, now_ms) = (Instant::now(), now_ms());
        self.put_off.retain(|_, until| *until > now);
        heads.retain(|head| !self.room.is_taken_by(&head.chat_id));
        // Chats that the bot works for go first, then those that wait longest.
        heads.sort_by_key(|head| {
            (self.channel.access().audience(&head.chat_id) == Audience::Stranger, head.seq)
        });
        let mut next: Option<Instant> = None;
        for head in heads {
            let ready = self.ready_at(&head, now, now_ms);
            if ready.is_some_and(|ready| ready > now) {
                next = next.into_iter().chain(ready).min();
            } else if self.room.has_place_for(&head.chat_id, now) {
                self.begin(head, now);
            }
        }
        // A place that is taken for long counts as slow, which leaves room for others.
        Ok(next.into_iter().chain(self.room.changes_at(now)).min())
    }

    /// What waits because the network was broken goes now.
    async fn after_a_break(&self) {
        let name = self.channel.name();
        if let Err(error) = self.store.write(move |tx| delivery::make_unanswered_due(tx, &name)).await {
            tracing::warn!(%error, "could not wake the messages that a break of the network put off");
        }
    }

    fn ready_at(&self, head: &Head, now: Instant, now_ms: i64) -> Option<Instant> {
        let due = u64::try_from(head.available_at_ms - now_ms).ok().filter(|wait| *wait > 0);
        let due = due.map(|wait| now + Duration::from_millis(wait));
        let limited_as = whole(&head.chat_id);
        let paced = self.pace.lock().ready_at(limited_as, self.channel.access().audience(&head.chat_id));
        due.max(paced).max(self.put_off.get(&head.chat_id).copied())
    }

    fn begin(&mut self, head: Head, now: Instant) {
        self.pace.lock().begin(whole(&head.chat_id), now);
        self.room.enter(&head.chat_id, now);
        let (channel, store, words) = (Arc::clone(&self.channel), self.store.clone(), self.words.clone());
        let pace = self.pace.clone();
        self.under_way.spawn(async move {
            // A draft that came behind the message would stay there for a while.
            words.settled(&Chat::new(channel.name(), &head.chat_id)).await;
            let sent = send(channel.as_ref(), &store, &pace, head.seq).await;
            let (is_sent, stored) = match sent {
                Ok(is_sent) => (is_sent, Ok(())),
                Err(error) => (false, Err(error)),
            };
            Ended { chat_id: head.chat_id, is_sent, stored }
        });
    }

    fn ended(&mut self, ended: Result<Ended, tokio::task::JoinError>) {
        // A task that panicked has ended the program.
        let Ok(Ended { chat_id, is_sent, stored }) = ended else { return };
        let now = Instant::now();
        self.room.leave(&chat_id, is_sent, now);
        if let Err(error) = stored {
            tracing::error!(%error, "could not read or update the outbox; trying again");
            self.put_off.insert(chat_id, now + STORE_PAUSE);
        }
    }

    /// Lets a message in flight arrive, but not for long.
    async fn finish(mut self) {
        let all = async { while self.under_way.join_next().await.is_some() {} };
        // A message that is cut off here is sent again.
        let _ = tokio::time::timeout(STOP_PATIENCE, all).await;
    }
}

/// Sends one message, or those of an album, and stores what became of it; returns whether it was sent.
async fn send(channel: &dyn Channel, store: &Store, pace: &SharedPace, seq: i64) -> Result<bool, StoreError> {
    let Some(message) = store.write(move |tx| delivery::load(tx, seq)).await? else { return Ok(false) };
    // A channel counts each file of an album.
    for _ in &message.further {
        pace.lock().begin(whole(&message.chat.id), Instant::now());
    }
    let attempt = message.attempt + 1;
    let (chat_id, answers) = (message.chat.id.as_str(), message.answers.as_ref());
    let outgoing = Outgoing { chat_id, content: &message.content, answers, attempt };
    let (reach, before) = (channel.reach(), channel.reach().breaks());
    let outcome = match channel.send(outgoing).await {
        // It began in a break that is over: the growing pause is about what is not so any more.
        SendOutcome::Retry { error, pause, is_unanswered: true } if reach.breaks() > before => {
            SendOutcome::Retry { error, pause: pause.min(AFTER_A_BREAK), is_unanswered: true }
        }
        outcome => outcome,
    };
    let is_sent = matches!(outcome, SendOutcome::Sent { .. });
    match &outcome {
        SendOutcome::GiveUp { error } => {
            tracing::error!(error, chat_id = message.chat.id, "could not deliver a message; giving up");
        }
        SendOutcome::Moved { chat_id } => channel.access().moved(&message.chat.id, chat_id),
        SendOutcome::Apart { error } => {
            tracing::warn!(error, chat_id = message.chat.id, "an album is sent as single files");
        }
        SendOutcome::Sent { .. } | SendOutcome::Retry { .. } => {}
    }
    // Until it succeeds: a message that was sent but not marked, on a full disk, must not be sent again.
    let marked = store.write_until_done(move |tx| match &outcome {
        SendOutcome::Sent { message_ids } => delivery::mark_sent(tx, &message, message_ids),
        SendOutcome::Apart { error } => delivery::take_apart(tx, &message, error),
        SendOutcome::Retry { error, pause, is_unanswered } => {
            delivery::put_off(tx, &message, error, *pause, *is_unanswered)
        }
        SendOutcome::Moved { chat_id } => chats::move_to(tx, &message.chat, chat_id, Some(&message.event)),
        SendOutcome::GiveUp { error } => delivery::give_up(tx, &message, error),
    });
    marked.await.map(|()| is_sent)
}

/// Forever without a time.
async fn sleep_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
