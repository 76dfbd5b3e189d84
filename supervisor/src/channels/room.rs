//! Who may send at the same time: places for chats, some of which slow chats cannot take.
//!
//! A chat is *slow* while its message takes long, and after one that did or that failed, until one succeeds
//! quickly. Slow chats share few places, and chats that have not sent anything yet leave some to those that
//! are known to be quick. So neither many broken chats nor many new ones stop the others.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

/// All places.
const PLACES: usize = 64;
/// Places that chats take which are not known to be quick.
const FOR_UNPROVEN: usize = 48;
/// Places that chats take which are known to be slow.
const FOR_SLOW: usize = 24;
/// A message that takes longer makes its chat slow.
const QUICK: Duration = Duration::from_secs(2);
/// More names than this are not remembered.
const MAX_REMEMBERED: usize = 10_000;

/// The places, and the names of the chats.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// Since when each chat sends.
    taken: HashMap<String, Instant>,
    quick: HashSet<String>,
    slow: HashSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Quick,
    Unproven,
    Slow,
}

impl Room {
    pub(super) fn is_taken_by(&self, chat_id: &str) -> bool {
        self.taken.contains_key(chat_id)
    }

    pub(super) fn has_place_for(&self, chat_id: &str, now: Instant) -> bool {
        let kinds = self.taken.iter().map(|(chat, since)| self.kind(chat, *since, now));
        let (slow, unproven) = kinds.fold((0, 0), |(slow, unproven), kind| match kind {
            Kind::Quick => (slow, unproven),
            Kind::Unproven => (slow, unproven + 1),
            Kind::Slow => (slow + 1, unproven),
        });
        match self.kind(chat_id, now, now) {
            Kind::Quick => self.taken.len() < PLACES,
            Kind::Unproven => self.taken.len() < PLACES && slow + unproven < FOR_UNPROVEN,
            Kind::Slow => self.taken.len() < PLACES && slow < FOR_SLOW && slow + unproven < FOR_UNPROVEN,
        }
    }

    pub(super) fn enter(&mut self, chat_id: &str, now: Instant) {
        self.taken.insert(chat_id.to_owned(), now);
    }

    /// Frees the chat's place and remembers how it went.
    pub(super) fn leave(&mut self, chat_id: &str, is_sent: bool, now: Instant) {
        let Some(since) = self.taken.remove(chat_id) else { return };
        let (to, from) = if is_sent && now - since <= QUICK {
            (&mut self.quick, &mut self.slow)
        } else {
            (&mut self.slow, &mut self.quick)
        };
        from.remove(chat_id);
        if to.len() < MAX_REMEMBERED {
            to.insert(chat_id.to_owned());
        }
    }

    /// When the next chat that sends becomes slow, if any can.
    pub(super) fn changes_at(&self, now: Instant) -> Option<Instant> {
        let not_slow = self.taken.iter().filter(|(chat, since)| self.kind(chat, **since, now) != Kind::Slow);
        not_slow.map(|(_, since)| *since + QUICK).min()
    }

    fn kind(&self, chat_id: &str, since: Instant, now: Instant) -> Kind {
        if self.slow.contains(chat_id) || now >= since + QUICK {
            Kind::Slow
        } else if self.quick.contains(chat_id) {
            Kind::Quick
        } else {
            Kind::Unproven
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter_as_many_as_may(room: &mut Room, name: &str, now: Instant) -> usize {
        let enter = |number: &usize| {
            let chat = format!("{name}{number}");
            let may = room.has_place_for(&chat, now);
            if may {
                room.enter(&chat, now);
            }
            may
        };
        (0..100).take_while(enter).count()
    }

    #[test]
    fn new_chats_leave_places_to_quick_ones() {
        let (mut room, now) = (Room::default(), Instant::now());
        for chat in 0..100 {
            let chat = format!("quick{chat}");
            room.enter(&chat, now);
            room.leave(&chat, true, now + QUICK);
        }
        assert_eq!(enter_as_many_as_may(&mut room, "new", now), FOR_UNPROVEN);
        assert_eq!(enter_as_many_as_may(&mut room, "quick", now), PLACES - FOR_UNPROVEN);
    }

    #[test]
    fn slow_chats_leave_places_to_new_ones() {
        let (mut room, now) = (Room::default(), Instant::now());
        for (chat, is_sent, took) in [("slow", true, QUICK * 2), ("failing", false, Duration::ZERO)] {
            for number in 0..50 {
                let chat = format!("{chat}{number}");
                room.enter(&chat, now);
                room.leave(&chat, is_sent, now + took);
            }
        }
        assert_eq!(enter_as_many_as_may(&mut room, "slow", now), FOR_SLOW);
        assert_eq!(enter_as_many_as_may(&mut room, "failing", now), 0);
        assert_eq!(enter_as_many_as_may(&mut room, "new", now), FOR_UNPROVEN - FOR_SLOW);
        assert_eq!(room.changes_at(now), Some(now + QUICK));
    }

    #[test]
    fn a_chat_is_slow_while_its_message_takes_long_and_until_one_is_quick() {
        let (mut room, now) = (Room::default(), Instant::now());
        room.enter("1", now);
        assert_eq!(room.kind("1", now, now + QUICK / 2), Kind::Unproven);
        assert_eq!(room.kind("1", now, now + QUICK), Kind::Slow);
        room.leave("1", true, now + QUICK * 2);
        assert_eq!(room.kind("1", now, now), Kind::Slow);
        room.enter("1", now);
        room.leave("1", true, now);
        assert_eq!(room.kind("1", now, now), Kind::Quick);
    }
}
