//! Commands in a chat: answered by the supervisor, without a model.

use std::fs;
use std::time::{Duration, Instant};

use harness::fake_model::KEY;
use harness::fake_telegram::update::{ADA, Chat, listed};
use harness::{FakeModel, FakeTelegram, ModelReply, System, wait};

use crate::{assert_says, with_telegram};

const SLOW: &str = r#"/bash {"cmd": "sleep 300", "timeout_seconds": 300}"#;

#[test]
fn the_menu_lists_the_commands_and_each_is_answered() {
    let (telegram, system) = with_telegram();
    let menu = wait::until("the menu is set", || Some(telegram.menu_of(1)).filter(|menu| !menu.is_empty()));
    for name in ["start", "help", "status", "stop", "cancel", "new", "retry", "whoami", "model"] {
        assert!(menu.iter().any(|listed| listed == name), "{name}: {menu:?}");
    }
    for (text, parts) in [
        ("/start", &["No model is configured", "ls path=.", "/status"][..]),
        ("/help@fake_bot", &["I am Autonous"]),
        ("/status", &["Nothing runs.", "Nothing waits.", "Today (UTC): 0 tasks"]),
        ("/stop", &["nothing to cancel"]),
        ("/stop it", &["/cancel all stops everything"]),
        ("/new", &["A new conversation"]),
        ("/retry", &["nothing to run again"]),
        ("/whoami", &["Ada (ID 4711)", "the ID 4711 in the channel telegram"]),
        ("@fake_bot /model", &["No model is configured"]),
        // A text that is no command of ours is the call of a tool.
        ("/ls path=unknown", &["unknown"]),
        ("@fake_bot ls path=mentioned", &["mentioned"]),
    ] {
        assert_says(&telegram.ask(ADA, text), parts);
    }
    let tasks = system.database().texts("select text from inbox where text <> '' order by seq");
    assert_eq!(tasks, ["/ls path=unknown", "ls path=mentioned"]);
}

#[test]
fn status_tells_what_runs_and_what_waits() {
    let (telegram, system) = with_telegram();
    telegram.push(ADA.text(SLOW));
    telegram.push(ADA.text("ls path=."));
    wait::until_true("the command runs", || system.database().has_event("tool_call.started"));
    let answer = telegram.ask(ADA, "/status");
    assert_says(&answer, &["Running for ", "sleep 300", "last tool bash", "1 message waits."]);
    telegram.ask(ADA, "/stop all");
}

#[test]
fn a_new_conversation_begins_without_what_was_said() {
    let telegram = FakeTelegram::start();
    let model = FakeModel::answering(["one", "two", "three"].map(ModelReply::text).to_vec());
    let _system = System::builder().telegram(&telegram, "4711").model(&model).start();
    telegram.ask(ADA, "the password is swordfish");
    telegram.ask(ADA, "what did I say?");
    assert_says(&telegram.ask(ADA, "/new"), &["A new conversation"]);
    telegram.ask(ADA, "and now?");
    let knows: Vec<bool> =
        model.requests().iter().map(|request| request.to_string().contains("swordfish")).collect();
    assert_eq!(knows, [true, true, false]);
}

#[test]
fn a_chat_switches_among_the_models_of_the_file_and_keeps_its_choice() {
    let telegram = FakeTelegram::start();
    let [large, small] =
        ["from large", "from small"].map(|text| FakeModel::answering(vec![ModelReply::text(text)]));
    let entry = |name: &str, model: &FakeModel| {
        format!(
            "[[model]]\nname = \"{name}\"\nprovider = \"openai\"\nbase_url = \"{}\"\n\
             api_key_env = \"SOME_KEY\"\n",
            model.base_url()
        )
    };
    let fixed = "chats = [\"telegram:6\"]\n";
    let file = format!("{}{}{fixed}", entry("large", &large), entry("small", &small));
    let builder = System::builder().telegram(&telegram, "4711,5,6").config("models.toml", &file);
    let mut system = builder.variable("SOME_KEY", KEY).start();
    assert_says(&telegram.ask(ADA, "/model"), &["large answers in this chat", "large, small"]);
    assert_eq!(telegram.ask(ADA, "hi"), "from large");
    assert_says(&telegram.ask(ADA, "/model tiny"), &["no model “tiny”", "large, small"]);
    assert_says(&telegram.ask(ADA, "/model small"), &["small answers in this chat"]);
    assert_eq!(telegram.ask(ADA, "hi"), "from small");
    assert_eq!(telegram.ask(Chat { id: 5 }, "hi"), "from large", "another chat keeps its own");
    assert_says(&telegram.ask(Chat { id: 6 }, "/model large"), &["small always answers"]);
    assert_eq!(telegram.ask(Chat { id: 6 }, "hi"), "from small");
    assert!(system.stop().success());
    system.restart();
    assert_eq!(telegram.ask(ADA, "hi"), "from small");
    assert_says(&telegram.ask(ADA, "/model default"), &["large answers in this chat"]);
    assert_eq!(telegram.ask(ADA, "hi"), "from large");
    let names = system.database().texts(
        "select distinct payload ->> 'model_name' from events where type = 'turn.completed' order by 1",
    );
    assert_eq!(names, ["large", "small"]);
}

#[test]
fn files_are_listed_and_sent_as_they_are() {
    let (telegram, system) = with_telegram();
    assert_eq!(telegram.ask(ADA, "/files"), "There are no files here.");
    fs::create_dir(system.workspace().join("my notes")).unwrap();
    fs::write(system.workspace().join("my notes/today.md"), "# Today\n").unwrap();
    fs::write(system.workspace().join("empty"), "").unwrap();
    assert_eq!(telegram.ask(ADA, "/files"), "empty\nmy notes/");
    assert_eq!(telegram.ask(ADA, "/files my notes"), "today.md");
    assert_says(&telegram.ask(ADA, "/files no/such"), &["no/such"]);
    telegram.ask(ADA, "/get my notes/today.md");
    let sent = telegram.sent().pop().unwrap();
    assert_eq!(sent.method, "senddocument");
    assert_eq!(sent.file, Some(("today.md".to_owned(), b"# Today\n".to_vec())));
    assert_says(&telegram.ask(ADA, "/get empty"), &["empty"]);
    assert_says(&telegram.ask(ADA, "/get /etc/passwd"), &["/etc/passwd"]);
    assert_eq!(system.database().count("select count(*) from file_requests"), 0);
}

/// Each in a chat of its own, because a chat is sent one message a second.
#[test]
fn a_command_is_answered_at_once() {
    let telegram = FakeTelegram::start();
    let _system = System::builder().telegram(&telegram, &listed(1..=41)).start();
    let wait = |id: i64| {
        let (began, before) = (Instant::now(), telegram.sent().len());
        telegram.push(Chat { id }.text("/status"));
        telegram.wait_for_sent(before + 1)[before].at - began
    };
    let mut times: Vec<Duration> = (1..=41).map(wait).collect();
    times.sort_unstable();
    eprintln!("a command: p50 {:?}, p95 {:?}", times[20], times[38]);
    assert!(times[20] < Duration::from_secs(1), "{times:?}");
}

#[test]
fn twenty_megabytes_come_in_and_leave_with_little_memory_of_the_supervisor() {
    const LARGE: usize = 20_000_000;
    let (telegram, system) = with_telegram();
    let content: Vec<u8> = (0..LARGE).map(|at| u8::try_from(at % 251).unwrap()).collect();
    fs::write(system.workspace().join("large.bin"), &content).unwrap();
    fs::write(system.workspace().join("small.bin"), "x").unwrap();
    // Once before, so that what every first call costs is not counted.
    telegram.ask(ADA, "/get small.bin");
    let peak = |action: &dyn Fn()| {
        system.supervisor().forget_peak();
        let before = system.supervisor().peak_kb();
        action();
        system.supervisor().peak_kb().saturating_sub(before)
    };
    let more_out = peak(&|| drop(telegram.ask(ADA, "/get large.bin")));
    let (name, sent) = telegram.sent().pop().unwrap().file.unwrap();
    assert!(name == "large.bin" && sent == content, "{name}, {} bytes", sent.len());
    telegram.add_file("large", content);
    let more_in = peak(&|| {
        let before = telegram.sent().len();
        telegram.push(ADA.document("large", "in.bin", "application/octet-stream", LARGE));
        telegram.wait_for_sent(before + 1);
    });
    println!("20 MB out: {more_out} kB more, in: {more_in} kB more");
    assert!(more_out < 10_000 && more_in < 10_000, "{more_out} kB out, {more_in} kB in");
    let left = "select (select count(*) from outgoing_files) + (select count(*) from outgoing_parts)";
    assert_eq!(system.database().count(left), 0);
}
