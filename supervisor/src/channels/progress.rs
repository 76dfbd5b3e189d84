//! Shows in each chat that its task runs or waits for its turn: typing, and after a while a message with the
//! steps so far.
//!
//! Everything comes from the tables of the tasks, and nothing here is in the way of a reply: a sign begins
//! only where no message waits and the channel's limits leave room. The number of a progress message is
//! stored, so that one is taken away even if the supervisor was killed meanwhile.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use channel::chat::whole;
use channel::sign::{Progress, Shown, Sign};
use channel::{Channel, ChannelName};
use protocol::{MessageId, TaskId, now_ms};
use store::{Store, StoreError, activity, delivery, kv, line};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::pace::SharedPace;
use super::progress_text::Seen;

/// A task that takes no longer shows no message.
const FIRST_PROGRESS: Duration = Duration::from_secs(3);
/// A message is edited at most this often.
const BETWEEN_EDITS: Duration = Duration::from_secs(3);
/// Telegram shows typing for five seconds.
const BETWEEN_TYPING: Duration = Duration::from_secs(4);
/// How often running tasks are looked at, and the least time between two looks.
const TICK: Duration = Duration::from_millis(500);
/// Signs under way at once, in all chats.
const MOST_AT_ONCE: usize = 16;
/// A message that cannot be taken away stays after so many attempts.
const REMOVALS: u32 = 5;
/// How long messages may take to go once the supervisor stops.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// Shows signs of life until `stop`, and takes them away.
pub(crate) async fn show(channel: Arc<dyn Channel>, store: Store, pace: SharedPace, stop: CancellationToken) {
    let mut changes = store.changes();
    let mut signs = Signs { channel, store, pace, tasks: HashMap::new(), under_way: JoinSet::new() };
    signs.load().await;
    while !stop.is_cancelled() {
        changes.mark_unchanged();
        if let Err(error) = signs.look().await {
            tracing::warn!(%error, "could not read what the running tasks do");
        }
        let look_again = tokio::time::sleep(TICK);
        let is_idle = signs.tasks.is_empty();
        tokio::select! {
            () = stop.cancelled() => break,
            () = async { look_again.await; if is_idle { let _ = changes.changed().await; } } => {}
            Some(ended) = signs.under_way.join_next() => signs.ended(ended).await,
        }
    }
    signs.finish().await;
}

struct Signs {
    channel: Arc<dyn Channel>,
    store: Store,
    pace: SharedPace,
    tasks: HashMap<TaskId, Life>,
    under_way: JoinSet<Ended>,
}

/// What a chat sees of a task.
#[derive(Debug, Default)]
struct Life {
    chat_id: String,
    /// The message with its progress.
    message_id: Option<MessageId>,
    told: Option<Progress>,
    told_at: Option<Instant>,
    typed_at: Option<Instant>,
    /// A sign is under way.
    is_busy: bool,
    /// No sign is wanted before.
    muted_until: Option<Instant>,
    /// The channel takes no message for it.
    is_refused: bool,
    failed_removals: u32,
}

/// A sign that was tried.
struct Ended {
    task: TaskId,
    sign: Sign,
    shown: Shown,
}

impl Signs {
    /// Remembers the messages of an earlier run: their tasks do not run, so they are taken away.
    async fn load(&mut self) {
        let prefix = prefix(&self.channel.name());
        match self.store.write(move |tx| kv::beginning_with(tx, &prefix)).await {
            Ok(left) => self.tasks.extend(left.iter().filter_map(|(task, value)| {
                let (message_id, chat_id) = value.split_once(' ')?;
                let message_id = Some(message_id.to_owned().into());
                Some((
                    task.parse().ok()?,
                    Life { chat_id: chat_id.to_owned(), message_id, ..Life::default() },
                ))
            })),
            Err(error) => tracing::warn!(%error, "could not read which progress messages are left"),
        }
    }

    /// Shows the signs that are due now.
    async fn look(&mut self) -> Result<(), StoreError> {
        let name = self.channel.name();
        let read = self.store.write(move |tx| {
            let begun = activity::of_channel(tx, &name)?.into_iter().map(Seen::Begun);
            let in_line = line::of_channel(tx, &name)?.into_iter().map(Seen::InLine);
            Ok((begun.chain(in_line).collect::<Vec<_>>(), delivery::heads(tx, &name)?))
        });
        let (seen, waiting) = read.await?;
        let (now, now_ms) = (Instant::now(), now_ms());
        for seen in &seen {
            let life = self.tasks.entry(seen.task().clone()).or_default();
            seen.chat_id().clone_into(&mut life.chat_id);
            let has_message_waiting = waiting.iter().any(|head| head.chat_id == seen.chat_id());
            if !has_message_waiting && let Some(sign) = due(life, seen, now, now_ms) {
                self.begin(seen.task().clone(), sign, now);
            }
        }
        let over: Vec<TaskId> = self.tasks.keys().filter(|task| is_over(task, &seen)).cloned().collect();
        for task in over {
            let Some(life) = self.tasks.get(&task) else { continue };
            match life.message_id.clone() {
                _ if life.is_busy || life.muted_until.is_some_and(|until| now < until) => {}
                Some(message_id) => self.begin(task, Sign::Remove { message_id }, now),
                None => drop(self.tasks.remove(&task)),
            }
        }
        Ok(())
    }

    /// Begins a sign, if the limits leave room for it.
    fn begin(&mut self, task: TaskId, sign: Sign, now: Instant) {
        let Some(life) = self.tasks.get_mut(&task) else { return };
        let chat_id = life.chat_id.clone();
        let limited_as = whole(&chat_id);
        let mut pace = self.pace.lock();
        let is_message = matches!(sign, Sign::Progress(_) | Sign::Update { .. });
        let has_room = match is_message {
            true => pace.has_room_beside_messages(limited_as, self.channel.access().audience(&chat_id), now),
            false => pace.has_room_aside(now),
        };
        if !has_room || self.under_way.len() >= MOST_AT_ONCE {
            return;
        }
        if is_message {
            pace.begin(limited_as, now);
        } else {
            pace.begin_aside(now);
        }
        drop(pace);
        life.is_busy = true;
        let channel = Arc::clone(&self.channel);
        self.under_way.spawn(async move {
            let shown = channel.show(&chat_id, &sign).await;
            Ended { task, sign, shown }
        });
    }

    async fn ended(&mut self, ended: Result<Ended, tokio::task::JoinError>) {
        // A task that panicked has ended the program.
        let Ok(Ended { task, sign, shown }) = ended else { return };
        let Some(life) = self.tasks.get_mut(&task) else { return };
        let now = Instant::now();
        life.is_busy = false;
        let key = format!("{}{task}", prefix(&self.channel.name()));
        match (sign, shown) {
            (Sign::Remove { .. }, Shown::Later { pause }) if life.failed_removals < REMOVALS => {
                life.failed_removals += 1;
                life.muted_until = Some(now + pause);
            }
            (Sign::Remove { .. }, _) => {
                self.tasks.remove(&task);
                self.note(move |tx| kv::remove(tx, &key)).await;
            }
            (_, Shown::Later { pause }) => life.muted_until = Some(now + pause),
            (_, Shown::Never) => life.is_refused = true,
            (Sign::Typing, Shown::Yes { .. }) => life.typed_at = Some(now),
            (Sign::Update { progress, .. }, Shown::Yes { .. }) => life.told(progress, now),
            (Sign::Progress(progress), Shown::Yes { message_id }) => {
                life.told(progress, now);
                // A message ends typing.
                life.typed_at = None;
                life.message_id.clone_from(&message_id);
                let Some(message_id) = message_id else { return };
                let value = format!("{message_id} {}", life.chat_id);
                self.note(move |tx| kv::set(tx, &key, &value)).await;
            }
        }
    }

    async fn note(
        &self,
        change: impl FnOnce(&rusqlite::Transaction<'_>) -> Result<(), StoreError> + Send + 'static,
    ) {
        if let Err(error) = self.store.write(change).await {
            tracing::warn!(%error, "could not note a progress message");
        }
    }

    /// Takes all messages away, but waits for that only so long; the next start takes the rest away.
    async fn finish(mut self) {
        let all = async {
            while let Some(ended) = self.under_way.join_next().await {
                self.ended(ended).await;
            }
            let now = Instant::now();
            let messages =
                self.tasks.iter().filter_map(|(task, life)| Some((task.clone(), life.message_id.clone()?)));
            for (task, message_id) in messages.collect::<Vec<_>>() {
                self.begin(task, Sign::Remove { message_id }, now);
            }
            while let Some(ended) = self.under_way.join_next().await {
                self.ended(ended).await;
            }
        };
        let _ = tokio::time::timeout(STOP_PATIENCE, all).await;
    }
}

impl Life {
    fn told(&mut self, progress: Progress, now: Instant) {
        self.told = Some(progress);
        self.told_at = Some(now);
    }
}

fn is_over(task: &TaskId, seen: &[Seen]) -> bool {
    !seen.iter().any(|seen| seen.task() == task)
}

/// The sign that a task needs now, if it needs one.
fn due(life: &Life, seen: &Seen, now: Instant, now_ms: i64) -> Option<Sign> {
    if life.is_busy || life.is_refused || life.muted_until.is_some_and(|until| now < until) {
        return None;
    }
    let is_after = |last: Option<Instant>, pause| last.is_none_or(|last| last + pause <= now);
    let elapsed = seen.elapsed(now_ms);
    // A message that is there is true from the beginning of what it tells.
    let is_time = elapsed >= FIRST_PROGRESS || life.message_id.is_some();
    if is_time && is_after(life.told_at, BETWEEN_EDITS) {
        let progress = seen.progress(elapsed);
        return match life.message_id.clone() {
            None => Some(Sign::Progress(progress)),
            Some(_) if life.told.as_ref() == Some(&progress) => None,
            Some(message_id) => Some(Sign::Update { message_id, progress }),
        };
    }
    is_after(life.typed_at, BETWEEN_TYPING).then_some(Sign::Typing)
}

fn prefix(channel: &ChannelName) -> String {
    format!("progress.{channel}.")
}

#[cfg(test)]
mod tests {
    use store::activity::Activity;

    use super::*;

    fn seen() -> Seen {
        Seen::Begun(Activity {
            task: TaskId::new(),
            chat_id: "7".to_owned(),
            since_ms: 0,
            turn: 3,
            tokens: 4321,
            plan: None,
            call: None,
            waits_for_person: false,
            is_stopping: false,
        })
    }

    #[test]
    fn typing_comes_at_once_a_message_after_three_seconds_and_edits_no_sooner_than_that() {
        let (task, start) = (seen(), Instant::now());
        let mut life = Life::default();
        let mut seen = Vec::new();
        for tenth in 0..200 {
            let now = start + Duration::from_millis(tenth * 100);
            let now_ms = i64::try_from(tenth * 100).unwrap();
            match due(&life, &task, now, now_ms) {
                Some(Sign::Typing) => {
                    life.typed_at = Some(now);
                    seen.push(("typing", tenth));
                }
                Some(Sign::Progress(progress)) => {
                    life.told(progress, now);
                    life.message_id = Some(1.into());
                    seen.push(("new", tenth));
                }
                Some(Sign::Update { progress, .. }) => {
                    life.told(progress, now);
                    seen.push(("edit", tenth));
                }
                Some(Sign::Remove { .. }) => panic!("it runs"),
                None => {}
            }
        }
        assert_eq!(seen[..4], [("typing", 0), ("new", 30), ("typing", 40), ("edit", 60)]);
        let edits: Vec<u64> = seen.iter().filter(|seen| seen.0 == "edit").map(|seen| seen.1).collect();
        assert_eq!(edits, [60, 90, 120, 150, 180]);
        life.is_refused = true;
        assert_eq!(due(&life, &task, start + Duration::from_secs(90), 90_000), None);
    }
}
