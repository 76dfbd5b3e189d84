//! How many effects may be made: a model that goes in circles, or a tool server that was taken over, floods
//! no chat.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use toolkit::locked;

/// So many of a chat at once, and one more each second.
const OF_CHAT: f64 = 60.0;
/// So many of all chats at once, and ten more each second.
const OF_ALL: f64 = 600.0;
const PER_SECOND_OF_ALL: f64 = 10.0;
/// More chats than this are looked through for those that have been quiet.
const MANY_CHATS: usize = 1000;

#[derive(Debug, Clone, Default)]
pub(super) struct Rate(Arc<Mutex<Spent>>);

/// What was used lately.
#[derive(Debug, Default)]
struct Spent {
    all: Bucket,
    chats: HashMap<String, Bucket>,
}

/// Fills with each effect, and empties with time.
#[derive(Debug, Default)]
struct Bucket {
    used: f64,
    at: Option<Instant>,
}

impl Bucket {
    fn used(&self, now: Instant, per_second: f64) -> f64 {
        let since = self.at.map_or(0.0, |at| now.saturating_duration_since(at).as_secs_f64());
        (self.used - since * per_second).max(0.0)
    }

    fn add(&mut self, now: Instant, per_second: f64) {
        *self = Self { used: self.used(now, per_second) + 1.0, at: Some(now) };
    }
}

impl Rate {
    /// Counts an effect in a chat; false if there were too many.
    pub(super) fn admits(&self, chat: &str, now: Instant) -> bool {
        let mut spent = locked(&self.0);
        if spent.chats.len() > MANY_CHATS {
            spent.chats.retain(|_, bucket| bucket.used(now, 1.0) > 0.0);
        }
        let of_chat = spent.chats.get(chat).map_or(0.0, |bucket| bucket.used(now, 1.0));
        if of_chat + 1.0 > OF_CHAT || spent.all.used(now, PER_SECOND_OF_ALL) + 1.0 > OF_ALL {
            return false;
        }
        spent.all.add(now, PER_SECOND_OF_ALL);
        spent.chats.entry(chat.to_owned()).or_default().add(now, 1.0);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_chat_has_its_own_rate_and_all_have_one_together() {
        let (rate, now) = (Rate::default(), Instant::now());
        let admitted = |chat: &str, now| (0..1000).filter(|_| rate.admits(chat, now)).count();
        assert_eq!(admitted("a", now), 60);
        assert_eq!(admitted("b", now), 60);
        assert_eq!(admitted("a", now + Duration::from_secs(5)), 5);
        let rest: usize = (0..20).map(|chat| admitted(&chat.to_string(), now)).sum();
        assert!(rest < 540, "{rest}");
    }
}
