//! How soon a chat sees that its message has come, and whether a flood of updates is stored.

use std::time::{Duration, Instant};

use harness::fake_telegram::update::{Chat, listed};
use harness::{FakeTelegram, System, wait};

use crate::report::Report;

/// Chats that write one after the other.
const WRITERS: i64 = 60;
/// From one of their messages to the next. Signs take at most a third of the thirty calls a second that
/// Telegram takes of a bot, and a message has about four.
const BETWEEN: Duration = Duration::from_millis(700);

const FLOODED: i64 = 50;
const SECONDS: u32 = 10;
const A_SECOND: u32 = 500;

pub(crate) fn run(report: &mut Report) {
    first_sign(report);
    flood(report);
}

/// Typing, a reaction or an answer, whichever comes first.
fn first_sign(report: &mut Report) {
    let (telegram, chats) = (FakeTelegram::start(), 2001..2001 + WRITERS);
    let _system = system_for(&telegram, chats.clone());
    let mut begun = Vec::new();
    for chat in chats {
        let now = Instant::now();
        telegram.push(Chat { id: chat }.text("ls path=."));
        begun.push((chat, now));
        wait::out(BETWEEN);
    }
    let signs = |chat: i64| {
        let sent = telegram.sent().into_iter().filter(|sent| sent.chat_id == chat).map(|sent| sent.at);
        telegram.typing(chat).into_iter().chain(sent).min()
    };
    wait::until_true("each chat sees something", || begun.iter().all(|(chat, _)| signs(*chat).is_some()));
    let mut waits: Vec<Duration> =
        begun.iter().filter_map(|(chat, at)| Some(signs(*chat)?.duration_since(*at))).collect();
    waits.sort_unstable();
    report.time(
        "A message to the first visible sign, p50",
        waits[waits.len() / 2],
        Duration::from_millis(300),
    );
    report.time("… p99", waits[waits.len() * 99 / 100], Duration::from_millis(300));
}

fn flood(report: &mut Report) {
    let (telegram, chats) = (FakeTelegram::start(), 3001..3001 + FLOODED);
    let system = system_for(&telegram, chats.clone());
    let before = system.supervisor().peak_kb();
    let (started, tick) = (Instant::now(), Duration::from_secs(1) / A_SECOND);
    for (number, chat) in (0..SECONDS * A_SECOND).zip(chats.cycle()) {
        telegram.push(Chat { id: chat }.text(&format!("message {number}")));
        wait::out((tick * number).saturating_sub(started.elapsed()));
    }
    let sent = usize::try_from(SECONDS * A_SECOND).unwrap_or(usize::MAX);
    let stored = || system.database().size("select count(*) from inbox");
    let all =
        wait::is_true_within(Duration::from_secs(30), || stored() >= 5000 && telegram.unconfirmed() == 0);
    let took = started.elapsed();
    report.exactly("500 updates a second for 10 s into 50 chats: stored", stored(), sent);
    report.row("… all confirmed", &format!("{all:?}"), "true", all);
    report.time("… the last is stored after", took, Duration::from_secs(12));
    let more = system.supervisor().peak_kb().saturating_sub(before) / 1024;
    report.row("… memory that it took", &format!("{more} MiB"), "at most 50 MiB", more <= 50);
}

/// With the settings that people have.
fn system_for(telegram: &FakeTelegram, chats: std::ops::Range<i64>) -> System {
    let builder = System::builder().workers(4).telegram(telegram, &listed(chats));
    let builder = builder.variable("AUTONOUS_TELEGRAM_GATHER_MS", "1200");
    builder.variable("AUTONOUS_TELEGRAM_REACTIONS", "private").start()
}
