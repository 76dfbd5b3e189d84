//! Shows on each message how far its task is, where the channel has signs for that. Nothing depends on one,
//! and none is in the way of a reply: it begins only where the channel's limits leave room.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use channel::Channel;
use channel::sign::{Shown, Stage};
use protocol::TaskId;
use store::stages::{self, Staged};
use store::{Store, StoreError};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::pace::SharedPace;

/// The least time between two looks at the tasks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);
/// How often they are looked at while one has not ended.
const TICK: Duration = Duration::from_millis(500);
/// Calls under way at once, in all chats.
const MOST_AT_ONCE: usize = 8;

/// Shows stages until `stop`, in a channel that has them.
pub(crate) async fn show(channel: Arc<dyn Channel>, store: Store, pace: SharedPace, stop: CancellationToken) {
    let mut changes = store.changes();
    let mut reactions = Reactions {
        channel,
        store,
        pace,
        shown: HashMap::new(),
        busy: HashSet::new(),
        under_way: JoinSet::new(),
        muted_until: None,
    };
    while !stop.is_cancelled() {
        changes.mark_unchanged();
        if let Err(error) = reactions.look().await {
            tracing::warn!(%error, "could not read how far the tasks are");
        }
        let tick = if reactions.shown.is_empty() { Duration::MAX } else { TICK };
        tokio::select! {
            () = stop.cancelled() => break,
            () = async { tokio::time::sleep(BETWEEN_LOOKS).await; let _ = changes.changed().await; } => {}
            () = tokio::time::sleep(tick) => {}
            Some(ended) = reactions.under_way.join_next() => reactions.ended(ended),
        }
    }
}

struct Reactions {
    channel: Arc<dyn Channel>,
    store: Store,
    pace: SharedPace,
    /// What is seen of the tasks that have not ended, or whose end is not seen yet.
    shown: HashMap<TaskId, Stage>,
    /// The tasks with a call under way.
    busy: HashSet<TaskId>,
    under_way: JoinSet<(Staged, Shown)>,
    /// No call is wanted before.
    muted_until: Option<Instant>,
}

impl Reactions {
    async fn look(&mut self) -> Result<(), StoreError> {
        let now = Instant::now();
        if self.muted_until.is_some_and(|until| now < until) {
            return Ok(());
        }
        let known: Vec<TaskId> = self.shown.keys().cloned().collect();
        let name = self.channel.name();
        let read =
            self.store.write(move |tx| stages::of_channel(tx, &name, &known.iter().collect::<Vec<_>>()));
        for staged in read.await? {
            let is_new = self.shown.get(&staged.task) != Some(&staged.stage);
            if is_new && self.is_wanted_in(&staged.chat_id) && !self.busy.contains(&staged.task) {
                self.begin(staged, now);
            }
        }
        Ok(())
    }

    fn is_wanted_in(&self, chat_id: &str) -> bool {
        self.channel.reactions() == settings::choices::Reactions::All
            || !self.channel.access().is_group(chat_id)
    }

    fn begin(&mut self, staged: Staged, now: Instant) {
        let mut pace = self.pace.lock();
        if !pace.has_room_aside(now) || self.under_way.len() >= MOST_AT_ONCE {
            return;
        }
        pace.begin_aside(now);
        self.busy.insert(staged.task.clone());
        let channel = Arc::clone(&self.channel);
        self.under_way.spawn(async move {
            let shown = channel.show_stage(&staged.chat_id, &staged.message_id, staged.stage).await;
            (staged, shown)
        });
    }

    fn ended(&mut self, ended: Result<(Staged, Shown), tokio::task::JoinError>) {
        // A task that panicked has ended the program.
        let Ok((Staged { task, stage, .. }, shown)) = ended else { return };
        self.busy.remove(&task);
        match shown {
            Shown::Later { pause } | Shown::Unanswered { pause, .. } => {
                self.muted_until = Some(Instant::now() + pause);
                self.shown.entry(task).or_insert(Stage::Unseen);
            }
            Shown::Yes { .. } | Shown::Never => match stage {
                Stage::Unseen | Stage::Seen | Stage::Working => drop(self.shown.insert(task, stage)),
                Stage::Done | Stage::Ended => drop(self.shown.remove(&task)),
            },
        }
    }
}
