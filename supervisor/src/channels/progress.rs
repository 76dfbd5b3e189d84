//! Shows in each chat that its task runs or waits for its turn: typing, and after a while a message with the
//! steps so far.
//!
//! Everything comes from the tables of the tasks, and nothing here is in the way of a reply: a sign begins
//! only where no message waits and the channel's limits leave room. The number of a progress message is
//! stored, so that one is taken away even if the supervisor was killed meanwhile. One that is there without
//! anybody knowing its number, because its sending had no answer, is looked for.

mod noted;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use channel::chat::whole;
use channel::sign::{Draft, Lost, Progress, Shown, Sign};
use channel::{Channel, Chat};
use protocol::{MessageId, TaskId, now_ms};
use store::delivery::Head;
use store::{Store, StoreError, activity, delivery, kv, languages, line};
use texts::Language;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use noted::{LOST, NOT_NOTED, noted, prefix};

use super::growing::{MAX_UNITS_BESIDE_PROGRESS, ShownDraft, with_words};
use super::pace::SharedPace;
use super::progress_text::Seen;
use crate::reception::press::stop_button;
use crate::words::{Said, Words};

/// A task that takes no longer shows no message.
const FIRST_PROGRESS: Duration = Duration::from_secs(3);
/// A message is edited at most this often.
const BETWEEN_EDITS: Duration = Duration::from_secs(3);
/// Telegram shows typing for five seconds. The next sign begins up to a tick later, and a busy machine is
/// late.
const BETWEEN_TYPING: Duration = Duration::from_millis(2500);
/// How often running tasks are looked at, and the least time between two looks.
const TICK: Duration = Duration::from_millis(500);
/// Signs under way at once, in all chats.
const MOST_AT_ONCE: usize = 16;
/// The longest pause before it is tried again to take a message away.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// How long messages may take to go once the supervisor stops.
const STOP_PATIENCE: Duration = Duration::from_secs(2);

/// Shows signs of life until `stop`, and takes them away.
pub(crate) async fn show(
    channel: Arc<dyn Channel>,
    store: Store,
    pace: SharedPace,
    words: Words,
    stop: CancellationToken,
) {
    let mut changes = store.changes();
    let mut signs = Signs { channel, store, pace, words, tasks: HashMap::new(), under_way: JoinSet::new() };
    signs.load().await;
    let reach = signs.channel.reach();
    let mut breaks = reach.breaks();
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
            over = reach.again(breaks) => {
                breaks = over;
                signs.after_a_break();
            }
        }
    }
    signs.finish().await;
}

struct Signs {
    channel: Arc<dyn Channel>,
    store: Store,
    pace: SharedPace,
    words: Words,
    tasks: HashMap<TaskId, Life>,
    under_way: JoinSet<Ended>,
}

/// What a chat sees of a task.
#[derive(Debug, Default)]
struct Life {
    chat_id: String,
    /// That of the chat when its task was first seen: a message is found again by its button.
    language: Language,
    /// The message with its progress.
    message_id: Option<MessageId>,
    /// There may be one, with a number above this one.
    lost_after: Option<MessageId>,
    told: Option<Progress>,
    told_at: Option<Instant>,
    typed_at: Option<Instant>,
    draft: ShownDraft,
    /// A sign is under way.
    is_busy: bool,
    /// No sign is wanted before.
    muted_until: Option<Instant>,
    /// It is muted because the network is broken.
    is_unanswered: bool,
    /// The channel takes no message for it.
    is_refused: bool,
    failed_removals: u32,
}

/// A sign that was tried.
struct Ended {
    task: TaskId,
    sign: Sign,
    shown: Shown,
    /// Of a new message: the highest number that was known before it.
    after: Option<MessageId>,
}

impl Signs {
    /// Remembers the messages of an earlier run: their tasks do not run, so they are taken away.
    async fn load(&mut self) {
        let prefix = prefix(&self.channel.name());
        match self.store.write(move |tx| kv::beginning_with(tx, &prefix)).await {
            Ok(left) => self.tasks.extend(left.iter().filter_map(|(task, value)| {
                let (number, place) = value.split_once(' ')?;
                let (chat_id, code) = place.split_once(' ').unwrap_or((place, ""));
                let language = Language::of_code(code).unwrap_or_default();
                let (number, is_lost) = number.strip_prefix(LOST).map_or((number, false), |n| (n, true));
                let number = Some(MessageId::from(number.to_owned()));
                let (message_id, lost_after) = if is_lost { (None, number) } else { (number, None) };
                let chat_id = chat_id.to_owned();
                let life = Life { chat_id, language, message_id, lost_after, ..Life::default() };
                Some((task.parse().ok()?, life))
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
            let seen: Vec<Seen> = begun.chain(in_line).collect();
            let language = |seen: &Seen| languages::of(tx, &Chat::new(name.clone(), seen.chat_id()));
            let languages = seen.iter().map(language).collect::<Result<Vec<_>, _>>()?;
            Ok((seen, languages, delivery::heads(tx, &name)?))
        });
        let (seen, languages, waiting) = read.await?;
        let (now, now_ms) = (Instant::now(), now_ms());
        let mut in_turn: Vec<(&Seen, Language)> = seen.iter().zip(languages).collect();
        // The limits may have no room for all: those that saw nothing for the longest go first.
        in_turn.sort_by_key(|(seen, _)| self.tasks.get(seen.task()).and_then(Life::last_sign));
        for (seen, language) in in_turn {
            let has_message_waiting = waiting.iter().any(|head| head.chat_id == seen.chat_id());
            self.show_of(seen, language, has_message_waiting, (now, now_ms));
        }
        let answers = self.answers_in_line(self.full_chats(&seen, waiting, now)).await?;
        let over: Vec<TaskId> = self.tasks.keys().filter(|task| is_over(task, &seen)).cloned().collect();
        for task in over {
            let Some(life) = self.tasks.get(&task) else { continue };
            if life.is_quiet(now) {
                continue;
            }
            match (life.message_id.clone(), life.lost(&task)) {
                (Some(message_id), _) => _ = self.begin(task, Sign::Remove { message_id }, now),
                (None, Some(lost)) => _ = self.begin(task, lost, now),
                (None, None) if answers.contains_key(&task) => {}
                (None, None) => drop(self.tasks.remove(&task)),
            }
        }
        for (task, chat_id) in answers {
            let life = self.tasks.entry(task.clone());
            let life = life.or_insert_with(|| Life { chat_id, ..Life::default() });
            if let Some(typing) = life.typing(now) {
                self.begin(task, typing, now);
            }
        }
        Ok(())
    }

    /// Begins the sign of a task that is due, if one is.
    fn show_of(
        &mut self,
        seen: &Seen,
        language: Language,
        has_message_waiting: bool,
        (now, now_ms): (Instant, i64),
    ) {
        let life = self.tasks.entry(seen.task().clone());
        let life = life.or_insert_with(|| Life { language, ..Life::default() });
        seen.chat_id().clone_into(&mut life.chat_id);
        let shows = Shows { channel: self.channel.as_ref(), said: self.words.of(seen.task()) };
        let number = shows.said.as_ref().map(|said| said.number);
        // Typing is in the way of no message, so it goes on where a message has to wait for its turn.
        let typing = life.typing(now);
        let due = if has_message_waiting { None } else { shows.due(life, seen, now, now_ms) };
        let drawn = number.filter(|_| matches!(due, Some(Sign::Draft(_))));
        let has_begun = due.is_some_and(|sign| self.begin(seen.task().clone(), sign, now));
        if has_begun && let (Some(number), Some(life)) = (drawn, self.tasks.get_mut(seen.task())) {
            life.draft.begun(number, now);
        }
        if !has_begun && let Some(typing) = typing {
            self.begin(seen.task().clone(), typing, now);
        }
    }

    /// The chats in which no task shows a sign, and a message waits for the channel's limits.
    fn full_chats(&self, seen: &[Seen], waiting: Vec<Head>, now: Instant) -> Vec<String> {
        let (pace, access) = (self.pace.lock(), self.channel.access());
        let is_full = |chat_id: &String| pace.is_full(whole(chat_id), access.audience(chat_id), now);
        let chats = waiting.into_iter().map(|head| head.chat_id);
        chats.filter(|chat_id| seen.iter().all(|seen| seen.chat_id() != chat_id)).filter(is_full).collect()
    }

    /// The tasks whose answers are the next in these chats, each with its chat.
    async fn answers_in_line(&self, chats: Vec<String>) -> Result<HashMap<TaskId, String>, StoreError> {
        if chats.is_empty() {
            return Ok(HashMap::new());
        }
        let name = self.channel.name();
        let read = self.store.write(move |tx| {
            let first = |chat_id: String| {
                let task = delivery::answer_in_line(tx, &Chat::new(name.clone(), &chat_id))?;
                Ok(task.map(|task| (task, chat_id)))
            };
            chats.into_iter().filter_map(|chat_id| first(chat_id).transpose()).collect()
        });
        read.await
    }

    /// Begins a sign, if the limits leave room for it; returns whether they did.
    fn begin(&mut self, task: TaskId, sign: Sign, now: Instant) -> bool {
        let Some(life) = self.tasks.get_mut(&task) else { return false };
        let chat_id = life.chat_id.clone();
        let chat = Chat::new(self.channel.name(), &chat_id);
        let draft = matches!(sign, Sign::Draft(_)).then(|| self.words.draft(&task, &chat));
        if matches!(draft, Some(None)) {
            return false;
        }
        let limited_as = whole(&chat_id);
        let mut pace = self.pace.lock();
        let is_message = matches!(sign, Sign::Progress(_) | Sign::Update { .. });
        let has_room = match is_message {
            true => pace.has_room_beside_messages(limited_as, self.channel.access().audience(&chat_id), now),
            false => pace.has_room_aside(now),
        };
        if !has_room || self.under_way.len() >= MOST_AT_ONCE {
            return false;
        }
        if is_message {
            pace.begin_sign(limited_as, now);
        } else {
            pace.begin_aside(now);
        }
        drop(pace);
        life.is_busy = true;
        let (channel, store, language) = (Arc::clone(&self.channel), self.store.clone(), life.language);
        self.under_way.spawn(async move {
            let (sign, after) = noted(&store, (chat, language), &task, sign).await;
            let shown = match (&after, draft.flatten()) {
                (Ok(_), None) => channel.show(&chat_id, &sign).await,
                (Ok(_), Some(draft)) => tokio::select! {
                    shown = channel.show(&chat_id, &sign) => shown,
                    () = draft.has_to_end() => Shown::Later { pause: Duration::ZERO },
                },
                (Err(_), _) => Shown::Later { pause: NOT_NOTED },
            };
            Ended { task, sign, shown, after: after.unwrap_or_default() }
        });
        true
    }

    /// What the network kept back is shown now.
    fn after_a_break(&mut self) {
        for life in self.tasks.values_mut().filter(|life| life.is_unanswered) {
            life.muted_until = None;
        }
    }

    async fn ended(&mut self, ended: Result<Ended, tokio::task::JoinError>) {
        // A task that panicked has ended the program.
        let Ok(Ended { task, sign, shown, after }) = ended else { return };
        let Some(life) = self.tasks.get_mut(&task) else { return };
        let (now, key) = (Instant::now(), format!("{}{task}", prefix(&self.channel.name())));
        life.is_busy = false;
        life.is_unanswered = matches!(shown, Shown::Unanswered { .. });
        match (sign, shown) {
            (sign, Shown::Later { pause } | Shown::Unanswered { may_be_seen: false, pause }) => {
                life.put_off(&sign, pause, now);
                if matches!(sign, Sign::Progress(_)) {
                    self.note(move |tx| kv::remove(tx, &key)).await;
                }
            }
            // What is noted says that it may be there.
            (sign, Shown::Unanswered { pause, .. }) => {
                life.put_off(&sign, pause, now);
                life.lost_after = after.or(life.lost_after.take());
            }
            (Sign::Remove { .. }, _) => {
                self.tasks.remove(&task);
                self.note(move |tx| kv::remove(tx, &key)).await;
            }
            (Sign::Find(_), Shown::Never | Shown::Yes { message_id: None }) => {
                life.lost_after = None;
                self.note(move |tx| kv::remove(tx, &key)).await;
            }
            (Sign::Draft(_), shown) => life.draft.is_refused = shown == Shown::Never,
            (Sign::Progress(_), Shown::Never) => {
                life.is_refused = true;
                self.note(move |tx| kv::remove(tx, &key)).await;
            }
            (_, Shown::Never) => life.is_refused = true,
            (Sign::Typing, Shown::Yes { .. }) => life.typed_at = Some(now),
            (Sign::Update { progress, .. }, Shown::Yes { .. }) => life.told(progress, now),
            (sign @ (Sign::Progress(_) | Sign::Find(_)), Shown::Yes { message_id }) => {
                if let Sign::Progress(progress) = sign {
                    life.told(progress, now);
                }
                // A message ends typing.
                life.typed_at = None;
                life.lost_after = None;
                life.message_id.clone_from(&message_id);
                let Some(message_id) = message_id else { return };
                let value = format!("{message_id} {}", life.chat_id);
                self.note(move |tx| kv::set(tx, &key, &value)).await;
            }
        }
    }

    async fn note(
        &self,
        change: impl FnOnce(&store::sql::Connection) -> Result<(), StoreError> + Send + 'static,
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
    /// No sign before the pause is over; a message that has to go waits longer each time.
    fn put_off(&mut self, sign: &Sign, pause: Duration, now: Instant) {
        let factor = match sign {
            Sign::Remove { .. } | Sign::Find(_) => {
                self.failed_removals += 1;
                1 << (self.failed_removals - 1).min(8)
            }
            Sign::Typing | Sign::Progress(_) | Sign::Update { .. } | Sign::Draft(_) => 1,
        };
        self.muted_until = Some(now + pause.saturating_mul(factor).min(LONGEST_PAUSE.max(pause)));
    }

    /// When its chat was last shown something of it.
    fn last_sign(&self) -> Option<Instant> {
        [self.told_at, self.typed_at, self.draft.at()].into_iter().flatten().max()
    }

    /// Whether nothing can begin now: a sign is under way, or none is wanted yet.
    fn is_quiet(&self, now: Instant) -> bool {
        self.is_busy || self.muted_until.is_some_and(|until| now < until)
    }

    /// Typing, if it is time for it.
    fn typing(&self, now: Instant) -> Option<Sign> {
        let is_due = self.typed_at.is_none_or(|typed| typed + BETWEEN_TYPING <= now);
        (!self.is_refused && !self.is_quiet(now) && is_due && !self.draft.is_growing(now))
            .then_some(Sign::Typing)
    }

    /// The search for a message that may be there.
    fn lost(&self, task: &TaskId) -> Option<Sign> {
        let after = self.lost_after.clone()?;
        Some(Sign::Find(Lost { stop: stop_button(task, self.language), after, others: Vec::new() }))
    }

    fn told(&mut self, progress: Progress, now: Instant) {
        self.told = Some(progress);
        self.told_at = Some(now);
    }
}

fn is_over(task: &TaskId, seen: &[Seen]) -> bool {
    !seen.iter().any(|seen| seen.task() == task)
}

/// What a task can be shown with: the channel, and what its model has written.
struct Shows<'a> {
    channel: &'a dyn Channel,
    said: Option<Said>,
}

impl Shows<'_> {
    /// The sign that a task needs now, if it needs one.
    fn due(&self, life: &Life, seen: &Seen, now: Instant, now_ms: i64) -> Option<Sign> {
        if life.is_refused || life.is_quiet(now) {
            return None;
        }
        if let Some(lost) = life.lost(seen.task()) {
            return Some(lost);
        }
        let is_after = |last: Option<Instant>, pause| last.is_none_or(|last| last + pause <= now);
        let elapsed = seen.elapsed(now_ms);
        // A message that is there is true from the beginning of what it tells. A new one would hide a draft.
        let may_begin = elapsed >= FIRST_PROGRESS && !life.draft.is_growing(now);
        let is_time = life.message_id.is_some() || may_begin;
        if is_time && is_after(life.told_at, BETWEEN_EDITS) {
            let progress = self.progress(life, seen, elapsed);
            match life.message_id.clone() {
                None => return Some(Sign::Progress(progress)),
                Some(_) if life.told.as_ref() == Some(&progress) => {
                    return self.draft(life, seen.task(), now);
                }
                Some(message_id) => return Some(Sign::Update { message_id, progress }),
            }
        }
        if let Some(draft) = self.draft(life, seen.task(), now) {
            return Some(draft);
        }
        life.typing(now)
    }

    fn draft(&self, life: &Life, task: &TaskId, now: Instant) -> Option<Sign> {
        let said = self.said.as_ref().filter(|_| self.channel.has_drafts(&life.chat_id))?;
        if !life.draft.is_due(said, now) {
            return None;
        }
        let text = self.channel.growing(&said.text, usize::MAX);
        (!text.text.is_empty()).then(|| Sign::Draft(Draft { task: task.clone(), text }))
    }

    /// What a progress message tells; without drafts, also what the model has written.
    fn progress(&self, life: &Life, seen: &Seen, elapsed: Duration) -> Progress {
        let progress = seen.progress(elapsed, life.language);
        match &self.said {
            Some(said) if life.draft.is_refused || !self.channel.has_drafts(&life.chat_id) => {
                with_words(progress, self.channel.growing(&said.text, MAX_UNITS_BESIDE_PROGRESS))
            }
            Some(_) | None => progress,
        }
    }
}

#[cfg(test)]
mod tests;
