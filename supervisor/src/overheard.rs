//! What people wrote in a group before somebody spoke to the bot, for groups that have allowed it. It is in
//! memory alone, bounded, and gone with the process.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use channel::Chat;
use protocol::{MessageId, Overheard as Line, TaskId};
use toolkit::locked;

/// The messages of a group that are kept: the newest.
pub(crate) const MOST_MESSAGES: usize = 20;
/// More of a message is left out.
const MAX_CHARS: usize = 1000;
/// The groups that are kept, and the tasks: the newest.
const MOST_GROUPS: usize = 200;
const MOST_TASKS: usize = 200;

/// Clones share their state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overheard(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// With the messages' numbers, so that one that is delivered again is there once.
    groups: HashMap<Chat, VecDeque<(Option<MessageId>, Line)>>,
    /// The groups, longest silent first.
    silent: VecDeque<Chat>,
    tasks: VecDeque<(TaskId, Vec<Line>)>,
}

impl Overheard {
    /// Keeps a message.
    pub(crate) fn note(&self, chat: &Chat, message_id: Option<&MessageId>, from: &str, text: &str) {
        let mut state = self.lock();
        state.silent.retain(|known| known != chat);
        state.silent.push_back(chat.clone());
        if state.silent.len() > MOST_GROUPS
            && let Some(oldest) = state.silent.pop_front()
        {
            state.groups.remove(&oldest);
        }
        let said = state.groups.entry(chat.clone()).or_default();
        if message_id.is_some() && said.iter().any(|(known, _)| known.as_ref() == message_id) {
            return;
        }
        let line = Line { from: from.to_owned(), text: text.chars().take(MAX_CHARS).collect() };
        said.push_back((message_id.cloned(), line));
        if said.len() > MOST_MESSAGES {
            said.pop_front();
        }
    }

    /// Whether something is kept of a chat.
    pub(crate) fn has(&self, chat: &Chat) -> bool {
        self.lock().groups.get(chat).is_some_and(|said| !said.is_empty())
    }

    /// Gives what is kept of a chat to a task. A later task gets only what is written after this.
    pub(crate) fn give(&self, chat: &Chat, task: &TaskId) {
        let mut state = self.lock();
        let said = state.groups.remove(chat).unwrap_or_default();
        state.tasks.push_back((task.clone(), said.into_iter().map(|(_, line)| line).collect()));
        if state.tasks.len() > MOST_TASKS {
            state.tasks.pop_front();
        }
    }

    /// What a task was given.
    pub(crate) fn of(&self, task: &TaskId) -> Vec<Line> {
        let state = self.lock();
        state.tasks.iter().find(|(known, _)| known == task).map(|(_, said)| said.clone()).unwrap_or_default()
    }

    /// Forgets what was written in a chat.
    pub(crate) fn forget(&self, chat: &Chat) {
        let mut state = self.lock();
        state.groups.remove(chat);
        state.silent.retain(|known| known != chat);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        locked(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use channel::ChannelName;

    use super::*;

    #[test]
    fn the_newest_messages_are_kept_once_and_given_once() {
        let overheard = Overheard::default();
        let group = |number: usize| Chat::new(ChannelName::new("test"), number.to_string());
        for number in 0..30_i64 {
            for _ in 0..2 {
                let text = format!("{number}{}", "x".repeat(2000));
                overheard.note(&group(1), Some(&number.into()), "Ada", &text);
            }
        }
        let (first, second) = (TaskId::new(), TaskId::new());
        overheard.give(&group(1), &first);
        assert!(!overheard.has(&group(1)));
        overheard.give(&group(1), &second);
        let said = overheard.of(&first);
        assert_eq!((said.len(), overheard.of(&second)), (MOST_MESSAGES, Vec::new()));
        assert!(said[0].text.starts_with("10x") && said[0].text.chars().count() == MAX_CHARS);

        for number in 0..300 {
            overheard.note(&group(number), None, "Ada", "hello");
            overheard.give(&group(1000), &TaskId::new());
        }
        let state = overheard.lock();
        assert_eq!((state.groups.len(), state.tasks.len()), (MOST_GROUPS, MOST_TASKS));
    }
}
