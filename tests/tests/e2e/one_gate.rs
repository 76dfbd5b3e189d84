//! One gate: the tools of channels are tools of the tool server, whose last step the supervisor makes.

use std::collections::BTreeSet;

use harness::fake_telegram::update::ADA;
use harness::http::address_of;
use harness::{FakeModel, FakeTelegram, ModelReply, Request, System, ToolServer, fake_model};
use protocol::ErrorCode;
use rusqlite::Connection;
use serde_json::json;

use crate::{assert_says, with_telegram};

const OF_CHANNEL: [&str; 7] = [
    "contacts_send", "schedule_cancel", "schedule_list", "schedule_task", "telegram_react",
    "telegram_send_file", "telegram_send_voice",
];

#[test]
fn a_task_is_offered_the_tools_of_its_channel_and_the_workers_functions_once_and_sorted() {
    let (telegram, model) = (FakeTelegram::start(), FakeModel::answering(vec![ModelReply::text("Hi.")]));
    let builder = System::builder().telegram(&telegram, "4711").model(&model);
    let system = builder.variable("AUTONOUS_TOOL_DISABLED", "bash,plan_create").start();
    telegram.push(ADA.text("hello"));
    assert_eq!(telegram.wait_for_sent(1)[0].text, "Hi.");
    let first = model.requests().remove(0);
    let offered = fake_model::offered(&first);
    let sorted: BTreeSet<&str> = offered.iter().copied().collect();
    assert_eq!(offered, sorted.into_iter().collect::<Vec<_>>());
    for (expected, is_offered) in [
        ("ls", true),
        ("todo_update", true),
        ("telegram_react", true),
        ("schedule_task", true),
        ("bash", false),
        ("plan_create", false),
        ("plan_update", false),
    ] {
        assert_eq!(offered.contains(&expected), is_offered, "{expected}: {offered:?}");
    }
    system.say("and here?");
    harness::wait::until_true("it is asked", || model.requests().len() == 2);
    let second = model.requests().remove(1);
    let here = fake_model::offered(&second);
    assert!(!here.iter().any(|name| name.starts_with("telegram_")), "{here:?}");
}

#[test]
fn a_session_is_listed_the_tools_of_its_channel_and_a_call_elsewhere_says_why() {
    let (_telegram, system) = with_telegram();
    let names = |session: Option<&str>| {
        let request = Request::get("/tools");
        let request = session.into_iter().fold(request, Request::of_session);
        system.ask_tool_server(request).tool_names()
    };
    for (session, has) in [
        (None, false),
        (Some("local:me"), false),
        (Some("telegram"), false),
        (Some("telegram:4711"), true),
        (Some("telegram:-1001:12"), true),
    ] {
        let names = names(session);
        assert!(names.iter().any(|name| name == "ls"), "{session:?}: {names:?}");
        for tool in OF_CHANNEL {
            assert_eq!(names.iter().any(|name| name == tool), has, "{session:?}: {tool}");
        }
    }
}

#[test]
fn both_ports_give_the_same_answer_and_each_call_is_recorded_once() {
    let (_telegram, system) = with_telegram();
    for (tool, session, status, part) in [
        ("ls", "local:me", 200, "\"ok\":true"),
        ("todo_update", "local:me", 400, "action is required"),
        ("plan_create", "local:me", 404, "one of the worker"),
        ("telegram_react", "local:me", 403, "works in chats of telegram only"),
        ("telegram_react", "telegram:4711", 400, "emoji"),
        ("schedule_list", "telegram:4711", 200, "no schedules"),
        ("fly", "local:me", 404, "No such tool"),
    ] {
        let server = system.ask_tool_server(Request::call(tool, &json!({})).of_session(session));
        let control = system.control(Request::call(tool, &json!({})).of_session(session));
        for (port, answer) in [("server", server), ("control", control)] {
            assert_eq!(answer.status, status, "{tool} at the {port}: {}", answer.text());
            assert!(answer.text().contains(part), "{tool} at the {port}: {}", answer.text());
        }
        let calls = format!(
            "select count(*) from events where type = 'tool_call.started'
             and payload ->> 'tool_name' = '{tool}' and payload ->> 'session_id' = '{session}'"
        );
        harness::wait::until_true("both are events", || system.database().count(&calls) >= 2);
        assert_eq!(system.database().count(&calls), 2, "{tool}");
    }
    let as_text = Request::call("ls", &json!({})).header("Accept", "text/plain");
    assert!(system.control(as_text).text().starts_with("exit 0"));
    assert_eq!(system.control(Request::post_json("/tools/a%2Fb", &json!({}))).status, 404);
}

#[test]
fn a_tool_server_alone_has_none_of_them_and_says_what_is_missing() {
    let server = ToolServer::start();
    let of_chat = |request: Request| server.send(request.of_session("telegram:4711"));
    let listed = of_chat(Request::get("/tools")).text();
    let described = server.send(Request::get("/openapi.json")).text();
    for tool in OF_CHANNEL {
        assert!(!listed.contains(tool) && !described.contains(&format!("/tools/{tool}")), "{tool}");
        let refused = of_chat(Request::call(tool, &json!({}))).envelope();
        let error = refused.meta.error.unwrap();
        assert_eq!(error.code, ErrorCode::ToolNotAllowed, "{tool}: {error}");
        assert!(error.message.contains("needs the supervisor"), "{tool}: {error}");
    }
}

#[test]
fn a_rule_about_paths_holds_for_what_is_sent() {
    let telegram = FakeTelegram::start();
    let rules = "[[rule]]\npaths = [\"deploy/**\"]\ndecision = \"deny\"\nreason = \"it is secret\"\n";
    let system = System::builder().telegram(&telegram, "4711").policy(rules).start();
    std::fs::create_dir(system.workspace().join("deploy")).unwrap();
    std::fs::write(system.workspace().join("deploy/a.txt"), "a").unwrap();
    std::os::unix::fs::symlink("deploy/a.txt", system.workspace().join("link")).unwrap();
    for (tool, path) in [
        ("telegram_send_file", "deploy/a.txt"),
        ("telegram_send_file", "link"),
        ("telegram_send_voice", "deploy/a.txt"),
    ] {
        let request = Request::call(tool, &json!({"path": path})).of_session("telegram:4711");
        let refused = system.ask_tool_server(request).text();
        assert_says(&format!("{tool}: {refused}"), &["TOOL_NOT_ALLOWED", "it is secret"]);
    }
    assert_eq!(system.database().count("select count(*) from outbox"), 0);
}

#[test]
fn a_kill_between_an_effect_and_its_answer_sends_once_and_the_repeated_call_says_so() {
    let (_telegram, system) = with_telegram();
    let call = || {
        let arguments = json!({"emoji": "👍", "message_id": 7});
        let request = Request::call("telegram_react", &arguments).of_session("telegram:4711");
        request.header("Idempotency-Key", "the-same")
    };
    let tokens = system.tokens();
    let address = address_of(&tokens.tool_url);
    // Another program writes to the database, so that the effect waits.
    let held = Connection::open(system.dir().data().join("db/autonous.db")).unwrap();
    held.execute_batch("begin immediate").unwrap();
    let first = std::thread::scope(|scope| {
        let asked = scope.spawn(|| call().bearer(&tokens.tool_token).try_send(address));
        let journal = system.dir().journal();
        harness::wait::until_true("it has begun", || {
            std::fs::read_to_string(&journal).is_ok_and(|text| text.contains("telegram_react"))
        });
        system.kill_child("tool-server");
        drop(held);
        asked.join().unwrap()
    });
    assert!(first.is_err(), "the connection ended with the server");
    let again = system.ask_tool_server(call()).envelope();
    assert_eq!(again.meta.error.unwrap().code, ErrorCode::Interrupted);
    system.wait_until_all_is_sent();
    let sent = system.database().count("select count(*) from outbox where kind = 'reaction'");
    assert!(sent <= 1, "{sent}");
}
