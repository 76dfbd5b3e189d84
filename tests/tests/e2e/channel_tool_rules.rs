//! The operator's rules and a skill for the tools of channels, and the people who are asked.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use harness::fake_telegram::Sent;
use harness::fake_telegram::update::ADA;
use harness::http::{Answer, Request, address_of};
use harness::{FakeModel, FakeTelegram, ModelReply, System, wait};
use serde_json::{Value, json};

use crate::assert_says;

const BOB: i64 = 12;

fn to_bob() -> Value {
    json!({"path": "report.txt", "caption": "for you", "chat_id": BOB})
}

/// A model that sends Bob a file, and then repeats the result.
fn sending_model() -> FakeModel {
    FakeModel::start(|request| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        match messages.iter().rfind(|message| message["role"] == "tool") {
            Some(result) => ModelReply::Text(format!("I was told: {}", result["content"])),
            None => ModelReply::call("telegram_send_file", &to_bob()),
        }
    })
}

/// A system with a file to send; the rules are those of the defaults, or these.
fn system(telegram: &FakeTelegram, model: Option<&FakeModel>, rules: Option<&str>) -> System {
    let mut builder = System::builder().telegram(telegram, "4711,12").workers(1);
    if let Some(rules) = rules {
        let config = builder.dir().write_policy(rules);
        builder = builder.variable("AUTONOUS_CONFIG_DIR", &config);
    }
    builder = builder.variable("AUTONOUS_APPROVERS", "4711");
    let system = model.into_iter().fold(builder, |builder, model| builder.model(model)).start();
    fs::write(system.workspace().join("report.txt"), "all is well").unwrap();
    system
}

fn documents(telegram: &FakeTelegram) -> Vec<Sent> {
    telegram.sent().into_iter().filter(|sent| sent.method == "senddocument").collect()
}

/// A call by a person at the control port, as a chat.
fn call(system: &System, tool: &str, arguments: &Value, headers: &[(&str, &str)]) -> Answer {
    let request = Request::post_json(&format!("/tools/{tool}"), arguments);
    let request = request.header("X-Session-Id", "telegram:4711");
    system.control(headers.iter().fold(request, |request, (name, value)| request.header(name, value)))
}

fn send_to_bob(system: &System) -> Value {
    call(system, "telegram_send_file", &to_bob(), &[]).json()
}

fn decide(system: &System, approval: &Value, decision: &Value) -> Answer {
    let path = format!("/approvals/{}", approval.as_str().unwrap());
    system.control(Request::post_json(&path, decision))
}

fn code(envelope: &Value) -> &str {
    envelope["meta"]["error"]["code"].as_str().unwrap_or("none")
}

#[test]
fn a_file_for_another_chat_is_asked_about_in_the_own_one_and_sent_once() {
    let (telegram, model) = (FakeTelegram::start(), sending_model());
    let system = system(&telegram, Some(&model), None);
    telegram.push(ADA.text("send Bob the report"));
    let (asked, buttons) = telegram.question(ADA, 0);
    let parts =
        ["May I call telegram_send_file", "into another chat", "report.txt", "11 bytes", "the chat 12"];
    assert_says(&asked.text, &parts);
    assert_eq!(buttons.len(), 4, "once, this task, this chat, no");
    assert_eq!(documents(&telegram).len(), 0);
    assert_says(&system.shown(&["approvals"]), &["telegram_send_file", "telegram:4711"]);

    assert_eq!(telegram.press_answered(ADA, ADA.id, asked.number, &buttons[0]), "Allowed.");
    let reply = wait::until("Ada gets her answer", || {
        let mut sent = telegram.sent().into_iter();
        sent.find(|sent| sent.method == "sendmessage" && sent.text.starts_with("I was told"))
    });
    assert!(reply.chat_id == ADA.id && reply.text.contains("on its way"), "{reply:?}");
    wait::until_true("Bob gets the file", || !documents(&telegram).is_empty());
    let documents = documents(&telegram);
    assert_eq!(documents.iter().map(|sent| sent.chat_id).collect::<Vec<_>>(), [BOB]);
    assert_eq!(documents[0].file, Some(("report.txt".to_owned(), b"all is well".to_vec())));
    assert_says(&telegram.press_answered(ADA, ADA.id, asked.number, &buttons[3]), &["decided before"]);
    let events = "select type from events where type like 'approval.%' and task_id is not null order by seq";
    assert_eq!(system.database().texts(events), ["approval.requested", "approval.granted", "approval.used"]);
    assert_says(&system.shown(&["tree", "--all"]), &["approval.granted"]);
}

#[test]
fn the_own_chat_is_not_asked_about_and_a_rule_that_allows_lets_both_pass() {
    let telegram = FakeTelegram::start();
    let own = system(&telegram, None, None);
    let sent = call(&own, "telegram_send_file", &json!({"path": "report.txt", "chat_id": 4711}), &[]).json();
    assert_eq!(sent["ok"], true, "{sent}");
    let reaction = json!({"emoji": "👍", "message_id": 7, "chat_id": BOB});
    let asked = call(&own, "telegram_react", &reaction, &[]).json();
    assert_eq!(code(&asked), "APPROVAL_REQUIRED", "{asked}");
    drop(own);
    let rules = "[[rule]]\ntools = [\"telegram_send_file\"]\ncircumstances = [\"other_chat\"]\n\
                 decision = \"allow\"\n";
    let (telegram, rules) = (FakeTelegram::start(), Some(rules));
    let allowed = system(&telegram, None, rules);
    assert_eq!(send_to_bob(&allowed)["ok"], true, "without the guard it goes through");
    assert_eq!(code(&call(&allowed, "telegram_react", &reaction, &[]).json()), "APPROVAL_REQUIRED");
}

#[test]
fn a_no_reaches_the_model_with_its_reason() {
    let (telegram, model) = (FakeTelegram::start(), sending_model());
    let system = system(&telegram, Some(&model), None);
    telegram.push(ADA.text("send Bob the report"));
    telegram.question(ADA, 0);
    let listed = system.shown_json(&["approvals", "--json"]);
    let id = listed["approvals"][0]["id"].as_str().unwrap().to_owned();
    let denied = system.shown(&["deny", &id[id.len() - 8..], "--reason", "Bob has left"]);
    assert_says(&denied, &["Denied by the command line: Bob has left"]);
    let reply = wait::until("the model is told", || {
        telegram.sent().into_iter().find(|sent| sent.text.starts_with("I was told"))
    });
    assert_says(&reply.text, &["APPROVAL_DENIED", "Bob has left"]);
    assert_eq!(documents(&telegram).len(), 0);
    let late = system.run_command(&["approve", &id]);
    assert_says(&String::from_utf8_lossy(&late.stderr), &["decided before"]);
}

#[test]
fn a_decision_holds_for_what_was_shown_and_nothing_else() {
    let telegram = FakeTelegram::start();
    let system = system(&telegram, None, None);
    let asked = send_to_bob(&system);
    assert_eq!(code(&asked), "APPROVAL_REQUIRED", "{asked}");
    let data = &asked["meta"]["data"];
    let curl = data["replay"]["curl"].as_str().unwrap();
    assert_says(curl, &[&system.tokens().tool_url, "$AUTONOUS_TOOL_TOKEN", "telegram_send_file"]);
    let one = system.control(Request::get(&format!("/approvals/{}", data["approval_id"].as_str().unwrap())));
    assert_says(&one.text(), &["\"state\":\"pending\"", "it sends into another chat", "default rule 7"]);
    assert_eq!(decide(&system, &data["approval_id"], &json!({"decision": "maybe"})).status, 400);
    assert_eq!(decide(&system, &data["approval_id"], &json!({"decision": "grant"})).status, 200);
    assert_eq!(decide(&system, &data["approval_id"], &json!({"decision": "deny"})).status, 409);

    // Another file, and another caption, are asked about again.
    fs::write(system.workspace().join("report.txt"), "all is lost").unwrap();
    let again = send_to_bob(&system);
    assert_eq!(code(&again), "APPROVAL_REQUIRED", "{again}");
    assert_ne!(again["meta"]["data"]["approval_id"], data["approval_id"]);
    fs::write(system.workspace().join("report.txt"), "all is well").unwrap();
    let mut other = to_bob();
    other["caption"] = json!("for them");
    let other = call(&system, "telegram_send_file", &other, &[]).json();
    assert_eq!(code(&other), "APPROVAL_REQUIRED", "{other}");
    assert_eq!(documents(&telegram).len(), 0);

    // The same is sent, once.
    assert_eq!(send_to_bob(&system)["ok"], true);
    assert_eq!(code(&send_to_bob(&system)), "APPROVAL_REQUIRED", "a yes is for one call");
    wait::until_true("it is sent", || documents(&telegram).len() == 1);

    // A call that would be refused anyway asks no person.
    let before = system.control(Request::get("/approvals")).json()["approvals"].as_array().unwrap().len();
    for (path, chat, expected) in [("gone", BOB, "NOT_FOUND"), ("report.txt", 666, "TOOL_NOT_ALLOWED")] {
        let refused =
            call(&system, "telegram_send_file", &json!({"path": path, "chat_id": chat}), &[]).json();
        assert_eq!(code(&refused), expected, "{refused}");
    }
    let after = system.control(Request::get("/approvals")).json()["approvals"].as_array().unwrap().len();
    assert_eq!(after, before);
}

#[test]
fn a_call_waits_as_long_as_its_caller_wants_and_ends_with_its_time() {
    let telegram = FakeTelegram::start();
    let builder = System::builder().telegram(&telegram, "4711,12");
    let system = builder.variable("AUTONOUS_APPROVAL_TIMEOUT_SECONDS", "1").start();
    fs::write(system.workspace().join("report.txt"), "all is well").unwrap();
    let wait = |wait: &str| call(&system, "telegram_send_file", &to_bob(), &[("Prefer", wait)]);
    let ended = wait("wait=60").json();
    assert_eq!(ended["meta"]["data"]["state"], "expired", "{ended}");
    assert_says(&ended.to_string(), &["nobody decided in time"]);
    assert_eq!(wait("wait=soon").status, 400);
    let unknown = "0197a2a0-0000-7000-8000-000000000001";
    let of_no_task = call(&system, "telegram_send_file", &to_bob(), &[("X-Task-Id", unknown)]);
    assert_says(&of_no_task.text(), &["CANCELLED", "The task of this call does not run"]);
    let events = "select type from events where type like 'approval.%' order by seq limit 2";
    assert_eq!(system.database().texts(events), ["approval.requested", "approval.expired"]);
}

/// Kills something while a task waits; then there is a yes, and the file is sent once.
fn killed_while_it_waits(kill: impl FnOnce(&mut System)) {
    let (telegram, model) = (FakeTelegram::start(), sending_model());
    let mut system = system(&telegram, Some(&model), None);
    telegram.push(ADA.text("send Bob the report"));
    let (asked, buttons) = telegram.question(ADA, 0);
    system.wait_until_all_is_sent();
    kill(&mut system);
    assert_eq!(telegram.press_answered(ADA, ADA.id, asked.number, &buttons[0]), "Allowed.");
    wait::until_true("it is answered", || {
        telegram.sent().iter().any(|sent| sent.text.contains("on its way"))
    });
    wait::until_true("Bob gets the file", || !documents(&telegram).is_empty());
    system.wait_until_all_is_sent();
    assert_eq!(documents(&telegram).len(), 1);
    let questions = telegram.sent().iter().filter(|sent| !sent.markup.is_null()).count();
    assert_eq!(questions, 1, "nobody is asked twice");
}

#[test]
fn a_kill_while_a_call_waits_neither_loses_nor_doubles_it() {
    killed_while_it_waits(|system| {
        system.kill_child("agent-worker");
        // A yes before that is for the call of the worker that was killed.
        let noticed = "select count(*) from events where type = 'retry.scheduled'";
        wait::until_true("it is noticed", || system.database().count(noticed) == 1);
    });
    killed_while_it_waits(|system| {
        system.kill();
        system.restart();
    });
}

#[test]
fn rules_deny_and_name_the_tools_of_all_programs() {
    let telegram = FakeTelegram::start();
    let rules =
        "[[rule]]\ntools = [\"telegram_react\", \"delete\"]\ndecision = \"deny\"\nreason = \"no fun\"\n";
    let system = system(&telegram, None, Some(rules));
    let denied = call(&system, "telegram_react", &json!({"emoji": "👍", "message_id": 7}), &[]).json();
    assert_eq!(code(&denied), "TOOL_NOT_ALLOWED", "{denied}");
    assert_says(&denied.to_string(), &["no fun"]);
    assert_eq!(
        system.tool("delete", &json!({"path": "report.txt"})).meta.error.unwrap().code.as_str(),
        "TOOL_NOT_ALLOWED"
    );
    drop(system);
    let builder = System::builder().telegram(&telegram, "4711");
    let config = builder.dir().write_policy("[[rule]]\ntools = [\"telegram_reakt\"]\ndecision = \"ask\"\n");
    let refusal = builder.variable("AUTONOUS_CONFIG_DIR", &config).start_refused();
    assert_says(&refusal.stderr, &["policy.toml, line 1", "telegram_reakt"]);
}

#[test]
fn a_skill_narrows_the_tools_of_channels_as_well() {
    let telegram = FakeTelegram::start();
    let reaction = json!({"emoji": "👍", "message_id": 7});
    let check = |first: ModelReply| {
        let replies =
            [first, ModelReply::call("telegram_react", &reaction), ModelReply::Text("done".to_owned())];
        let model = FakeModel::answering(Vec::from(replies));
        let builder = System::builder().telegram(&telegram, "4711").model(&model);
        let skill = builder.dir().data().join("skills/quiet");
        fs::create_dir_all(&skill).unwrap();
        let text = "---\nname: quiet\ndescription: Be quiet.\nallowed-tools: ls, read\n---\nBe quiet.\n";
        fs::write(skill.join("SKILL.md"), text).unwrap();
        let _system = builder.start();
        let before = telegram.sent().len();
        telegram.push(ADA.text("go"));
        wait::until_true("it is answered", || {
            telegram.sent()[before..].iter().any(|sent| sent.text == "done")
        });
        let requests = model.requests();
        let last = requests.last().unwrap()["messages"].as_array().cloned().unwrap();
        last.iter().rfind(|message| message["role"] == "tool").unwrap()["content"].to_string()
    };
    assert_says(&check(ModelReply::call("ls", &json!({}))), &["on its way"]);
    let refused = check(ModelReply::call("skill", &json!({"name": "quiet"})));
    assert_says(&refused, &["TOOL_NOT_ALLOWED", "does not allow `telegram_react`", "ls, read"]);
}

#[test]
fn the_stream_of_the_control_port_tells_of_all_tools() {
    let telegram = FakeTelegram::start();
    let system = system(&telegram, None, None);
    let (address, token) = (address_of(&system.tokens().control_url), system.tokens().control_token);
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head =
        format!("GET /approvals/stream HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(|line| line.unwrap());
    lines.find(|line| line.contains("listening")).expect("the stream goes on");
    let mut wait_for = |event: &str, ids: [&Value; 2]| {
        let (began, mut is_it) = (Instant::now(), false);
        let mut left: Vec<&str> = ids.into_iter().filter_map(Value::as_str).collect();
        while !left.is_empty() {
            assert!(began.elapsed() < Duration::from_secs(60), "{event} is not told of {left:?}");
            let line = lines.next().expect("the stream goes on");
            match line.strip_prefix("event: ") {
                Some(name) => is_it = name == event,
                None if is_it => left.retain(|id| !line.contains(id)),
                None => {}
            }
        }
    };
    let read = Request::post_json("/tools/read", &json!({"path": "report.txt"}));
    assert_eq!(system.ask_tool_server(read).status, 200);
    let delete = Request::post_json("/tools/delete", &json!({"path": "report.txt"}));
    let id_there = system.ask_tool_server(delete).json()["meta"]["data"]["approval_id"].clone();
    let id_here = send_to_bob(&system)["meta"]["data"]["approval_id"].clone();
    wait_for("requested", [&id_there, &id_here]);
    for id in [&id_there, &id_here] {
        assert_eq!(decide(&system, id, &json!({"decision": "deny"})).status, 200);
    }
    wait_for("decided", [&id_there, &id_here]);
    let decided = system.control(Request::get("/approvals?state=decided")).json();
    let ids: Vec<&Value> = decided["approvals"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&id_there, &id_here], "the oldest first");
    assert_eq!(system.control(Request::get("/approvals?state=lost")).status, 400);
}

#[test]
fn a_file_that_may_not_be_downloaded_is_not_sent_either() {
    let telegram = FakeTelegram::start();
    let rules = "[[rule]]\npaths = [\"report*\"]\ndecision = \"deny\"\nreason = \"it is secret\"\n";
    let system = system(&telegram, None, Some(rules));
    fs::write(system.workspace().join("open.txt"), "for all").unwrap();
    std::os::unix::fs::symlink("report.txt", system.workspace().join("link.txt")).unwrap();
    let send = |path: &str| call(&system, "telegram_send_file", &json!({"path": path}), &[]).json();
    assert_eq!(send("open.txt")["ok"], true, "others go through");
    for path in ["report.txt", "link.txt"] {
        let refused = send(path);
        assert_eq!(code(&refused), "TOOL_NOT_ALLOWED", "{path}: {refused}");
        assert_says(&refused.to_string(), &["it is secret"]);
    }
}

#[test]
fn a_tool_that_is_off_is_not_offered_and_says_so() {
    let telegram = FakeTelegram::start();
    let react = ModelReply::call("telegram_react", &json!({"emoji": "👍", "message_id": 7}));
    let model = FakeModel::answering(vec![react, ModelReply::Text("done".to_owned())]);
    let builder = System::builder().telegram(&telegram, "4711").model(&model);
    let _system = builder.variable("AUTONOUS_TOOL_DISABLED", "telegram_react,contacts_send").start();
    telegram.push(ADA.text("thank you"));
    wait::until_true("it is answered", || telegram.sent().iter().any(|sent| sent.text == "done"));
    let requests = model.requests();
    let offered = requests[0]["tools"].to_string();
    assert!(offered.contains("telegram_send_file") && !offered.contains("telegram_react"), "{offered}");
    assert!(!offered.contains("contacts_send"), "{offered}");
    assert_says(&requests[1]["messages"].to_string(), &["TOOL_NOT_ALLOWED", "AUTONOUS_TOOL_DISABLED"]);
}
