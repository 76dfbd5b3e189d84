//! Calls that wait for a person: asked about in Telegram, on the command line and at the control port.

use std::fs;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use harness::fake_telegram::Sent;
use harness::fake_telegram::update::{ADA, Chat, GROUP};
use harness::http::{Answer, Request, address_of};
use harness::signals;
use harness::{FakeTelegram, System, wait};
use rustix::process::Signal;
use serde_json::json;

use crate::assert_says;

const BOB: Chat = Chat { id: 12 };

const RULES: &str = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\nreason = \"it writes\"\n";

/// A system that asks about `write`.
fn system(telegram: &FakeTelegram, approvers: Option<&str>) -> System {
    let builder = System::builder().telegram(telegram, "4711,12,-77").policy(RULES);
    let approvers = approvers.map(|approvers| ("AUTONOUS_APPROVERS", approvers));
    builder.variables(approvers.as_slice()).start()
}

/// Writes a file as a session, and waits for a decision meanwhile.
fn write(system: &System, session: &str, path: &str, content: &str) -> JoinHandle<Answer> {
    let tokens = system.tokens();
    let address = address_of(&tokens.tool_url);
    let request = Request::call("write", &json!({"path": path, "content": content}))
        .bearer(&tokens.tool_token)
        .of_session(session)
        .header("Prefer", "wait=120");
    thread::spawn(move || request.send(address))
}

/// A call of Ada's chat that waits, and the question about it with what its buttons carry.
fn with_question(approvers: Option<&str>) -> (FakeTelegram, System, JoinHandle<Answer>, Sent, Vec<String>) {
    let telegram = FakeTelegram::start();
    let system = system(&telegram, approvers);
    let call = write(&system, "telegram:4711", "a.txt", "hello");
    let (asked, buttons) = telegram.question(ADA, 0);
    (telegram, system, call, asked, buttons)
}

fn file(system: &System, path: &str) -> PathBuf {
    system.workspace().join(path)
}

#[test]
fn a_call_is_shown_decided_with_a_button_and_run_once() {
    let (telegram, system, call, asked, buttons) = with_question(Some("4711"));
    assert_says(&asked.text, &["May I call write", "It writes.", "a.txt", "hello"]);
    let labels: Vec<String> = asked.buttons().into_iter().map(|(label, _)| label).collect();
    assert_eq!(labels, ["Once", "This chat", "Deny"], "there is no task");
    let once = &buttons[0];

    // Neither somebody else who may use the bot, nor a stranger, nor a bot of the same number.
    for (chat, by) in [(BOB, 12), (ADA, 12), (GROUP, 666)] {
        let answer = telegram.press_answered(chat, by, asked.number, once);
        assert_eq!(answer, "Only an approver of this bot decides that.", "{by}");
    }
    assert!(!file(&system, "a.txt").exists());

    assert_eq!(telegram.press_answered(ADA, ADA.id, asked.number, once), "Allowed.");
    let answer = call.join().unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(fs::read_to_string(file(&system, "a.txt")).unwrap(), "hello");
    let now = telegram.edited(asked.number, 1);
    assert_says(&now.text, &["Allowed once by Ada", "ID 4711", "write", "a.txt"]);
    assert!(now.markup.is_null(), "{now:?}");

    let again = telegram.press_answered(ADA, ADA.id, asked.number, &buttons[2]);
    assert_says(&again, &["decided before"]);
    let unknown = "ask:0197a2a0-0000-7000-8000-000000000001:o";
    let answer = telegram.press_answered(ADA, ADA.id, asked.number, unknown);
    assert_eq!(answer, "This is not waited for any more.");
}

#[test]
fn a_task_that_waits_is_shown_as_waiting_until_it_goes_on() {
    let telegram = FakeTelegram::start();
    let system = system(&telegram, None);
    telegram.push(ADA.text(r#"write {"path": "a.txt", "content": "hello"}"#));
    let (asked, buttons) = telegram.question(ADA, 0);
    wait::until_true("the task gives its worker free", || system.database().has_event("task.parked"));
    wait::until("it is shown that it waits", || {
        telegram.progress().into_iter().find(|shown| shown.text.starts_with("Waiting for a decision · "))
    });
    telegram.push(ADA.text("/status"));
    wait::until("the chat is told", || {
        telegram.sent().into_iter().find(|sent| sent.text.starts_with("Waiting for a decision for "))
    });
    assert_eq!(telegram.press_answered(ADA, ADA.id, asked.number, &buttons[0]), "Allowed.");
    let last = |sent: &Sent| sent.method == "sendmessage" && sent.text.contains("exit 0");
    wait::until("it is answered", || telegram.sent().into_iter().find(last));
    assert_eq!(fs::read_to_string(file(&system, "a.txt")).unwrap(), "hello");
    wait::until_true("nothing is left of the progress", || telegram.visible_progress(ADA.id).is_empty());
}

#[test]
fn a_question_outlives_all_programs_and_its_button_works_afterwards() {
    let (telegram, mut system, call, asked, buttons) = with_question(None);
    system.wait_until_all_is_sent();
    system.kill();
    let _ = call.join();
    system.restart();
    assert_eq!(telegram.press_answered(ADA, ADA.id, asked.number, &buttons[0]), "Allowed.");
    assert_says(&telegram.edited(asked.number, 1).text, &["Allowed once"]);
    // The same call finds the decision, without asking again.
    let answer = write(&system, "telegram:4711", "a.txt", "hello").join().unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let questions = telegram.sent().into_iter().filter(|sent| !sent.markup.is_null());
    assert_eq!(questions.count(), 1);
}

#[test]
fn a_group_is_asked_if_an_approver_is_in_it_and_else_each_approver_in_private() {
    let telegram = FakeTelegram::start();
    let system = system(&telegram, Some("4711,12"));
    let first = write(&system, "telegram:-77", "a.txt", "from a group");
    let (ada, to_ada) = telegram.question(ADA, 0);
    let (bob, to_bob) = telegram.question(BOB, 0);
    assert_eq!(telegram.press_answered(BOB, 12, bob.number, &to_bob[2]), "Denied.");
    assert_eq!(first.join().unwrap().json()["meta"]["error"]["code"], "APPROVAL_DENIED");
    // Both get a question, and the other one's press comes too late.
    for asked in [&ada, &bob] {
        assert_says(&telegram.edited(asked.number, 1).text, &["Denied by Ada (ID 12)"]);
    }
    assert_says(&telegram.press_answered(ADA, ADA.id, ada.number, &to_ada[0]), &["decided before"]);

    telegram.administer(GROUP.id, &[12]);
    let second = write(&system, "telegram:-77", "b.txt", &"long ".repeat(2000));
    let (asked, buttons) = telegram.question(GROUP, 0);
    assert_says(&asked.text, &["only the beginning"]);
    let sent = telegram.sent();
    let whole = sent.iter().rfind(|sent| sent.method == "senddocument").unwrap();
    assert!(whole.chat_id == GROUP.id && whole.number < asked.number, "the file comes first");
    let (_, bytes) = whole.file.clone().unwrap();
    assert!(String::from_utf8(bytes).unwrap().contains(&"long ".repeat(2000)));
    assert_eq!(telegram.press_answered(GROUP, 12, asked.number, &buttons[0]), "Allowed.");
    assert_eq!(second.join().unwrap().status, 200);
}

#[test]
fn the_command_line_and_the_control_port_decide_as_well() {
    let telegram = FakeTelegram::start();
    let system = system(&telegram, Some("4711"));
    assert_says(&system.shown(&["approvals"]), &["Nothing waits"]);
    let first = write(&system, "local:me", "a.txt", "one");
    let (asked, _) = telegram.question(ADA, 0);
    let listed = system.shown_json(&["approvals", "--json"]);
    let id = listed["approvals"][0]["id"].as_str().unwrap().to_owned();
    let short = &id[id.len() - 8..];
    assert_says(&system.shown(&["approvals"]), &[short, "local:me", "write", "supervisor approve"]);
    assert_says(&system.shown(&["approvals", short]), &["May I call write", "\"content\": \"one\""]);
    assert_says(&system.shown(&["approve", short]), &["Allowed once by the command line"]);
    assert_eq!(first.join().unwrap().status, 200);
    assert_says(&telegram.edited(asked.number, 1).text, &["Allowed once by the command line"]);
    assert_says(&system.refused(&["deny", short, "--reason", "too late"]), &["decided before"]);
    assert_says(&system.refused(&["approve", "nothing"]), &["no such approval"]);

    let second = write(&system, "local:me", "b.txt", "two");
    let (asked, _) = telegram.question(ADA, 1);
    let listed = system.control(Request::get("/approvals?state=pending")).json();
    let path = format!("/approvals/{}", listed["approvals"][0]["id"].as_str().unwrap());
    assert_eq!(system.control(Request::get(&path)).json()["tool"], "write");
    let denial = json!({"decision": "deny", "reason": "not today"});
    assert_eq!(system.control(Request::post_json(&path, &denial)).status, 200);
    let refused = second.join().unwrap().json()["meta"]["error"].to_string();
    assert_says(&refused, &["APPROVAL_DENIED", "not today"]);
    assert_says(&telegram.edited(asked.number, 1).text, &["Denied by the control port: not today"]);
    assert_eq!(system.control(Request::post_json(&path, &denial)).status, 409);
    assert_eq!(system.control(Request::get("/approvals/..%2Ftools")).status, 404);
    // A caller of the tool server can decide neither there nor here.
    let own = Request::post_json(&path, &json!({"decision": "grant"}));
    assert_eq!(system.ask_openly(own.bearer(&system.tokens().tool_token)).status, 401);
}

#[test]
fn a_press_is_stored_before_it_is_answered_and_outlives_a_kill_of_all_programs() {
    let (telegram, mut system, call, asked, buttons) = with_question(None);
    system.wait_until_all_is_sent();
    // The tool server takes no decision now.
    let tool_server = system.child("tool-server").pid;
    signals::send(tool_server, Signal::STOP);
    let press = telegram.press(ADA, ADA.id, asked.number, &buttons[0]);
    let stored = || system.database().count("select count(*) from decisions") == 1;
    wait::until_true("the press is stored", stored);
    assert_eq!(telegram.answer_to(&press), None);
    system.kill();
    signals::send(tool_server, Signal::CONT);
    let _ = call.join();
    system.restart();
    assert_says(&telegram.edited(asked.number, 1).text, &["Allowed once by Ada"]);
    wait::until_true("it is passed on", || system.database().count("select count(*) from decisions") == 0);
    let answer = write(&system, "telegram:4711", "a.txt", "hello").join().unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[test]
fn a_press_is_answered_and_takes_effect_later_while_the_tool_server_does_not_answer() {
    let (telegram, system, call, asked, buttons) = with_question(None);
    let tool_server = system.child("tool-server").pid;
    signals::send(tool_server, Signal::STOP);
    let said = telegram.press_answered(ADA, ADA.id, asked.number, &buttons[2]);
    assert_says(&said, &["Noted", "takes effect"]);
    let again = telegram.press_answered(ADA, ADA.id, asked.number, &buttons[0]);
    assert_says(&again, &["decided before"]);
    signals::send(tool_server, Signal::CONT);
    assert_eq!(call.join().unwrap().json()["meta"]["error"]["code"], "APPROVAL_DENIED");
    assert_says(&telegram.edited(asked.number, 1).text, &["Denied by Ada"]);
}

#[test]
fn the_buttons_of_a_question_that_was_sent_twice_go_with_their_press() {
    let (telegram, mut system, call, asked, buttons) = with_question(None);
    system.wait_until_all_is_sent();
    // As if the first one had been sent by a supervisor that was killed before it could mark it.
    let twin = telegram.send_again(asked.number);
    assert_eq!(telegram.press_answered(ADA, ADA.id, asked.number, &buttons[0]), "Allowed.");
    assert_eq!(call.join().unwrap().status, 200);
    telegram.edited(asked.number, 1);
    let late = telegram.press(ADA, ADA.id, twin, &buttons[2]);
    assert_says(&wait::until("it is answered", || telegram.answer_to(&late)), &["decided before"]);
    wait::until_true("its buttons go", || {
        telegram.sent().iter().any(|sent| sent.target == Some(twin) && sent.markup.is_null())
    });
    system.stop();
}

#[test]
fn a_typed_yes_counts_as_a_reply_to_the_question_and_is_no_task_otherwise() {
    let telegram = FakeTelegram::start();
    let system = system(&telegram, None);
    telegram.push(ADA.text("write path=a.txt content=hello"));
    let (asked, _) = telegram.question(ADA, 0);
    telegram.push(ADA.text("Yes"));
    let told = wait::until("its sender reads how to decide", || {
        telegram.sent().into_iter().find(|sent| sent.text.contains("reply to the question with yes or no"))
    });
    assert_eq!(told.chat_id, ADA.id);
    assert!(!file(&system, "a.txt").exists());

    // The question comes once more, and the older one has no buttons.
    telegram.push(ADA.text("/approvals"));
    let (again, _) = telegram.question(ADA, 1);
    wait::until_true("the older one is edited", || {
        let edit = |sent: &Sent| sent.method == "editmessagetext" && sent.target == Some(asked.number);
        telegram.sent().iter().any(|sent| edit(sent) && sent.text.contains("comes again below"))
    });
    let mut yes = ADA.text("yes");
    yes["message"]["reply_to_message"] = ADA.text("May I call write?")["message"].clone();
    yes["message"]["reply_to_message"]["message_id"] = again.number.into();
    telegram.push(yes);
    wait::until_true("it is done", || file(&system, "a.txt").exists());
    wait::until_true("and said", || {
        let edit = |sent: &Sent| sent.method == "editmessagetext" && sent.target == Some(again.number);
        telegram.sent().iter().any(|sent| edit(sent) && sent.text.contains("Allowed once by Ada"))
    });
    let tasks = "select count(*) from inbox where state not in ('skipped', 'done')";
    wait::until_true("only the call was a task", || system.database().count(tasks) == 0);
    assert_eq!(system.database().count("select count(*) from inbox where state = 'done'"), 1);

    // Without a question it is a message as any other.
    telegram.push(ADA.text("yes"));
    wait::until_true("it is run", || {
        system.database().count("select count(*) from inbox where state <> 'skipped'") == 2
    });
    telegram.push(ADA.text("/approvals"));
    wait::until_true("nothing waits", || {
        telegram.sent().iter().any(|sent| sent.text == "No call waits for a decision in this chat.")
    });
}
