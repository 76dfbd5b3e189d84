//! What somebody says while a task of their chat runs reaches its model before the next turn.

use harness::fake_telegram::texts;
use harness::fake_telegram::update::{ADA, GROUP};
use harness::{FakeModel, FakeTelegram, ModelReply, Request, System, wait};
use serde_json::{Value, json};

use crate::assert_says;

/// A command that runs until the file `go` is there.
const WAITS: &str = "until test -e go; do sleep 0.1; done";

/// A model that makes a call which waits for the file `go`, and then says what the people said.
fn model() -> FakeModel {
    FakeModel::start(|request| match harness::fake_model::results(request).len() {
        0 => ModelReply::call("bash", &json!({"cmd": WAITS})),
        _ => ModelReply::Text(format!("Heard: {}", said(request).join(" | "))),
    })
}

/// What people say in a conversation, each in a line, without who they are.
fn said(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap().iter();
    let of_people = messages.filter(|message| message["role"] == "user");
    let texts = of_people.filter_map(|message| message["content"].as_str());
    texts.map(|text| text.lines().last().unwrap_or_default().to_owned()).collect()
}

fn started(telegram: &FakeTelegram, model: &FakeModel) -> System {
    System::builder().telegram(telegram, "4711").model(model).workers(1).start()
}

/// Waits until the call runs.
fn calling(system: &System) {
    wait::until_true("the call runs", || system.database().has_event("tool_call.started"));
}

fn stored(system: &System, count: i64) {
    wait::until_true("the messages are stored", || {
        system.database().count("select count(*) from inbox") == count
    });
}

fn go(system: &System) {
    std::fs::write(system.workspace().join("go"), "").unwrap();
}

fn added(system: &System) -> Vec<String> {
    system.database().texts("select payload ->> 'text' from events where type = 'task.added' order by seq")
}

#[test]
fn what_is_said_during_a_call_is_read_before_the_next_turn_and_answered_with_the_task() {
    let (telegram, model) = (FakeTelegram::start(), model());
    let mut system = started(&telegram, &model);
    telegram.push(ADA.text("one"));
    calling(&system);
    telegram.push(ADA.text("two"));
    telegram.push(ADA.text("three"));
    stored(&system, 3);
    let progress = || telegram.progress().pop();
    wait::until_true("the progress is shown", || progress().is_some());
    go(&system);
    assert_eq!(telegram.wait_for_sent(1)[0].text, "Heard: one | two | three");
    assert_eq!(added(&system), ["two", "three"]);
    let asked = model.requests().pop().unwrap()["messages"].to_string();
    assert_says(&asked, &["[Ada (ID 4711) adds:]\\ntwo"]);
    assert_says(&system.shown(&["tree", "--all"]), &["task.added"]);
    // The next task knows all of it.
    telegram.push(ADA.text("four"));
    let next = telegram.wait_for_sent(2).remove(1).text;
    assert!(next.contains("three") && next.ends_with("| four"), "{next}");
    assert!(system.stop().success());
    assert_eq!(telegram.sent().len(), 2);
}

#[test]
fn what_is_said_during_the_last_turn_and_what_is_queued_are_tasks_of_their_own() {
    let replies = ["First.", "Second.", "Third."].map(|text| ModelReply::text(text).held());
    let (telegram, model) = (FakeTelegram::start(), FakeModel::answering(replies.to_vec()));
    let system = started(&telegram, &model);
    telegram.push(ADA.text("one"));
    wait::until_true("the model is asked", || model.requests().len() == 1);
    telegram.push(ADA.text("/queue two"));
    telegram.push(ADA.text("three"));
    stored(&system, 3);
    (0..3).for_each(|_| model.release());
    assert_eq!(texts(&telegram.wait_for_sent(3)), ["First.", "Second.", "Third."]);
    let last: Vec<String> = model.requests().iter().filter_map(|request| said(request).pop()).collect();
    assert_eq!((last, added(&system)), (["one", "two", "three"].map(str::to_owned).to_vec(), vec![]));
    telegram.push(ADA.text("/queue"));
    assert_says(&telegram.wait_for_sent(4)[3].text, &["After /queue, write"]);
}

#[test]
fn queue_makes_a_task_of_its_own_beside_what_is_added() {
    let (telegram, model) = (FakeTelegram::start(), model());
    let system = started(&telegram, &model);
    telegram.push(ADA.text("one"));
    calling(&system);
    telegram.push(ADA.text("/queue later"));
    telegram.push(ADA.text("now"));
    stored(&system, 3);
    go(&system);
    let answers = telegram.wait_for_sent(2);
    assert_eq!(answers[0].text, "Heard: one | now");
    assert!(answers[1].text.ends_with(" | later"), "{answers:?}");
    assert_eq!(added(&system), ["now"]);
}

#[test]
fn a_kill_at_any_step_neither_loses_nor_doubles_what_was_added() {
    for killed in ["agent-worker", "supervisor"] {
        for is_read in [false, true] {
            let telegram = FakeTelegram::start();
            // The second turn of the first attempt never ends.
            let mut turns = 0;
            let model = FakeModel::start(move |request| {
                turns += 1;
                match (harness::fake_model::results(request).len(), turns) {
                    (0, 1) => ModelReply::call("bash", &json!({"cmd": WAITS})),
                    (1, 2) => ModelReply::Silent,
                    _ => ModelReply::Text(format!("Heard: {}", said(request).join(" | "))),
                }
            });
            let mut system = started(&telegram, &model);
            telegram.push(ADA.text("one"));
            calling(&system);
            telegram.push(ADA.text("two"));
            stored(&system, 2);
            if is_read {
                go(&system);
                wait::until_true("it is read", || model.requests().len() == 2 && added(&system) == ["two"]);
            }
            system.kill_and_continue(killed);
            go(&system);
            let context = format!("{killed}, read before: {is_read}");
            let heard = telegram.wait_for_sent(1)[0].text.matches("two").count();
            let open = "select count(*) from inbox where state in ('queued', 'in_progress')";
            wait::until_true("all is done", || system.database().count(open) == 0);
            // Before its model has read it, it may as well be a task of its own.
            let answers = if heard == 1 { 1 } else { 2 };
            let all: String = telegram.wait_for_sent(answers).into_iter().map(|sent| sent.text).collect();
            assert!(all.contains("two"), "{context}: {all}");
            assert_eq!(added(&system).len(), heard, "{context}: {all}");
            assert!(!is_read || heard == 1, "{context}: {all}");
            assert!(system.stop().success());
            assert_eq!(telegram.sent().len(), answers, "{context}: {all}");
        }
    }
}

#[test]
fn what_is_said_while_a_task_waits_for_a_person_is_read_when_it_goes_on() {
    let rules = "[[rule]]\ntools = [\"write\"]\ndecision = \"ask\"\nreason = \"it writes\"\n";
    let model = FakeModel::start(|request| match harness::fake_model::results(request).len() {
        0 => ModelReply::call("write", &json!({"path": "a", "content": "x"})),
        _ => ModelReply::Text(format!("Heard: {}", said(request).join(" | "))),
    });
    let mut system = System::builder().model(&model).policy(rules).workers(1).start();
    let first = system.say("one");
    wait::until_true("it waits", || system.database().has_event("task.parked"));
    let second = system.say("two");
    assert_eq!(system.database().task_states(), ["queued", "queued"]);
    system.kill();
    system.restart();
    system.decide(&system.pending_approval(), &json!({"decision": "grant"}));
    assert_eq!([&first, &second].map(|task| system.reply(task)), ["Heard: one | two"; 2]);
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn in_a_group_everybody_whom_the_bot_obeys_adds_by_speaking_to_it_and_no_other() {
    let (telegram, model) = (FakeTelegram::start(), model());
    telegram.administer(GROUP.id, &[1, 2]);
    let system = System::builder().telegram(&telegram, "4711,-77").model(&model).workers(1).start();
    let mut number = 100;
    let mut says = |person: i64, text: &str| {
        number += 1;
        let from = json!({"id": person, "is_bot": false, "first_name": format!("Person {person}")});
        telegram.push(GROUP.with(&json!({"message_id": number, "text": text, "from": from})));
    };
    says(1, "@fake_bot one");
    calling(&system);
    says(2, "@fake_bot two");
    says(1, "what do they want?");
    says(3, "@fake_bot three");
    says(1, "@fake_bot four");
    stored(&system, 5);
    go(&system);
    // The third is not obeyed, which the group reads; the answer quotes the message that began the task.
    wait::until_true("the task is answered", || {
        telegram.sent().iter().any(|sent| sent.text.starts_with("Heard"))
    });
    let sent = telegram.wait_for_sent(2);
    let answer = sent.iter().find(|sent| sent.text.starts_with("Heard")).unwrap();
    assert_eq!((answer.text.as_str(), answer.answers), ("Heard: one | two | four", Some(101)), "{sent:?}");
    assert_eq!(added(&system), ["two", "four"]);
    let asked = model.requests().pop().unwrap()["messages"].to_string();
    assert_says(&asked, &["[Person 2 (ID 2) adds:]\\ntwo", "[Person 1 (ID 1) adds:]\\nfour"]);
    assert!(!asked.contains("what do they want") && !asked.contains("three"), "{asked}");
    assert_eq!(sent.len(), 2, "{sent:?}");
}

#[test]
fn an_edit_of_what_was_added_is_a_correction_and_the_same_again_is_none() {
    let (telegram, model) = (FakeTelegram::start(), model());
    let system = started(&telegram, &model);
    telegram.push(ADA.text("one"));
    calling(&system);
    let numbered = |kind: &str, text: &str| {
        let mut update = json!({kind: ADA.text(text)["message"]});
        update[kind]["message_id"] = json!(77);
        update
    };
    telegram.push(numbered("message", "two"));
    stored(&system, 2);
    go(&system);
    assert_eq!(telegram.wait_for_sent(1)[0].text, "Heard: one | two");
    telegram.push(numbered("edited_message", "two"));
    telegram.push(numbered("edited_message", "zwei"));
    let answer = telegram.wait_for_sent(2).remove(1).text;
    assert!(answer.ends_with("| zwei"), "{answer}");
    assert_eq!(telegram.sent().len(), 2);
}

#[test]
fn in_the_local_channel_both_messages_get_the_answer() {
    let model = model();
    let system = System::builder().model(&model).start();
    let first = system.say("one");
    calling(&system);
    let second = system.say("two");
    go(&system);
    for task in [&first, &second] {
        assert_eq!(system.reply(task), "Heard: one | two");
        let status = system.control(Request::get(&format!("/messages/{task}"))).json();
        assert_eq!((&status["task_id"], &status["status"]), (&json!(task), &json!("done")));
    }
    let parts = system.database().count("select count(*) from inbox where state = 'skipped'");
    assert_eq!(parts, 1);
}
