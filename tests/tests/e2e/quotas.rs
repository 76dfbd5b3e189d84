//! Limits of the day: a message beyond them waits, its chat reads so, and it runs by itself; nothing is
//! lost.

use harness::fake_telegram::update::{ADA, Chat};
use harness::{Answer, FakeModel, FakeTelegram, ModelReply, Request, System, ToolServer, wait};
use protocol::ErrorCode;
use serde_json::{Value, json};

use crate::assert_says;

#[test]
fn a_chat_that_has_used_up_its_tasks_is_told_until_when_and_goes_on_by_itself() {
    let telegram = FakeTelegram::start();
    let limits = "[limits.chat]\ntasks_per_day = 2\n";
    let mut system = System::builder().telegram(&telegram, "4711,5").policy(limits).start();
    let file = |name: &str| system.workspace().join(name);
    let write = |name: &str| format!(r#"/write {{"path": "{name}", "content": "x"}}"#);
    telegram.ask(ADA, &write("one"));
    telegram.ask(ADA, &write("two"));
    let told = telegram.ask(ADA, &write("three"));
    assert_says(
        &told,
        &["limit of 2 tasks a day for this chat is used up", "00:00 UTC", "Your message is kept"],
    );
    assert_says(&telegram.ask(ADA, "/status"), &["1 message waits", "of 2 tasks a day"]);
    assert_says(&telegram.ask(Chat { id: 5 }, &write("other")), &["Created"]);
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
    system.dir().write_policy("[limits.chat]\ntasks_per_day = 3\n");
    assert!(system.stop().success());
    system.restart();
    wait::until_true("the message that waited has run", || three.exists());
}

#[test]
fn a_task_ends_at_the_limit_of_the_day_with_what_it_did_and_the_next_one_does_not_begin() {
    let model = FakeModel::start(|_| ModelReply::call("ls", &json!({"path": "."})));
    let system = System::builder().model(&model).policy("[limits.chat]\nturns_per_day = 2\n").start();
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
        ModelReply::text("done"),
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
    let limits = "[limits.chat]\ntask_per_day = 1\n";
    let supervisor = System::builder().policy(limits).start_refused();
    let tool_server = ToolServer::builder().policy(limits).start_refused();
    for refused in [supervisor, tool_server] {
        assert_says(&refused.stderr, &["line 2: unknown field `task_per_day`"]);
    }
}

fn bash(server: &ToolServer, seconds: &str, session: &str) -> Answer {
    let arguments = json!({"cmd": format!("sleep {seconds}"), "timeout_seconds": 20});
    server.send(Request::call("bash", &arguments).of_session(session))
}

#[test]
fn commands_run_no_longer_than_the_day_of_their_chat_or_of_all_callers_allows() {
    for (of, whose) in [("chat", "for this chat"), ("token", "for all callers")] {
        let limits = format!("[limits.{of}]\ncommand_seconds_per_day = 2\n");
        let mut server = ToolServer::builder().policy(&limits).token("FAKE-caller-token").start();
        let cut = bash(&server, "10", "one").envelope();
        assert_eq!(cut.error_code(), Some(ErrorCode::Timeout), "its time ends with the limit");
        let others = if of == "chat" { ["one", "one"] } else { ["one", "two"] };
        for session in others {
            let answer = bash(&server, "0", session);
            assert_eq!(answer.status, 429, "{of}: {session}");
            let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
            assert!((1..=86_401).contains(&wait), "{wait}");
            let error = answer.envelope().meta.error.unwrap();
            assert_eq!(error.code, ErrorCode::QuotaExceeded);
            assert_says(&error.message, &["2 seconds of commands a day", whose, "00:00 UTC"]);
            server.crash(|_| {});
        }
        assert_eq!(bash(&server, "0", "three").envelope().ok, of == "chat", "another chat has its own");
        assert!(server.call("ls", &json!({"path": "."})).ok, "file tools are no commands");
    }
}
