//! Whether a channel's service can be reached: it is counted how often it answers again after it did not, so
//! that what waits because of the network goes at once.

use tokio::sync::watch;

/// So many calls in a row without an answer are a break of the network. A single one may be about that call.
const A_BREAK: u32 = 2;

/// What is known of the way to a service; all that call it share one.
#[derive(Debug, Default)]
pub struct Reach {
    /// Calls in a row that had no answer.
    unanswered: watch::Sender<u32>,
    breaks: watch::Sender<u64>,
}

impl Reach {
    /// Notes a call that had no answer.
    pub fn failed(&self) {
        self.unanswered.send_modify(|calls| *calls = calls.saturating_add(1));
    }

    /// Notes a call that was answered, whatever the answer says.
    pub fn answered(&self) {
        if self.unanswered.send_replace(0) >= A_BREAK {
            self.breaks.send_modify(|breaks| *breaks += 1);
        }
    }

    /// Whether the last call was answered.
    pub fn is_answering(&self) -> bool {
        *self.unanswered.borrow() == 0
    }

    /// Resolves while there is a break.
    pub async fn broken(&self) {
        let mut unanswered = self.unanswered.subscribe();
        let is_broken = unanswered.wait_for(|calls| *calls >= A_BREAK).await.is_ok();
        if !is_broken {
            // Its sender is in `self`.
            std::future::pending().await
        }
    }

    /// How many breaks are over.
    pub fn breaks(&self) -> u64 {
        *self.breaks.borrow()
    }

    /// Resolves with how many breaks are over, once that is more than `seen`.
    pub async fn again(&self, seen: u64) -> u64 {
        let mut breaks = self.breaks.subscribe();
        let over = breaks.wait_for(|breaks| *breaks > seen).await.map(|breaks| *breaks);
        match over {
            Ok(breaks) => breaks,
            // Its sender is in `self`.
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_ends_a_break_and_a_single_call_without_one_is_none() {
        let reach = Reach::default();
        for (calls, expected) in [("-+", 0), ("--+", 1), ("+++", 1), ("-+-+-+", 1), ("-----+", 2)] {
            for call in calls.chars() {
                match call {
                    '-' => reach.failed(),
                    _ => reach.answered(),
                }
            }
            assert_eq!(reach.breaks(), expected, "{calls}");
        }
    }
}
