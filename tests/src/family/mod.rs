//! A family of six who use one bot for three weeks, each in their own way, in a chat of their own and in the
//! group of all. Meanwhile processes are killed and the network breaks. In the end, everything must have been
//! answered once and in order, and no chat may have waited without a sign.
//!
//! A day takes some ten seconds: only the pauses between messages are shorter than a family's. All random
//! choices come from one seed; the exact moments depend on the machine.

mod habits;
mod inspection;
mod ledger;
mod model;
mod person;
mod silence;
mod timeline;
mod trouble;

use std::thread;
use std::time::{Duration, Instant};

use crate::fake_telegram::update::listed;
use crate::report::Report;
use crate::{FakeModel, FakeTelegram, Random, System, wait};

use inspection::Inspection;
use ledger::Ledger;
use person::{GROUP, Member, Person};
use trouble::Troubles;

const MEMBERS: [Member; 6] = [
    Member { id: 6001, name: "Ada", language: "en" },
    Member { id: 6002, name: "Boris", language: "ru" },
    Member { id: 6003, name: "Chen", language: "zh-hans" },
    Member { id: 6004, name: "Dora", language: "de" },
    Member { id: 6005, name: "Emilio", language: "es" },
    Member { id: 6006, name: "Fernanda", language: "pt-br" },
];

const RULES: &str = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\nreason = \"it writes\"\n";

/// How long the last answers may take.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamilyTest {
    pub days: usize,
    pub seed: u64,
}

impl FamilyTest {
    pub fn run(self, progress: impl Fn(usize) + Sync) -> Report {
        let mut random = Random::new(self.seed);
        let (telegram, model) = (FakeTelegram::start(), FakeModel::start(model::reply));
        let ids: Vec<i64> = MEMBERS.iter().map(|member| member.id).collect();
        telegram.administer(GROUP.id, &ids);
        let mut system = started(&telegram, &model);
        let (ledger, begun) = (Ledger::default(), Instant::now());
        let mut troubles = Troubles::default();
        thread::scope(|scope| {
            let living = MEMBERS.iter().enumerate().map(|(number, member)| {
                let random = Random::new(random.number());
                let mut person = Person { member: *member, random, telegram: &telegram, ledger: &ledger };
                let progress = &progress;
                scope.spawn(move || {
                    for day in 1..=self.days {
                        habits::day(&mut person, number);
                        if number == 0 {
                            progress(day);
                        }
                    }
                })
            });
            let living: Vec<_> = living.collect();
            while living.iter().any(|person| !person.is_finished()) {
                troubles.make_one(&mut system, &telegram, &mut random);
                model.forget_requests();
            }
        });
        wait::is_true_within(PATIENCE, || ledger.open(&telegram, None).is_empty());
        system.wait_until_all_is_sent();
        let is_quiet = || MEMBERS.iter().all(|member| telegram.visible_progress(member.id).is_empty());
        wait::is_true_within(wait::SOON, is_quiet);
        let (system, telegram, ledger, troubles) = (&system, &telegram, &ledger, &troubles);
        let inspection = Inspection { system, telegram, ledger, troubles, begun };
        if let Some(path) = std::env::var_os("TIMELINE") {
            std::fs::write(path, timeline::of(&inspection)).expect("the file can be written");
        }
        inspection.report()
    }
}

/// With the settings that people have, and fewer workers than people.
fn started(telegram: &FakeTelegram, model: &FakeModel) -> System {
    let ids = MEMBERS.iter().map(|member| member.id).chain([GROUP.id]);
    System::builder()
        .policy(RULES)
        .workers(3)
        .telegram(telegram, &listed(ids))
        .model(model)
        .variable("AUTONOUS_TELEGRAM_GATHER_MS", "1200")
        .variable("AUTONOUS_TELEGRAM_REACTIONS", "private")
        .variable("AUTONOUS_TRANSCRIBE", "sed -e s/x/x/")
        .variable("AUTONOUS_TASK_MAX_ATTEMPTS", "100")
        .start()
}
