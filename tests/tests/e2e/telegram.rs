//! Telegram from update to reply, over its own protocol.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use harness::fake_telegram::texts;
use harness::fake_telegram::update::{ADA, Chat, STRANGER, now_seconds};
use harness::{FakeTelegram, Fault, System, wait};

use crate::with_telegram;

#[test]
fn a_stranger_is_told_the_chat_id_once_an_hour_and_nothing_is_run_or_kept() {
    // An empty allowlist allows no one.
    for (allowed, stranger) in [("4711", STRANGER), ("", ADA)] {
        let telegram = FakeTelegram::start();
        let system = System::builder().telegram(&telegram, allowed).start();
        for _ in 0..3 {
            telegram.push(stranger.text("ls path=."));
            system.wait_for_rest(&telegram);
        }
        // What asks the owner is no answer.
        let sent: Vec<_> = telegram.sent().into_iter().filter(|sent| sent.markup.is_null()).collect();
        assert_eq!((sent.len(), sent[0].chat_id), (1, stranger.id), "{sent:?}");
        assert!(sent[0].text.contains(&stranger.id.to_string()), "{sent:?}");
        let database = system.database();
        assert!(!database.has_event("task.claimed") && !database.has_event("agent.started"));
        assert_eq!(database.count("select count(*) from inbox where text <> ''"), 0);
    }
}

#[test]
fn every_kind_of_update_is_accounted_for() {
    let (telegram, system) = with_telegram();
    telegram.push(ADA.unknown_kind());
    telegram.push(ADA.edited("ls path=edited"));
    telegram.push(ADA.photo());
    telegram.push(ADA.text("ls path=last"));
    wait::until_true("the last message is answered", || {
        telegram.sent().iter().any(|message| message.text.contains("last"))
    });
    system.wait_for_rest(&telegram);
    let sent = telegram.sent();
    assert!(sent.iter().any(|message| message.text.contains("photo")), "the photo is answered: {sent:?}");
}

#[test]
fn messages_older_than_the_pending_window_are_not_run_and_their_chat_is_told() {
    let telegram = FakeTelegram::start();
    telegram.push(ADA.text_at("ls path=old", now_seconds() - 3600));
    telegram.push(ADA.text_at("/cancel", now_seconds() - 3600));
    telegram.push(ADA.text_at("ls path=recent", now_seconds() - 10));
    let system = System::builder().telegram(&telegram, "4711").start();
    telegram.wait_for_sent(2);
    system.wait_for_rest(&telegram);
    assert_eq!(system.database().task_states(), ["skipped", "skipped", "done"]);
    let sent = telegram.sent();
    assert_eq!(sent.len(), 2, "{sent:?}");
    assert!(sent.iter().any(|message| message.text.contains("1 message ")), "{sent:?}");
    assert!(sent.iter().all(|message| !message.text.contains("path old")), "{sent:?}");
}

#[test]
fn of_many_pending_messages_the_newest_of_each_chat_are_run_and_retry_runs_the_next_one() {
    let telegram = FakeTelegram::start();
    let bob = Chat { id: 4712 };
    for number in 0..6 {
        telegram.push(ADA.text(&format!("ls path=pending-{number}")));
    }
    for number in 0..2 {
        telegram.push(bob.text(&format!("ls path=bobs-{number}")));
    }
    let builder = System::builder().telegram(&telegram, "4711,4712");
    let mut system = builder.variable("AUTONOUS_TG_PENDING_MAX_MESSAGES", "2").start();
    telegram.wait_for_sent(5);
    system.wait_for_rest(&telegram);
    let states = system.database().task_states();
    assert_eq!(states, [["skipped"; 4], ["done"; 4]].concat());
    let sent = telegram.sent();
    assert_eq!(sent.len(), 5, "{sent:?}");
    let told: Vec<i64> =
        sent.iter().filter(|message| message.text.contains("4 messages")).map(|told| told.chat_id).collect();
    assert_eq!(told, [ADA.id], "{sent:?}");

    // A chat gets one message, and a chat that lost nothing has nothing to retry.
    system.stop();
    system.restart();
    telegram.push(ADA.text("/retry"));
    telegram.push(bob.text("/retry"));
    telegram.wait_for_sent(8);
    system.wait_for_rest(&telegram);
    let sent = telegram.sent();
    let since: Vec<&str> = sent[5..].iter().map(|message| message.text.as_str()).collect();
    assert_eq!(since.len(), 3, "{since:?}");
    assert!(since.iter().any(|text| text.contains("Running this again: “ls path=pending-3”")), "{since:?}");
    assert!(since.iter().any(|text| text.contains("nothing to run again")), "{since:?}");
    assert_eq!(system.database().task_states()[..4], ["skipped", "skipped", "skipped", "done"]);
}

#[test]
fn a_repeated_update_is_ignored_and_one_that_comes_with_another_message_is_told_in_the_log() {
    let (telegram, system) = with_telegram();
    let id = telegram.push(ADA.text("ls path=first"));
    telegram.wait_for_sent(1);
    telegram.redeliver(id, ADA.text("ls path=first"));
    telegram.push(ADA.text("ls path=second"));
    assert!(telegram.wait_for_sent(2)[1].text.contains("second"));
    system.wait_for_rest(&telegram);
    assert_eq!(telegram.sent().len(), 2, "{:?}", texts(&telegram.sent()));
    assert!(!system.log().contains("came again with another message"), "{}", system.log_tail());
    telegram.redeliver(id, ADA.text("ls path=other"));
    wait::until_true("the log tells it", || {
        let log = system.log();
        log.lines().any(|line| line.contains("came again with another") && line.contains(&id.to_string()))
    });
}

#[test]
fn a_long_reply_is_split_at_line_ends() {
    let (telegram, system) = with_telegram();
    let names: Vec<String> =
        (0..120).map(|number| format!("{number:03}-😀-{}.txt", "n".repeat(80))).collect();
    names.iter().for_each(|name| fs::write(system.workspace().join(name), "x").unwrap());
    telegram.push(ADA.text("ls path=."));
    telegram.wait_for_sent(3);
    system.wait_for_rest(&telegram);
    let sent = telegram.sent();
    assert!(sent.iter().all(|message| message.text.encode_utf16().count() <= 4096));
    let whole = texts(&sent).join("\n");
    let listed: Vec<&str> = whole.lines().filter(|line| line.ends_with(".txt")).collect();
    assert_eq!(listed, names, "no line is lost, cut or moved");
}

#[test]
fn retry_after_is_honoured() {
    let telegram = FakeTelegram::start();
    telegram.fail("sendMessage", Fault::RetryAfter(2));
    let system = System::builder().telegram(&telegram, "4711").start();
    telegram.push(ADA.text("ls path=."));
    telegram.wait_for_sent(1);
    system.wait_for_rest(&telegram);
    let calls = telegram.calls("sendMessage");
    assert_eq!(calls.len(), 2);
    assert!(calls[1] - calls[0] >= Duration::from_secs(2), "{:?}", calls[1] - calls[0]);
}

#[test]
fn replies_survive_a_failing_server() {
    let telegram = FakeTelegram::start();
    telegram.fail("sendMessage", Fault::ServerError);
    telegram.fail("sendMessage", Fault::BadRequest);
    telegram.fail("getUpdates", Fault::Dropped);
    let system = System::builder().telegram(&telegram, "4711").start();
    telegram.push(ADA.text("ls path=first"));
    telegram.push(ADA.text("ls path=second"));
    let sent = telegram.wait_for_sent(2);
    system.wait_for_rest(&telegram);
    assert!(sent[0].text.contains("first") && sent[1].text.contains("second"), "{sent:?}");
    assert_eq!((telegram.sent().len(), telegram.faults_left()), (2, 0));
    assert_eq!(system.database().events_of("reply.sent"), 2);
}

/// Lets the next poll fail; the log must have an error without the token, and the system keeps working.
fn system_after_a_loud(fault: Fault, word: &str, telegram: &FakeTelegram) -> System {
    telegram.fail("getUpdates", fault);
    let system = System::builder().telegram(telegram, "4711").start();
    wait::until_true("the log has a loud error", || {
        system.log().lines().any(|line| line.contains("\"ERROR\"") && line.contains(word))
    });
    assert!(!system.log().contains(harness::fake_telegram::TOKEN), "the log shows the token");
    system.reply(&system.say("ls path=."));
    system
}

#[test]
fn a_wrong_token_is_logged_as_an_error() {
    let telegram = FakeTelegram::start();
    let _system = system_after_a_loud(Fault::Unauthorized, "AUTONOUS_TELEGRAM_TOKEN", &telegram);
}

#[test]
fn a_second_poller_is_logged_as_an_error_and_polling_goes_on() {
    let telegram = FakeTelegram::start();
    let _system = system_after_a_loud(Fault::Conflict, "409", &telegram);
    telegram.push(ADA.text("ls path=."));
    let is_answered = || !telegram.sent().is_empty();
    assert!(wait::is_true_within(Duration::from_secs(60), is_answered), "no poll follows");
}

#[test]
fn an_api_that_is_down_at_the_start_is_waited_for() {
    let free = harness::free_address();
    let system = System::builder().telegram_at(&format!("http://{free}"), "4711").start();
    system.reply(&system.say("ls path=."));
    let telegram = FakeTelegram::start_at(free);
    telegram.push(ADA.text("ls path=."));
    telegram.wait_for_sent(1);
}

#[test]
fn of_a_long_backlog_only_the_newest_run_however_many_batches_it_came_in() {
    let telegram = FakeTelegram::start();
    for number in 0..350 {
        telegram.push(ADA.text(&format!("ls path=missing-{number}")));
    }
    let system = System::builder()
        .telegram(&telegram, "4711")
        .variable("AUTONOUS_TG_PENDING_MAX_MESSAGES", "20")
        .variable("AUTONOUS_TG_PENDING_WINDOW_SECONDS", "86400")
        .start();
    wait::until_true("all have come", || system.database().count("select count(*) from inbox") == 350);
    let left = "select count(*) from inbox where state in ('queued', 'in_progress')";
    wait::until_true("what runs has run", || system.database().count(left) == 0);
    let ran = system.database().texts("select text from inbox where state = 'done' order by seq");
    let newest: Vec<String> = (330..350).map(|number| format!("ls path=missing-{number}")).collect();
    assert_eq!(ran, newest);
    wait::until_true("the chat is told", || {
        telegram.sent().iter().any(|sent| sent.text.contains("330 messages came that I did not run"))
    });
}

/// Answers every request with a response that does not end for a long time.
fn endless_telegram(megabytes: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                let _ = stream.read(&mut request);
                let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"ok\":true,";
                let _ = stream.write_all(head.as_bytes());
                for _ in 0..megabytes {
                    if stream.write_all(&[b' '; 1 << 20]).is_err() {
                        return;
                    }
                }
                let _ = stream.write_all(b"\"result\":[]}");
            });
        }
    });
    format!("http://{address}")
}

#[test]
fn what_telegrams_address_answers_takes_bounded_memory() {
    let url = endless_telegram(60);
    let system = System::builder().telegram_at(&url, "4711").start();
    let refused = "the response has more than 8 MiB";
    wait::until_true("several are refused", || system.log().matches(refused).count() >= 3);
    let peak_kb = system.supervisor().peak_kb();
    assert!(peak_kb < 80 * 1024, "the supervisor took {peak_kb} kB");
}
