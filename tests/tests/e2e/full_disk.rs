//! A full disk: nothing confirmed is lost, the system names the fault, and continues once there is room.

use harness::fake_telegram::update::ADA;
use harness::small_disk::{SmallDisk, in_own_namespace};
use harness::{FakeTelegram, Request, System, program, wait};
use serde_json::json;

use crate::assert_says;

/// Room for the database, its log, the journal, and some messages.
const DISK_BYTES: u64 = 6 * 1024 * 1024;

/// At most this many messages wait at Telegram at a time.
const WAITING: usize = 20;

/// Sends a message that asks for a missing directory; the reply names it.
fn write(telegram: &FakeTelegram, written: &mut Vec<String>) {
    let name = format!("none-{:04}", written.len());
    telegram.push(ADA.text(&format!("ls path={name}")));
    written.push(name);
}

/// The replies to Ada, without the note that messages cannot be stored.
fn replies(telegram: &FakeTelegram) -> Vec<String> {
    let sent = telegram.sent().into_iter().map(|message| message.text);
    sent.filter(|text| !is_note(text)).collect()
}

fn is_note(text: &str) -> bool {
    text.contains("cannot store messages")
}

#[test]
fn a_full_disk_costs_no_message_and_is_told_and_survived() {
    in_own_namespace("full_disk::a_full_disk_costs_no_message_and_is_told_and_survived", || {
        let telegram = FakeTelegram::start();
        let builder = System::builder().telegram(&telegram, "4711");
        let disk = SmallDisk::mount(&builder.dir().data(), DISK_BYTES);
        let mut system = builder.start();
        let mut written = Vec::new();
        write(&telegram, &mut written);
        telegram.wait_for_sent(1);
        // Not waiting until it is marked as sent: it must not be sent again even if it cannot be marked.
        disk.fill();
        wait::until_true("the database takes no message any more, and Ada is told", || {
            if telegram.unconfirmed() < WAITING {
                write(&telegram, &mut written);
            }
            telegram.sent().iter().any(|message| is_note(&message.text))
        });
        assert!(telegram.unconfirmed() > 0, "what cannot be stored stays with Telegram");
        wait::until_true("the log says so", || system.log().contains("they stay with Telegram"));
        let not_ready = system.readyz();
        assert_eq!(not_ready.status, 503, "{}", not_ready.text());
        let database = system.part("database");
        assert_says(&database["detail"].to_string(), &["full"]);
        let refused = system.control(Request::post_json("/messages", &json!({"text": "ls path=."})));
        assert_eq!(refused.status, 503, "a message that cannot be stored is not accepted");
        wait::until_true("a call that cannot be recorded is not made", || {
            !system.tool("ls", &json!({"path": "."})).ok
        });

        disk.clear();
        wait::until_true("everything is answered", || replies(&telegram).len() >= written.len());
        let replies = replies(&telegram);
        assert_eq!(replies.len(), written.len(), "{replies:?}");
        for (reply, name) in replies.iter().zip(&written) {
            assert_says(reply, &[name]);
        }
        assert_eq!(telegram.sent().iter().filter(|message| is_note(&message.text)).count(), 1);
        wait::until_true("it is ready again", || system.readyz().status == 200);
        program::stdout_of(&system.run_tool_server(&["journal", "verify"]));
        system.stop();
    });
}
