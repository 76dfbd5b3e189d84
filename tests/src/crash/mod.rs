//! The plug is pulled again and again, at random moments, under load; and afterwards everything is counted.
//!
//! Chats write over Telegram's protocol, which hands an update out again until it is confirmed. A fake
//! model makes one tool call with an effect for each message: a line in a file, so that an effect without a
//! record, a record without an effect and an effect that came twice can all be seen. Now and then the
//! supervisor is stopped in the middle and its database files are copied, as a backup of a running machine
//! or a power loss would find them.
//!
//! What is random comes from one seed. The moments do not: they hang on what the machine does meanwhile.

mod chats;
mod copy;
mod inspection;
mod kills;
mod model;
mod report;

use std::time::Duration;

use crate::{FakeModel, FakeTelegram, Random, System, wait};

use chats::Chats;
use inspection::Inspection;
pub use report::Report;

/// How long the last replies may take after the last kill.
const PATIENCE: Duration = Duration::from_secs(180);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrashTest {
    pub rounds: usize,
    pub chats: usize,
    pub copies: usize,
    pub seed: u64,
}

impl CrashTest {
    /// Goes through all rounds, lets the system come to rest, stops it, and looks at what is left.
    pub fn run(self, mut told: impl FnMut(usize)) -> Report {
        let mut random = Random::new(self.seed);
        let telegram = FakeTelegram::start();
        let model = FakeModel::start(model::note_down);
        let mut chats = Chats::new(self.chats, random.number());
        let mut system = started(&telegram, &model, &chats);
        let mut copies = copy::Copies::default();
        let mut kills = kills::Kills::default();
        for round in 0..self.rounds {
            chats.write(&telegram, &mut random);
            if (round + 1) * self.copies / self.rounds > round * self.copies / self.rounds {
                kills::random_moment(&telegram, &mut random);
                copies.take(&system, &telegram, &mut random);
            }
            kills::random_moment(&telegram, &mut random);
            kills.kill_one(&mut system, &mut random);
            model.forget_requests();
            told(round + 1);
        }
        system.wait_until_ready();
        let is_answered = wait::within(PATIENCE, || chats.are_answered(&telegram).then_some(())).is_some();
        system.stop();
        let (system, telegram, chats, kills, copies) = (&system, &telegram, &chats, &kills, &copies);
        Inspection { system, telegram, chats, kills, copies, is_answered }.report()
    }
}

/// A system that never gives a message up: here each one is answered in the end, however often it is hit.
fn started(telegram: &FakeTelegram, model: &FakeModel, chats: &Chats) -> System {
    System::builder()
        .telegram(telegram, &chats.ids())
        .model(model)
        .variable("AUTONOUS_TASK_MAX_ATTEMPTS", "100")
        .variable("AUTONOUS_TASK_RETRY_BASE_MS", "1")
        .variable("AUTONOUS_TG_PENDING_MAX_MESSAGES", "10000")
        .start()
}
