//! When a channel may send the next message: overall, and in each chat. It only counts; nothing waits here.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use channel::{Audience, SendLimits};
use tokio::time::Instant;
use toolkit::locked;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
/// Messages leave as evenly as they are begun, but arrive less so.
const LEEWAY: Duration = Duration::from_millis(50);

/// The pace of a channel, kept by all that send to it.
#[derive(Debug, Clone)]
pub(crate) struct SharedPace(Arc<Mutex<Pace>>);

impl SharedPace {
    pub(crate) fn new(limits: SendLimits) -> Self {
        Self(Arc::new(Mutex::new(Pace::new(limits))))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Pace> {
        locked(&self.0)
    }
}

/// What was begun lately.
#[derive(Debug)]
pub(super) struct Pace {
    limits: SendLimits,
    /// In the last second, oldest first.
    begun: VecDeque<Instant>,
    chats: HashMap<String, InChat>,
}

/// What was begun in a chat.
#[derive(Debug, Default)]
struct InChat {
    /// In the last minute, oldest first, signs of life among them.
    begun: VecDeque<Instant>,
    last_message: Option<Instant>,
}

impl Pace {
    pub(super) fn new(limits: SendLimits) -> Self {
        Self { limits, begun: VecDeque::new(), chats: HashMap::new() }
    }

    /// When the next message to this chat may begin; in the past if it may now.
    pub(super) fn ready_at(&self, chat_id: &str, audience: Audience) -> Option<Instant> {
        let most = match audience {
            Audience::Person | Audience::Group => self.limits.per_second,
            // A third stays free for the chats that the bot works for.
            Audience::Stranger => self.limits.per_second / 3 * 2,
        };
        let overall = full_until(&self.begun, most, SECOND);
        let Some(chat) = self.chats.get(chat_id) else { return overall };
        // One that follows a sign closely is a short burst, which Telegram takes.
        let in_chat = chat.last_message.map(|last| last + self.limits.pause_in_chat);
        let in_group = match audience {
            Audience::Group => full_until(&chat.begun, self.limits.per_minute_in_group, MINUTE),
            Audience::Person | Audience::Stranger => None,
        };
        overall.max(in_chat).max(in_group)
    }

    /// Whether the next message to this chat waits for its turn, longer than one does behind another.
    pub(super) fn is_full(&self, chat_id: &str, audience: Audience, now: Instant) -> bool {
        self.ready_at(chat_id, audience).is_some_and(|ready| ready > now + self.limits.pause_in_chat)
    }

    /// Whether there is room now for what has no urgency. Two thirds of all, and half of what a group may
    /// get in a minute, stay free for messages.
    pub(super) fn has_room_beside_messages(&self, chat_id: &str, audience: Audience, now: Instant) -> bool {
        let is_free_in_chat = self.chats.get(chat_id).is_none_or(|chat| {
            chat.begun.back().is_none_or(|last| *last + self.limits.pause_in_chat <= now)
                && (audience != Audience::Group
                    || since(&chat.begun, MINUTE, now) < self.limits.per_minute_in_group / 2)
        });
        is_free_in_chat && self.has_room_aside(now)
    }

    /// Whether there is room now for a call that is no message in its chat.
    pub(super) fn has_room_aside(&self, now: Instant) -> bool {
        since(&self.begun, SECOND, now) < self.limits.per_second / 3
    }

    /// Counts a call that is no message in its chat.
    pub(super) fn begin_aside(&mut self, now: Instant) {
        while self.begun.front().is_some_and(|first| *first + SECOND + LEEWAY <= now) {
            self.begun.pop_front();
        }
        self.begun.push_back(now);
    }

    /// Counts a message that begins.
    pub(super) fn begin(&mut self, chat_id: &str, now: Instant) {
        self.begin_sign(chat_id, now);
        if let Some(chat) = self.chats.get_mut(chat_id) {
            chat.last_message = Some(now);
        }
    }

    /// Counts a sign of life that is a message in its chat, or an edit of one. No message waits for it.
    pub(super) fn begin_sign(&mut self, chat_id: &str, now: Instant) {
        self.begin_aside(now);
        self.chats.retain(|_, chat| chat.begun.back().is_some_and(|last| *last + MINUTE + LEEWAY > now));
        let chat = self.chats.entry(chat_id.to_owned()).or_default();
        while chat.begun.front().is_some_and(|first| *first + MINUTE + LEEWAY <= now) {
            chat.begun.pop_front();
        }
        chat.begun.push_back(now);
    }
}

/// How many of these began within the last `span`.
fn since(begun: &VecDeque<Instant>, span: Duration, now: Instant) -> usize {
    begun.iter().rev().take_while(|begun| **begun + span + LEEWAY > now).count()
}

/// When fewer than `most` of these will have begun within the last `span`.
fn full_until(begun: &VecDeque<Instant>, most: usize, span: Duration) -> Option<Instant> {
    let decisive = begun.len().checked_sub(most)?;
    begun.get(decisive).map(|begun| *begun + span + LEEWAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SendLimits = SendLimits { per_second: 30, pause_in_chat: SECOND, per_minute_in_group: 20 };

    /// Begins everything as soon as it may, and returns when each began, after the first.
    fn begin_all(chats: impl Iterator<Item = String>, audience: Audience) -> Vec<Duration> {
        let (mut pace, first) = (Pace::new(LIMITS), Instant::now());
        let mut now = first;
        let begin = |chat: String| {
            now = pace.ready_at(&chat, audience).map_or(now, |ready| ready.max(now));
            pace.begin(&chat, now);
            now - first
        };
        chats.map(begin).collect()
    }

    #[test]
    fn no_second_sees_more_than_thirty_and_none_more_than_twenty_to_strangers() {
        for (audience, most) in [(Audience::Person, 30), (Audience::Stranger, 20)] {
            let begun = begin_all((0..300).map(|chat| chat.to_string()), audience);
            assert!(begun.windows(most + 1).all(|some| some[most] - some[0] > SECOND), "{audience:?}");
            let last = *begun.last().unwrap();
            assert!(last < Duration::from_secs(300 / most as u64 + 1), "{audience:?}: {last:?}");
        }
    }

    #[test]
    fn a_chat_gets_one_message_a_second_and_a_group_twenty_a_minute() {
        for (audience, in_a_minute) in [(Audience::Person, 61), (Audience::Group, 20)] {
            let begun = begin_all((0..70).map(|_| "1".to_owned()), audience);
            assert!(begun.windows(2).all(|two| two[1] - two[0] >= SECOND), "{audience:?}");
            assert!(begun[in_a_minute] > MINUTE, "{audience:?}: {begun:?}");
        }
    }

    #[test]
    fn what_nobody_waits_for_leaves_room_for_messages() {
        let (mut pace, first) = (Pace::new(LIMITS), Instant::now());
        let at = |seconds: u64| first + Duration::from_secs(seconds);
        let mut shown_in = |chat: &str, audience| {
            let mut shown = 0;
            for now in (0..60).map(at) {
                if pace.has_room_beside_messages(chat, audience, now) {
                    pace.begin(chat, now);
                    assert!(!pace.has_room_beside_messages(chat, audience, now), "one a second");
                    shown += 1;
                }
            }
            shown
        };
        assert_eq!(shown_in("1", Audience::Person), 60);
        assert_eq!(shown_in("-1", Audience::Group), 10);
        let later = at(600);
        let shown = (0..30).filter(|chat| {
            let has_room = pace.has_room_beside_messages(&chat.to_string(), Audience::Person, later);
            if has_room {
                pace.begin(&chat.to_string(), later);
            }
            has_room
        });
        assert_eq!(shown.count(), 10);
        assert!(pace.ready_at("new", Audience::Person).is_none_or(|ready| ready <= later));
    }

    #[test]
    fn no_message_waits_for_a_sign_and_each_sign_waits_for_what_was_before() {
        for audience in [Audience::Person, Audience::Group] {
            let (mut pace, now) = (Pace::new(LIMITS), Instant::now());
            pace.begin_sign("1", now);
            assert_eq!(pace.ready_at("1", audience), None);
            assert!(!pace.has_room_beside_messages("1", audience, now + SECOND / 2));
            pace.begin("1", now + SECOND / 2);
            assert_eq!(pace.ready_at("1", audience), Some(now + SECOND / 2 + SECOND));
            assert!(!pace.has_room_beside_messages("1", audience, now + SECOND));
        }
    }

    #[test]
    fn a_chat_that_waits_delays_no_other_and_is_forgotten_after_a_minute() {
        let (mut pace, now) = (Pace::new(LIMITS), Instant::now());
        pace.begin("1", now);
        assert_eq!(pace.ready_at("1", Audience::Person), Some(now + SECOND));
        assert_eq!(pace.ready_at("2", Audience::Person), None);
        pace.begin("2", now + MINUTE + SECOND);
        assert_eq!(pace.chats.len(), 1);
    }
}
