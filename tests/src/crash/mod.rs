//! Kills processes at random moments under load, then checks that nothing was lost or duplicated.
//!
//! Chats write over Telegram's protocol, which delivers an update again until it is confirmed. For each
//! message, a fake model makes one tool call that appends a line to a file, so the test sees effects without
//! a record, records without an effect, and duplicate effects. A quarter of the calls send a file to the chat
//! instead, which the supervisor queues for the tool server. Now and then the supervisor is stopped and its
//! database files are copied, as a backup or a power cut would find them. Half of the calls wait for a
//! person, who presses a button of each question once. In half of the chats, what is said while a task runs
//! is added to it. A fifth of the messages are albums of two or three photos.
//!
//! All random choices come from one seed; the exact moments depend on the machine.

mod chats;
mod copy;
mod decider;
mod inspection;
mod kills;
mod model;

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::report::Report;
use crate::{FakeModel, FakeTelegram, Random, System, wait};

use chats::Chats;
use inspection::Inspection;

/// How long the last replies may take.
const PATIENCE: Duration = Duration::from_secs(180);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrashTest {
    pub rounds: usize,
    pub chats: usize,
    pub workers: usize,
    pub copies: usize,
    pub seed: u64,
}

impl CrashTest {
    /// Runs all rounds, waits for the last replies, stops the system, and inspects the rest.
    pub fn run(self, mut progress: impl FnMut(usize)) -> Report {
        let mut random = Random::new(self.seed);
        let telegram = FakeTelegram::start();
        let model = FakeModel::start(model::note_down);
        let mut chats = Chats::new(self.chats, random.number());
        let mut system = started(&telegram, &model, &chats, self.workers);
        for file in [model::ASKED_FILE, model::FREE_FILE] {
            fs::write(system.workspace().join(file), "to be sent\n")
                .expect("the workspace can be written to");
        }
        let mut copies = copy::Copies::default();
        let mut kills = kills::Kills::default();
        let done = AtomicBool::new(false);
        let is_answered = thread::scope(|scope| {
            scope.spawn(|| decider::decide_all(&telegram, &done));
            let _done = Done(&done);
            for round in 0..self.rounds {
                chats.write(&telegram, &mut random);
                if (round + 1) * self.copies / self.rounds > round * self.copies / self.rounds {
                    kills::random_moment(&telegram, &mut random);
                    copies.take(&system, &telegram, &mut random);
                }
                kills::random_moment(&telegram, &mut random);
                kills.kill_one(&mut system, &mut random);
                model.forget_requests();
                progress(round + 1);
            }
            system.wait_until_ready();
            wait::is_true_within(PATIENCE, || chats.are_answered(&telegram))
        });
        system.stop();
        let (system, telegram, chats, kills, copies) = (&system, &telegram, &chats, &kills, &copies);
        Inspection { system, telegram, chats, kills, copies, is_answered }.report()
    }
}

/// Ends the decider, also when a check has failed.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A system that never gives up a task, however often it is interrupted.
fn started(telegram: &FakeTelegram, model: &FakeModel, chats: &Chats, workers: usize) -> System {
    System::builder()
        .policy(decider::RULES)
        .workers(workers)
        .telegram(telegram, &chats.ids())
        .model(model)
        .variable("AUTONOUS_TASK_MAX_ATTEMPTS", "100")
        .variable("AUTONOUS_TASK_RETRY_BASE_MS", "1")
        .variable("AUTONOUS_TG_PENDING_MAX_MESSAGES", "10000")
        .start()
}
