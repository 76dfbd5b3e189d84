//! What a task changed is taken back from the command line, the control port, a Telegram chat and the
//! terminal.

use std::fs;
use std::path::Path;

use harness::fake_telegram::update::ADA;
use harness::{FakeModel, ModelReply, Request, System};
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
        ModelReply::text("written"),
        ModelReply::text("done"),
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
    // Each of them is recorded now.
    system.refused(&["undo", &task]);
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
    assert_says(&system.refused(&["undo", "no-such-id"]), &["can be undone"]);
    let tree = system.shown(&["tree", "--task", &task]);
    assert_says(&tree, &["undo"]);
}

#[test]
fn a_change_is_undone_after_the_supervisor_was_killed() {
    let mut system = System::start();
    let task = system.run_task(r#"/write {"path": "f", "content": "x"}"#);
    system.kill();
    // No one can undo it while no supervisor runs.
    system.refused(&["undo", &task]);
    system.restart();
    let (succeeded, told) = undo(&system, &task);
    assert!(succeeded, "{told}");
    assert!(!system.workspace().join("f").exists());
}

#[test]
fn undo_in_telegram_takes_back_the_last_task_that_changed_something_and_then_the_one_before() {
    let (telegram, system) = with_telegram();
    let file = system.workspace().join("f");
    assert_says(&telegram.ask(ADA, "/undo"), &["nothing to undo"]);
    assert_says(&telegram.ask(ADA, "/undo it"), &["nothing follows it"]);
    telegram.ask(ADA, r#"/write {"path": "f", "content": "one"}"#);
    telegram.ask(ADA, r#"/write {"path": "f", "content": "two"}"#);
    telegram.ask(ADA, "/ls path=.");
    assert_says(&telegram.ask(ADA, "/undo"), &["As before: ", "/f"]);
    assert_eq!(text(&file).as_deref(), Some("one"));
    fs::write(&file, "by hand").unwrap();
    assert_says(&telegram.ask(ADA, "/undo"), &["Nothing was undone", "was changed since"]);
    fs::write(&file, "one").unwrap();
    assert_says(&telegram.ask(ADA, "/undo"), &["Removed: ", "/f"]);
    assert!(!file.exists());
    assert_says(&telegram.ask(ADA, "/undo"), &["nothing to undo"]);
}

#[test]
fn undo_in_the_terminal_takes_back_what_the_conversation_changed() {
    let system = System::start();
    let mut terminal = system.terminal(&["chat"], 100);
    terminal.wait_for("> ", 0);
    let mut answer = |line: &str, reply: &str| terminal.answer(line, reply);
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
