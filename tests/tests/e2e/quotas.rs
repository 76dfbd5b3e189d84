//! Limits of the day: a message beyond them waits, its chat reads so, and it runs by itself; nothing is
//! lost.

use std::fs;
use std::sync::Mutex;
use std::thread;

use harness::fake_telegram::update::{ADA, Chat};
use harness::system::SystemBuilder;
use harness::{FakeModel, FakeTelegram, ModelReply, Request, System, TestDir, ToolServer, wait};
use protocol::ErrorCode;
use serde_json::{Value, json};

use crate::assert_says;

/// A configuration directory with this policy.
fn policy(text: &str) -> TestDir {
    let config = TestDir::new();
    fs::write(config.path().join("policy.toml"), text).unwrap();
    config
}

fn with_policy(builder: SystemBuilder, config: &TestDir) -> SystemBuilder {
    builder.variable("AUTONOUS_CONFIG_DIR", &config.path().display().to_string())
}

fn ask(telegram: &FakeTelegram, chat: Chat, text: &str) -> String {
    let before = telegram.sent().len();
    telegram.push(chat.text(text));
    telegram.wait_for_sent(before + 1)[before].text.clone()
}

#[test]
fn a_chat_that_has_used_up_its_tasks_is_told_until_when_and_goes_on_by_itself() {
    let telegram = FakeTelegram::start();
    let config = policy("[limits.chat]\ntasks_per_day = 2\n");
    let mut system = with_policy(System::builder().telegram(&telegram, "4711,5"), &config).start();
    let file = |name: &str| system.workspace().join(name);
    let write = |name: &str| format!(r#"/write {{"path": "{name}", "content": "x"}}"#);
    ask(&telegram, ADA, &write("one"));
    ask(&telegram, ADA, &write("two"));
    let told = ask(&telegram, ADA, &write("three"));
    assert_says(
        &told,
        &["limit of 2 tasks a day for this chat is used up", "00:00 UTC", "Your message is kept"],
    );
    assert_says(&ask(&telegram, ADA, "/status"), &["1 message waits", "of 2 tasks a day"]);
    assert_says(&ask(&telegram, Chat { id: 5 }, &write("other")), &["Created"]);
    let held = "select count(*) from inbox where state = 'queued'
                and available_at_ms % 86400000 = 0 and available_at_ms > updated_at_ms";
    assert_eq!(system.database().texts(&held.replace("count(*)", "cast(count(*) as text)")), ["1"]);
    assert!(!file("three").exists() && file("other").exists());

    // A restart counts nothing again, and says it again.
    let three = file("three");
    let sent = telegram.sent().len();
    system.kill();
    system.restart();
    let is_told = || telegram.sent()[sent..].iter().any(|sent| sent.text.contains("limit of 2 tasks a day"));
    wait::until_true("it is told again", is_told);
    assert!(!three.exists());
    // With a raised limit the message that waited runs.
    fs::write(config.path().join("policy.toml"), "[limits.chat]\ntasks_per_day = 3\n").unwrap();
    assert!(system.stop().success());
    system.restart();
    wait::until_true("the message that waited has run", || three.exists());
}

#[test]
fn a_task_ends_at_the_limit_of_the_day_with_what_it_did_and_the_next_one_does_not_begin() {
    let model = FakeModel::start(|_| ModelReply::call("ls", &json!({"path": "."})));
    let config = policy("[limits.chat]\nturns_per_day = 2\n");
    let system = with_policy(System::builder().model(&model), &config).start();
    let reply = system.reply(&system.say("go on and on"));
    assert_says(&reply, &["the limit of turns a day", "free again at 00:00 UTC", "Done so far"]);
    assert_eq!(model.requests().len(), 2);
    let next = system.reply(&system.say("and again"));
    assert_says(&next, &["limit of 2 turns a day for this chat is used up", "free again at 00:00 UTC"]);
    assert_eq!(model.requests().len(), 2, "the model was not asked again");
    assert!(system.database().has_event("quota.exhausted"));
    assert!(system.database().has_event("control.limit_reached"));
}

#[test]
fn usage_is_shown_by_day_chat_and_model() {
    let model = FakeModel::answering(vec![
        ModelReply::call("bash", &json!({"cmd": "true"})),
        ModelReply::Text("done".to_owned()),
    ]);
    let system = System::builder().model(&model).start();
    assert_says(&system.shown(&["usage"]), &["Nothing was used"]);
    system.reply(&system.say("hello"));
    let usage = system.shown_json(&["usage", "--json"]);
    let rows = usage["usage"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["turns"], &rows[0]["tasks"]), (2, &json!(2), &json!(1)), "{usage}");
    assert_eq!((&rows[0]["channel"], &rows[1]["model"]), (&json!("local"), &Value::Null), "{usage}");
    assert!(rows[0]["input_tokens"].as_i64().unwrap() > 0);
    assert_says(&system.shown(&["usage", "--days", "1"]), &["DAY (UTC)", "local:local", "commands, "]);
    assert_says(&system.shown(&["usage", "--chat", "other"]), &["Nothing was used"]);
}

#[test]
fn a_mistake_in_the_limits_stops_both_programs_with_its_line() {
    for (text, expected) in [
        ("[limits.chat]\ntask_per_day = 1\n", "line 2: unknown field `task_per_day`"),
        ("\n[limits.everybody]\n", "line 2: unknown field `everybody`"),
    ] {
        let config = policy(text);
        let refused = with_policy(System::builder(), &config).start_refused();
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
        let directory = config.path().display().to_string();
        let refused = ToolServer::builder().variable("AUTONOUS_CONFIG_DIR", &directory).start_refused();
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
}

fn bash(seconds: &str, session: &str) -> Request {
    let arguments = json!({"cmd": format!("sleep {seconds}"), "timeout_seconds": 20});
    Request::call("bash", &arguments).header("X-Session-Id", session)
}

#[test]
fn commands_of_a_chat_run_no_longer_than_its_day_allows() {
    let config = policy("[limits.chat]\ncommand_seconds_per_day = 2\n");
    let directory = config.path().display().to_string();
    let mut server = ToolServer::builder().variable("AUTONOUS_CONFIG_DIR", &directory).start();
    let cut = server.send(bash("10", "one")).envelope();
    assert_eq!(cut.meta.error.unwrap().code, ErrorCode::Timeout, "its time ends with the limit");
    for _ in 0..2 {
        let answer = server.send(bash("0", "one"));
        assert_eq!(answer.status, 429);
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=86_401).contains(&wait), "{wait}");
        let error = answer.envelope().meta.error.unwrap();
        assert_eq!(error.code, ErrorCode::QuotaExceeded);
        assert_says(&error.message, &["2 seconds of commands a day for this chat", "00:00 UTC"]);
        server.crash(|_| {});
    }
    assert!(server.send(bash("0", "two")).envelope().ok, "another chat has its own");
    assert!(server.call("ls", &json!({"path": "."})).ok);
}

#[test]
fn all_callers_together_are_told_until_when_their_day_is_used_up_also_after_a_restart() {
    let config = policy("[limits.token]\ncommand_seconds_per_day = 2\n");
    let directory = config.path().display().to_string();
    let mut server =
        ToolServer::builder().token("FAKE-caller-token").variable("AUTONOUS_CONFIG_DIR", &directory).start();
    let cut = server.send(bash("10", "one")).envelope();
    assert_eq!(cut.meta.error.unwrap().code, ErrorCode::Timeout, "its time ends with the limit");
    for session in ["one", "two", "three"] {
        let answer = server.send(bash("0", session));
        assert_eq!(answer.status, 429, "{session}");
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=86_401).contains(&wait), "{wait}");
        let error = answer.envelope().meta.error.unwrap();
        assert_eq!(error.code, ErrorCode::QuotaExceeded);
        assert_says(&error.message, &["2 seconds of commands a day for all callers", "00:00 UTC"]);
        assert!(!error.retryable || error.retry_after_seconds.is_some(), "{error:?}");
        server.crash(|_| {});
    }
    let write = json!({"path": "a", "content": "x"});
    assert!(server.call("write", &write).ok, "file tools are no commands");
}

#[test]
fn commands_that_race_for_the_last_seconds_stay_within_the_limit_together() {
    let config = policy("[limits.token]\ncommand_seconds_per_day = 3\n");
    let directory = config.path().display().to_string();
    let server = ToolServer::builder().variable("AUTONOUS_CONFIG_DIR", &directory).start();
    let (used, refused) = (Mutex::new(0), Mutex::new(0));
    thread::scope(|scope| {
        for number in 0..6 {
            let (server, used, refused) = (&server, &used, &refused);
            scope.spawn(move || {
                let envelope = server.send(bash("10", &format!("session-{number}"))).envelope();
                match envelope.meta.error.unwrap().code {
                    ErrorCode::QuotaExceeded => *refused.lock().unwrap() += 1,
                    ErrorCode::Timeout => {
                        *used.lock().unwrap() += envelope.meta.data["duration_ms"].as_u64().unwrap();
                    }
                    other => panic!("{other}"),
                }
            });
        }
    });
    let used = used.into_inner().unwrap();
    assert!((2900..4500).contains(&used), "{used} ms of 3 s");
    assert_eq!(refused.into_inner().unwrap(), 5);
}
