//! What a task changed is taken back from the command line, the control port, a Telegram chat and the
//! terminal.

use std::fs;
use std::path::Path;

use harness::fake_telegram::update::{ADA, Chat};
use harness::pty::Terminal;
use harness::{FakeModel, FakeTelegram, ModelReply, Request, System, binaries};
use serde_json::{Value, json};

use crate::{assert_says, with_telegram};

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

fn call(tool: &str, arguments: Value) -> ModelReply {
    ModelReply::call(tool, &arguments)
}

/// A model that writes `a` twice and `b` once in its first task, and then only talks.
fn writing_model() -> FakeModel {
    FakeModel::answering(vec![
        call("write", json!({"path": "a", "content": "one\n"})),
        call("write", json!({"path": "a", "content": "two\n"})),
        call("write", json!({"path": "d/b", "content": "b\n"})),
        ModelReply::Text("written".to_owned()),
        ModelReply::Text("done".to_owned()),
    ])
}

fn undo(system: &System, id: &str) -> (bool, Value) {
    let output = system.run_command(&["undo", id, "--json"]);
    let stdout = String::from_utf8(output.stdout).unwrap();
    let told = serde_json::from_str(&stdout).unwrap_or_else(|_| {
        panic!("no JSON: {stdout}{}", String::from_utf8_lossy(&output.stderr));
    });
    (output.status.success(), told)
}

#[test]
fn what_an_undo_that_was_cut_off_left_without_a_record_does_not_stop_the_next_one() {
    let model = writing_model();
    let system = System::builder().model(&model).start();
    let (a, b) = (system.workspace().join("a"), system.workspace().join("d/b"));
    let task = system.run_task("write");
    // The newest change is undone, and the server was killed before it could say so.
    fs::remove_file(&b).unwrap();
    let (succeeded, told) = undo(&system, &task);
    assert!(succeeded, "{told}");
    assert!(!a.exists() && !b.exists());
    assert_eq!(told["undone"].as_array().unwrap().len(), 3, "{told}");
    let again = system.run_command(&["undo", &task]);
    assert!(!again.status.success(), "each of them is recorded now");
}

#[test]
fn all_changes_of_a_task_are_undone_or_none_and_an_undo_is_undone_by_its_own_id() {
    let model = writing_model();
    let system = System::builder().model(&model).start();
    let (a, b) = (system.workspace().join("a"), system.workspace().join("d/b"));
    let task = system.run_task("write");
    assert_eq!((text(&a).as_deref(), text(&b).as_deref()), (Some("two\n"), Some("b\n")));

    // One file is not as the task left it: the others are left alone, too.
    fs::write(&a, "by hand\n").unwrap();
    let (succeeded, told) = undo(&system, &task);
    assert!(!succeeded && told["undone"] == json!([]), "{told}");
    assert_eq!(told["refused"][0]["code"], "CONFLICT");
    assert_eq!((text(&a).as_deref(), text(&b).as_deref()), (Some("by hand\n"), Some("b\n")));
    let words = system.run_command(&["undo", &task[task.len() - 8..]]);
    assert_says(&String::from_utf8(words.stdout).unwrap(), &["Nothing was undone", "was changed since"]);

    fs::write(&a, "two\n").unwrap();
    let (succeeded, told) = undo(&system, &task);
    assert!(succeeded, "{told}");
    assert_eq!((text(&a), text(&b), system.workspace().join("d").exists()), (None, None, false));
    let undone = told["undone"].as_array().unwrap();
    assert_eq!(undone.len(), 3, "newest first: {told}");

    // The newest undo is the one of the oldest change.
    let (succeeded, again) = undo(&system, undone[2]["undo_call_id"].as_str().unwrap());
    assert!(succeeded, "{again}");
    assert_eq!(text(&a).as_deref(), Some("one\n"));
    // The first change holds again, so the task can be undone once more.
    let (succeeded, told) = undo(&system, &task);
    assert!(succeeded && told["undone"].as_array().unwrap().len() == 1, "{told}");
    assert_eq!(text(&a), None);

    let missing = system.control(Request::post_json("/undo", &json!({"id": task})));
    assert_eq!((missing.status, missing.json()["error"]["code"].clone()), (404, json!("NOT_FOUND")));
    let wrong = system.control(Request::post_json("/undo", &json!({"task": task})));
    assert_eq!(wrong.status, 400);
    let refused = system.run_command(&["undo", "no-such-id"]);
    assert!(!refused.status.success());
    assert_says(&String::from_utf8(refused.stderr).unwrap(), &["can be undone"]);
    let tree = system.shown(&["tree", "--task", &task]);
    assert_says(&tree, &["undo"]);
}

#[test]
fn a_change_is_undone_after_the_supervisor_was_killed() {
    let mut system = System::start();
    let task = system.run_task(r#"/write {"path": "f", "content": "x"}"#);
    system.kill();
    let refused = system.run_command(&["undo", &task]);
    assert!(!refused.status.success(), "nobody can undo it while no supervisor runs");
    system.start_again();
    system.wait_until_ready();
    let (succeeded, told) = undo(&system, &task);
    assert!(succeeded, "{told}");
    assert!(!system.workspace().join("f").exists());
}

fn ask(telegram: &FakeTelegram, chat: Chat, text: &str) -> String {
    let before = telegram.sent().len();
    telegram.push(chat.text(text));
    telegram.wait_for_sent(before + 1)[before].text.clone()
}

#[test]
fn undo_in_telegram_takes_back_the_last_task_that_changed_something_and_then_the_one_before() {
    let (telegram, system) = with_telegram();
    let file = system.workspace().join("f");
    assert_says(&ask(&telegram, ADA, "/undo"), &["nothing to undo"]);
    assert_says(&ask(&telegram, ADA, "/undo it"), &["nothing follows it"]);
    ask(&telegram, ADA, r#"/write {"path": "f", "content": "one"}"#);
    ask(&telegram, ADA, r#"/write {"path": "f", "content": "two"}"#);
    ask(&telegram, ADA, "/ls path=.");
    assert_says(&ask(&telegram, ADA, "/undo"), &["As before: ", "/f"]);
    assert_eq!(text(&file).as_deref(), Some("one"));
    fs::write(&file, "by hand").unwrap();
    assert_says(&ask(&telegram, ADA, "/undo"), &["Nothing was undone", "was changed since"]);
    fs::write(&file, "one").unwrap();
    assert_says(&ask(&telegram, ADA, "/undo"), &["Removed: ", "/f"]);
    assert!(!file.exists());
    assert_says(&ask(&telegram, ADA, "/undo"), &["nothing to undo"]);
}

#[test]
fn undo_in_the_terminal_takes_back_what_the_conversation_changed() {
    let system = System::start();
    let variables = system.dir().variables();
    let binary = binaries::path_of("supervisor");
    let mut terminal = Terminal::start(&binary, &["chat"], &variables, system.dir(), 100);
    terminal.wait_for("> ", 0);
    let mut answer = |line: &str, reply: &str| {
        let before = terminal.shown().len();
        terminal.type_in(line);
        terminal.type_in("\r");
        terminal.wait_for(reply, before)
    };
    answer("/undo", "nothing to undo");
    answer(r#"/write {"path": "listed.txt", "content": "one"}"#, "Created");
    assert!(system.workspace().join("listed.txt").exists());
    answer("/files", "listed.txt");
    answer("/undo", "Removed: ");
    assert!(!system.workspace().join("listed.txt").exists());
    // The other commands of a chat work as well.
    answer("/status", "Nothing runs.");
    answer("/get listed.txt", "This chat shows text alone.");
    answer("/cancel please", "/cancel stops what I am doing");
    terminal.type_in("\u{4}");
    assert!(terminal.end().success());
}
