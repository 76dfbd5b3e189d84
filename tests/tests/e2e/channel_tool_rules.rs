//! The people who are asked about tools of channels that write into another chat.

use std::fs;

use harness::fake_telegram::Sent;
use harness::fake_telegram::update::ADA;
use harness::http::{Request, address_of};
use harness::{FakeModel, FakeTelegram, ModelReply, System, wait};
use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use crate::{assert_says, lines_of, until_sent};

const REQUIRED: Option<ErrorCode> = Some(ErrorCode::ApprovalRequired);

const BOB: i64 = 12;

fn to_bob() -> Value {
    json!({"path": "report.txt", "caption": "for you", "chat_id": BOB})
}

/// A system with a file to send; the rules are those of the defaults, or these.
fn system(model: Option<&FakeModel>, rules: Option<&str>) -> (FakeTelegram, System) {
    let telegram = FakeTelegram::start();
    let builder = System::builder().telegram(&telegram, "4711,12").workers(1);
    let builder = builder.variable("AUTONOUS_APPROVERS", "4711");
    let builder = rules.into_iter().fold(builder, |builder, rules| builder.policy(rules));
    let system = model.into_iter().fold(builder, |builder, model| builder.model(model)).start();
    fs::write(system.workspace().join("report.txt"), "all is well").unwrap();
    (telegram, system)
}

/// The ID of the request for a call that must be allowed.
fn asked_about(asked: &Envelope) -> &str {
    assert_eq!(asked.error_code(), REQUIRED, "{asked:?}");
    asked.meta.data["approval_id"].as_str().unwrap()
}

fn grant(system: &System, id: &str) {
    let yes = Request::post_json(&format!("/approvals/{id}"), &json!({"decision": "grant"}));
    assert_eq!(system.control(yes).status, 200);
}

fn documents(telegram: &FakeTelegram) -> Vec<Sent> {
    telegram.sent().into_iter().filter(|sent| sent.method == "senddocument").collect()
}

fn call(system: &System, tool: &str, arguments: &Value) -> Envelope {
    system.tool_as("telegram:4711", tool, arguments)
}

fn send_to_bob(system: &System) -> Envelope {
    call(system, "telegram_send_file", &to_bob())
}

#[test]
fn a_file_for_another_chat_is_asked_about_in_the_own_one_and_sent_once() {
    let model = FakeModel::telling(ModelReply::call("telegram_send_file", &to_bob()));
    let (telegram, system) = system(Some(&model), None);
    telegram.push(ADA.text("send Bob the report"));
    let (asked, buttons) = telegram.question(ADA, 0);
    let parts =
        ["May I call telegram_send_file", "into another chat", "report.txt", "11 bytes", "the chat 12"];
    assert_says(&asked.text, &parts);
    assert_eq!(buttons.len(), 4, "once, this task, this chat, no");
    assert_eq!(documents(&telegram).len(), 0);
    assert_says(&system.shown(&["approvals"]), &["telegram_send_file", "telegram:4711"]);

    assert_eq!(telegram.press_answered(ADA, ADA.id, asked.number, &buttons[0]), "Allowed.");
    let answers = |sent: &Sent| sent.method == "sendmessage" && sent.text.starts_with("I was told");
    let reply = until_sent(&telegram, "Ada gets her answer", answers);
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
    let (_telegram, own) = system(None, None);
    let sent = call(&own, "telegram_send_file", &json!({"path": "report.txt", "chat_id": 4711}));
    assert!(sent.ok, "{sent:?}");
    let reaction = json!({"emoji": "👍", "message_id": 7, "chat_id": BOB});
    let asked = call(&own, "telegram_react", &reaction);
    assert_eq!(asked.error_code(), REQUIRED, "{asked:?}");
    drop(own);
    let rules = "[[rule]]\ntools = [\"telegram_send_file\"]\ncircumstances = [\"other_chat\"]\n\
                 decision = \"allow\"\n";
    let (_telegram, allowed) = system(None, Some(rules));
    assert!(send_to_bob(&allowed).ok, "without the guard it goes through");
    assert_eq!(call(&allowed, "telegram_react", &reaction).error_code(), REQUIRED);
}

#[test]
fn a_yes_holds_for_the_file_that_was_shown_and_a_call_that_would_be_refused_asks_nobody() {
    let (telegram, system) = system(None, None);
    let asked = send_to_bob(&system);
    let id = asked_about(&asked);
    let curl = asked.meta.data["replay"]["curl"].as_str().unwrap();
    assert_says(curl, &[&system.tokens().tool_url, "$AUTONOUS_TOOL_TOKEN", "telegram_send_file"]);
    grant(&system, id);

    fs::write(system.workspace().join("report.txt"), "all is lost").unwrap();
    assert_ne!(asked_about(&send_to_bob(&system)), id);
    fs::write(system.workspace().join("report.txt"), "all is well").unwrap();
    assert_eq!(documents(&telegram).len(), 0);
    assert!(send_to_bob(&system).ok);
    assert_eq!(send_to_bob(&system).error_code(), REQUIRED, "a yes is for one call");
    wait::until_true("it is sent", || documents(&telegram).len() == 1);

    let count = || system.control(Request::get("/approvals")).json()["approvals"].as_array().unwrap().len();
    let before = count();
    for (path, chat, expected) in
        [("gone", BOB, ErrorCode::NotFound), ("report.txt", 666, ErrorCode::ToolNotAllowed)]
    {
        let refused = call(&system, "telegram_send_file", &json!({"path": path, "chat_id": chat}));
        assert_eq!(refused.error_code(), Some(expected), "{refused:?}");
    }
    assert_eq!(count(), before);
}

#[test]
fn one_yes_is_for_all_files_of_a_call_as_they_were_shown() {
    let (telegram, system) = system(None, None);
    let second = system.workspace().join("second.txt");
    fs::write(&second, "and more").unwrap();
    let arguments = json!({"path": "report.txt", "more_paths": ["second.txt"], "chat_id": BOB});
    let send = || call(&system, "telegram_send_file", &arguments);
    let asked = send();
    let preview = system.control(Request::get("/approvals")).text();
    assert_says(&preview, &["report.txt (11 bytes", "second.txt (8 bytes", "go to the chat 12"]);
    grant(&system, asked_about(&asked));
    fs::write(&second, "not that").unwrap();
    assert_eq!(send().error_code(), REQUIRED, "another file is asked about again");
    fs::write(&second, "and more").unwrap();
    let sent = send();
    assert!(sent.ok, "{sent:?}");
    wait::until_true("both are sent", || {
        let files: Vec<Sent> = telegram.sent().into_iter().filter(|sent| sent.album.is_some()).collect();
        files.len() == 2 && files.iter().all(|file| file.chat_id == BOB)
    });
    fs::remove_file(&second).unwrap();
    assert_eq!(send().error_code(), Some(ErrorCode::NotFound), "nobody is asked about it");
}

#[test]
fn the_stream_of_the_control_port_tells_of_approvals() {
    let (_telegram, system) = system(None, None);
    let (address, token) = (address_of(&system.tokens().control_url), system.tokens().control_token);
    let request = Request::get("/approvals/stream").header("Authorization", &format!("Bearer {token}"));
    let mut lines = lines_of(&request, address);
    lines.find(|line| line.contains("listening")).expect("the stream goes on");
    let asked = send_to_bob(&system);
    lines.find(|line| line == "event: requested").expect("the stream goes on");
    assert_says(&lines.next().unwrap(), &[asked_about(&asked)]);
}
