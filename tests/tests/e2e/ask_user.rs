//! `ask_user`: the question reaches the people of the chat, the task waits without a worker, and their answer
//! is the result of the call, once, whatever is killed meanwhile.

use harness::fake_model::results;
use harness::fake_telegram::Sent;
use harness::fake_telegram::update::{ADA, Chat, GROUP};
use harness::http::{Answer, Request};
use harness::{FakeModel, FakeTelegram, ModelReply, System, wait};
use protocol::ErrorCode;
use serde_json::{Value, json};

use crate::{assert_says, until_sent};

/// A model that asks for a colour, and then repeats what it was answered.
fn asking_model(question: Value) -> FakeModel {
    FakeModel::start(move |request| match results(request).pop() {
        Some(result) => ModelReply::Text(format!("I was told: {result}")),
        None if says(request, "just answer") => ModelReply::Text("here I am".to_owned()),
        None => ModelReply::call("ask_user", &question),
    })
}

fn says(request: &Value, words: &str) -> bool {
    let messages = request["messages"].as_array();
    let last = messages.and_then(|messages| messages.last()).map(|last| last["content"].to_string());
    last.is_some_and(|last| last.contains(words))
}

fn colours() -> Value {
    json!({"question": "Which **colour**?", "options": ["Red", "Deep blue"]})
}

/// A system whose model asks this question.
fn asking(question: Value, more: &[(&str, &str)]) -> (FakeModel, FakeTelegram, System) {
    let (model, telegram) = (asking_model(question), FakeTelegram::start());
    let builder = System::builder().model(&model).workers(1).telegram(&telegram, "4711,12,-77");
    let system = builder.variables(more).start();
    (model, telegram, system)
}

/// The question as the chat has it, once the task waits without a worker.
fn asked(telegram: &FakeTelegram, system: &System, text: &str) -> Sent {
    let parked = "select count(*) from inbox where state = 'queued' and id in (select task_id from parked)";
    wait::until_true("the task gives its worker free", || system.database().count(parked) == 1);
    system.wait_until_all_is_sent();
    let is_it =
        |sent: &Sent| sent.method == "sendmessage" && !sent.is_progress && sent.text.starts_with(text);
    wait::until("the chat is asked", || telegram.sent().into_iter().rfind(is_it))
}

/// The reply of the only task that answers.
fn reply(telegram: &FakeTelegram) -> String {
    let is_it = |sent: &Sent| sent.method == "sendmessage" && sent.text.contains("I was told");
    until_sent(telegram, "the task is answered", is_it).text
}

/// What the question says now.
fn edited(telegram: &FakeTelegram, asked: &Sent) -> Sent {
    wait::until("the question says what was answered", || {
        let is_it = |sent: &Sent| sent.method == "editmessagetext" && sent.target == Some(asked.number);
        telegram.sent().into_iter().rfind(is_it)
    })
}

fn answering(chat: Chat, by: i64, asked: &Sent, text: &str) -> Value {
    let mut question = chat.text(&asked.text)["message"].clone();
    question["message_id"] = asked.number.into();
    question["from"] = json!({"id": 123_456, "is_bot": true, "first_name": "Bot", "username": "fake_bot"});
    let from = json!({"id": by, "is_bot": false, "first_name": "Ada"});
    chat.with(&json!({"text": text, "reply_to_message": question, "from": from}))
}

/// A message of somebody in the group.
fn by(id: i64, text: &str) -> Value {
    GROUP.with(&json!({"text": text, "from": {"id": id, "is_bot": false, "first_name": "Bob"}}))
}

fn questions(system: &System) -> usize {
    system.database().events_of("approval.requested")
}

#[test]
fn a_press_of_an_option_is_the_result_and_the_task_waits_without_a_worker() {
    let (_model, telegram, system) = asking(colours(), &[]);
    telegram.push(ADA.text("paint it"));
    let question = asked(&telegram, &system, "Which colour?");
    let buttons = question.buttons();
    assert_eq!(buttons.iter().map(|(label, _)| label.as_str()).collect::<Vec<_>>(), ["Red", "Deep blue"]);
    telegram.push(ADA.text("/status"));
    let tells = |sent: &Sent| sent.text.contains("Which **colour**?") && sent.text.contains("Today");
    until_sent(&telegram, "the chat reads what waits", tells);
    // Another chat has the worker meanwhile.
    telegram.push(Chat { id: 12 }.text("just answer"));
    until_sent(&telegram, "it is answered", |sent| sent.text == "here I am");

    let stranger = telegram.press_answered(ADA, 666, question.number, &buttons[1].1);
    assert_eq!(stranger, "Answered.", "in a private chat there is one person");
    assert_says(&reply(&telegram), &["exit 0", "Answered by Ada (ID 666): Deep blue"]);
    let now = edited(&telegram, &question);
    assert_says(&now.text, &["Which colour?", "Answered by Ada (ID 666): Deep blue"]);
    assert!(now.markup.is_null(), "{now:?}");
    assert_says(&telegram.press_answered(ADA, ADA.id, question.number, &buttons[0].1), &["before"]);
    assert_eq!(questions(&system), 1);
    let granted = "select payload ->> 'answer' from events where type = 'approval.granted'";
    assert_eq!(system.database().texts(granted), ["Deep blue"]);
}

#[test]
fn own_words_are_the_result_where_they_are_asked_for_and_no_task() {
    let (_model, telegram, system) = asking(json!({"question": "What name?"}), &[]);
    telegram.push(ADA.text("make a file"));
    let question = asked(&telegram, &system, "What name?");
    assert!(question.markup.is_null(), "{question:?}");
    telegram.push(ADA.text("/approvals"));
    let again = wait::until("it comes once more", || {
        let all = telegram.sent();
        let is_it = |sent: &&Sent| sent.method == "sendmessage" && sent.text.starts_with("What name?");
        all.iter().filter(is_it).nth(1).cloned()
    });
    telegram.push(ADA.text("yes"));
    assert_says(&reply(&telegram), &["Answered by Ada (ID 4711): yes"]);
    assert_says(&edited(&telegram, &again).text, &["Answered by Ada (ID 4711): yes"]);
    let tasks = "select count(*) from inbox where state <> 'skipped'";
    assert_eq!(system.database().count(tasks), 1, "an answer is no task");
}

#[test]
fn where_only_options_count_a_reply_names_one_and_other_messages_wait() {
    let (_model, telegram, system) = asking(colours(), &[]);
    telegram.push(ADA.text("paint it"));
    let question = asked(&telegram, &system, "Which colour?");
    telegram.push(ADA.text("/queue just answer"));
    telegram.push(answering(ADA, ADA.id, &question, "green"));
    let tells_how = |sent: &Sent| sent.text.starts_with("Please press one of the buttons");
    until_sent(&telegram, "its sender reads how to answer", tells_how);
    telegram.push(answering(ADA, ADA.id, &question, "1"));
    assert_says(&reply(&telegram), &["Answered by Ada (ID 4711): Red"]);
    until_sent(&telegram, "the message behind it is run", |sent| sent.text == "here I am");
}

#[test]
fn in_a_group_the_person_who_asked_answers_or_an_approver() {
    let question = json!({"question": "Which colour?", "options": ["Red", "Blue"], "allow_free_text": true});
    let more = [
        ("AUTONOUS_APPROVERS", "4711"),
        ("AUTONOUS_TELEGRAM_GROUP_TRIGGER", "all"),
        ("AUTONOUS_TELEGRAM_GROUP_MEMBERS", "all"),
    ];
    let (_model, telegram, system) = asking(question, &more);
    telegram.push(by(12, "paint it"));
    let question = asked(&telegram, &system, "Which colour?");
    let buttons = question.buttons();
    let refused = telegram.press_answered(GROUP, 13, question.number, &buttons[0].1);
    assert_says(&refused, &["Only the person who asked for this task"]);
    telegram.push(answering(GROUP, 13, &question, "green"));
    let refuses = |sent: &Sent| sent.text.starts_with("Only the person who asked");
    until_sent(&telegram, "another one is refused", refuses);
    // What somebody else says is a message as any other, and so is what an approver says to others.
    telegram.push(by(13, "just answer"));
    telegram.push(by(4711, "just answer"));
    telegram.push(by(12, "green, please"));
    assert_says(&reply(&telegram), &["Answered by Bob (ID 12): green, please"]);

    telegram.push(by(12, "paint it again"));
    let question = asked(&telegram, &system, "Which colour?");
    let pressed = telegram.press_answered(GROUP, 4711, question.number, &question.buttons()[1].1);
    assert_eq!(pressed, "Answered.");
    assert_says(&edited(&telegram, &question).text, &["(ID 4711): Blue"]);
}

#[test]
fn in_a_group_where_the_bot_is_mentioned_only_what_speaks_to_it_is_an_answer() {
    let question = json!({"question": "Which colour?"});
    let (_model, telegram, system) = asking(question, &[("AUTONOUS_TELEGRAM_GROUP_MEMBERS", "all")]);
    for answered_by_reply in [true, false] {
        let before = telegram.sent().len();
        telegram.push(by(12, "@fake_bot paint it"));
        let question = asked(&telegram, &system, "Which colour?");
        // What people say to each other is no answer, and no task either.
        telegram.push(by(12, "green would be nice"));
        telegram.push(by(13, "rather black"));
        wait::until_true("they were received", || telegram.unconfirmed() == 0);
        assert_eq!(system.database().count("select count(*) from questions where is_open"), 1);
        match answered_by_reply {
            true => telegram.push(answering(GROUP, 12, &question, "blue")),
            false => telegram.push(by(12, "@fake_bot blue")),
        };
        let is_it = |sent: &Sent| sent.method == "sendmessage" && sent.text.contains("I was told");
        let reply =
            wait::until("the task is answered", || telegram.sent().split_off(before).into_iter().find(is_it));
        assert_says(&reply.text, &["(ID 12): blue"]);
    }
    let tasks = "select count(*) from inbox where state <> 'skipped'";
    assert_eq!((system.database().count(tasks), questions(&system)), (2, 2));
}

#[test]
fn a_question_outlives_a_kill_at_each_step_and_is_asked_and_answered_once() {
    let (_model, telegram, mut system) = asking(colours(), &[]);
    telegram.push(ADA.text("paint it"));
    let question = asked(&telegram, &system, "Which colour?");
    let red = question.buttons()[0].1.clone();
    system.kill();
    // It waits at Telegram.
    telegram.press(ADA, ADA.id, question.number, &red);
    system.restart();
    assert_says(&reply(&telegram), &["Answered by Ada (ID 4711): Red"]);
    assert_says(&edited(&telegram, &question).text, &["Answered by Ada (ID 4711): Red"]);
    assert_eq!(questions(&system), 1);

    // An answer that is stored, and is not passed on before everything is killed.
    telegram.push(ADA.text("paint it again"));
    let question = asked(&telegram, &system, "Which colour?");
    let tool_server = system.child("tool-server").pid;
    harness::signals::send(tool_server, rustix::process::Signal::STOP);
    telegram.push(answering(ADA, ADA.id, &question, "deep BLUE"));
    let stored = || system.database().count("select count(*) from decisions") == 1;
    wait::until_true("the answer is stored", stored);
    system.kill();
    harness::signals::send(tool_server, rustix::process::Signal::CONT);
    system.restart();
    assert_says(&edited(&telegram, &question).text, &["Answered by Ada (ID 4711): Deep blue"]);
    wait::until_true("the task is answered", || {
        let is_it = |sent: &&Sent| sent.method == "sendmessage" && sent.text.contains("(ID 4711): Deep blue");
        telegram.sent().iter().filter(is_it).count() == 1
    });
    assert_eq!(questions(&system), 2);
}

#[test]
fn an_attempt_that_is_cut_off_while_it_asks_leaves_its_question_and_answer_to_the_next() {
    for is_answered_before in [true, false] {
        let (model, telegram, mut system) = asking(colours(), &[]);
        telegram.push(ADA.text("paint it"));
        let (question, buttons) = telegram.question(ADA, 0);
        system.wait_until_all_is_sent();
        assert!(!system.database().has_event("task.parked"), "a worker still waits");
        system.kill();
        if is_answered_before {
            telegram.press(ADA, ADA.id, question.number, &buttons[0]);
        }
        system.restart();
        if !is_answered_before {
            wait::until_true("the model asks again", || model.requests().len() == 2);
            telegram.press_answered(ADA, ADA.id, question.number, &buttons[0]);
        }
        assert_says(&reply(&telegram), &["Answered by Ada (ID 4711): Red"]);
        assert_says(&edited(&telegram, &question).text, &["Answered by Ada (ID 4711): Red"]);
        assert_eq!((questions(&system), model.requests().len()), (1, 3));
    }
}

#[test]
fn without_an_answer_the_result_says_so_and_a_stop_withdraws_the_question() {
    let (_model, telegram, system) = asking(colours(), &[("AUTONOUS_QUESTION_TIMEOUT_SECONDS", "4")]);
    telegram.push(ADA.text("paint it"));
    let question = asked(&telegram, &system, "Which colour?");
    assert_says(&reply(&telegram), &["exit 0", "Nobody has answered in time."]);
    assert_says(&edited(&telegram, &question).text, &["Nobody has answered in time."]);
    assert_eq!(questions(&system), 1);

    telegram.push(ADA.text("paint it again"));
    let again = asked(&telegram, &system, "Which colour?");
    telegram.push(ADA.text("/stop"));
    assert_says(&edited(&telegram, &again).text, &["Withdrawn."]);
    telegram.push(ADA.text("just answer"));
    until_sent(&telegram, "the chat is free", |sent| sent.text == "here I am");
}

/// Calls `ask_user` as another program does.
fn call(system: &System, key: Option<&str>, wait: u64) -> Answer {
    let request = Request::call("ask_user", &colours()).of_session("agent:1");
    let request = request.header("Prefer", &format!("wait={wait}"));
    let request = key.into_iter().fold(request, |request, key| request.header("Idempotency-Key", key));
    system.ask_tool_server(request)
}

#[test]
fn other_programs_ask_an_approver_and_find_the_answer_by_their_key() {
    let (_model, telegram, system) = asking(colours(), &[("AUTONOUS_APPROVERS", "4711")]);
    let waits = call(&system, Some("one"), 0).json();
    let error = &waits["meta"]["error"];
    assert_eq!(error["code"], "APPROVAL_REQUIRED");
    assert_says(&error.to_string(), &["waits for the answer of a person", "Idempotency-Key"]);
    let id = waits["meta"]["data"]["approval_id"].as_str().unwrap().to_owned();
    let (asked, _) = telegram.question(ADA, 0);
    let listed = system.shown(&["approvals"]);
    assert_says(&listed, &["agent:1", "ask_user", "supervisor answer"]);
    assert_says(&system.shown(&["approvals", &id]), &["Which **colour**?", "1. Red", "2. Deep blue"]);
    for (arguments, why) in
        [(vec!["answer", &id, "green"], "must be one of"), (vec!["approve", &id], "has an `answer`")]
    {
        let refused = system.run_command(&arguments);
        assert!(!refused.status.success());
        assert_says(&String::from_utf8_lossy(&refused.stderr), &[why]);
    }
    assert_says(&system.shown(&["answer", &id, "2"]), &["Answered by the command line: Deep blue"]);
    assert_says(&edited(&telegram, &asked).text, &["Answered by the command line: Deep blue"]);
    let answered = json!({
        "answered": true, "answer": "Deep blue", "option": 2, "answered_by": "the command line",
    });
    for _ in 0..2 {
        let answer = call(&system, Some("one"), 60).json();
        assert_eq!(answer["meta"]["data"], answered);
        assert_eq!(answer["stdout"], "Answered by the command line: Deep blue\n");
    }
    // The same question under another key is another one, and so is one without a key.
    for key in [Some("two"), None] {
        assert_eq!(call(&system, key, 0).json()["meta"]["data"]["state"], "pending");
    }
    wait::until_true("all questions are recorded", || questions(&system) == 3);
    for bad in [
        json!({"question": " "}),
        json!({"question": "x", "options": ["a"]}),
        json!({"question": "x", "options": ["a", "A "]}),
        json!({"question": "x", "options": ["a", "b".repeat(61)]}),
        json!({"question": "x", "options": ["a", ""]}),
    ] {
        let answer = system.tool("ask_user", &bad);
        assert_eq!(answer.error_code(), Some(ErrorCode::InvalidArgument), "{bad}: {answer:?}");
    }
}
