//! How long replies wait while Telegram is slow, refuses or fails for others, and whether any is lost.

use std::time::{Duration, Instant};

use harness::fake_telegram::Sent;
use harness::fake_telegram::update::{ADA, Chat, listed};
use harness::{FakeTelegram, Fault, System, wait};

use crate::report::Report;

const HOUR: Duration = Duration::from_secs(3600);

/// What Telegram takes of one chat: about one message a second.
const PACE: Duration = Duration::from_millis(1100);

pub(crate) fn run(report: &mut Report) {
    beside_faulty_chats(report);
    behind_strangers(report);
    through_an_outage(report);
}

fn beside_faulty_chats(report: &mut Report) {
    let telegram = FakeTelegram::start();
    let faults = [Fault::Drips(HOUR), Fault::ServerError, Fault::RetryAfter(HOUR.as_secs())];
    let faulty: Vec<i64> = (1..=3).collect();
    let healthy: Vec<i64> = (1001..=1010).collect();
    let system = system_for(&telegram, &[faulty.clone(), healthy.clone()].concat());
    for (chat, fault) in faulty.iter().zip(faults) {
        telegram.fail_chat(*chat, Some(fault));
        (0..5).for_each(|_| system.queue(*chat, "to a faulty chat"));
    }
    wait::until_true("every faulty chat was tried", || telegram.calls("sendMessage").len() >= faulty.len());
    let mut begun = Vec::new();
    for round in 0..30 {
        let started = Instant::now();
        for chat in &healthy {
            let text = format!("{round} to {chat}");
            begun.push((text.clone(), Instant::now()));
            system.queue(*chat, &text);
        }
        wait::out(PACE.saturating_sub(started.elapsed()));
    }
    let sent = telegram.wait_for_sent(begun.len());
    let arrival = |text: &str| sent.iter().find(|sent| sent.text == text).map(|sent| sent.at);
    let mut waits: Vec<Duration> =
        begun.iter().filter_map(|(text, at)| Some(arrival(text)?.saturating_duration_since(*at))).collect();
    waits.sort_unstable();
    report.exactly("Beside chats that drip, fail, or wait an hour: replies", waits.len(), begun.len());
    report.time("… their p99", waits[waits.len() * 99 / 100], Duration::from_secs(1));
}

fn behind_strangers(report: &mut Report) {
    let telegram = FakeTelegram::start();
    let _system = system_for(&telegram, &[ADA.id, 12]);
    for id in 1001..=1300 {
        telegram.push(Chat { id }.text("hello?"));
    }
    telegram.wait_for_sent(1);
    // The owner is also asked about the strangers; these questions have buttons.
    for (chat, row) in [
        (ADA, "300 strangers write: the owner's answer"),
        (Chat { id: 12 }, "… the answer in another chat that may use the bot"),
    ] {
        let begun = Instant::now();
        telegram.push(chat.text("ls path=."));
        let answer = wait::until("there is an answer", || {
            let is_answer = |sent: &Sent| sent.chat_id == chat.id && sent.text.contains("no output");
            telegram.sent().into_iter().find(is_answer)
        });
        report.time(row, answer.at.duration_since(begun), Duration::from_secs(2));
    }
}

fn through_an_outage(report: &mut Report) {
    let telegram = FakeTelegram::start();
    let chats = [11, 12, 13];
    let system = system_for(&telegram, &chats);
    for chat in chats {
        telegram.fail_chat(chat, Some(Fault::ServerError));
        telegram.push(Chat { id: chat }.text("ls path=."));
        (0..4).for_each(|_| system.queue(chat, "a reply"));
    }
    wait::out(Duration::from_secs(120));
    let tried = telegram.calls("sendMessage").len();
    let begun = Instant::now();
    chats.iter().for_each(|chat| telegram.fail_chat(*chat, None));
    let all =
        wait::within(Duration::from_secs(120), || Some(telegram.sent()).filter(|sent| sent.len() == 15));
    let sent = all.unwrap_or_else(|| telegram.sent());
    let dead = system.database().size("select count(*) from outbox where state = 'dead'");
    report.row("120 s of 500 for three chats: tries in that time", &tried.to_string(), "any", tried > 3);
    report.exactly("… replies that arrive", sent.len(), 15);
    report.exactly("… replies given up", dead, 0);
    report.time("… the last after the end of it", begun.elapsed(), Duration::from_secs(90));
}

fn system_for(telegram: &FakeTelegram, chats: &[i64]) -> System {
    System::builder().workers(4).telegram(telegram, &listed(chats.iter().copied())).start()
}
