//! The skills that come with the program: each narrows its task, leads through the calls that it describes,
//! and stays as its owner left it.

use std::fs;
use std::path::Path;
use std::process::Command;

use harness::fake_model::results;
use harness::{FakeModel, ModelReply, System};
use serde_json::{Value, json};

fn call(name: &str, arguments: Value) -> ModelReply {
    ModelReply::call(name, &arguments)
}

/// Has a model read a skill, make calls, and answer; returns the results of the calls.
fn with_skill(name: &str, prepare: impl FnOnce(&Path) -> Vec<ModelReply>) -> (System, Vec<String>) {
    let builder = System::builder();
    let data = builder.dir().data();
    fs::create_dir_all(data.join("workspace")).unwrap();
    let mut replies = vec![call("skill", json!({"name": name}))];
    replies.extend(prepare(&data));
    replies.push(ModelReply::text("done"));
    let model = FakeModel::answering(replies);
    let system = builder.model(&model).start();
    assert_eq!(system.reply(&system.say("go")), "done");
    let requests = model.requests();
    assert!(requests[0]["tools"].to_string().contains(&format!("- {name}: ")), "it is offered");
    let results = results(requests.last().unwrap());
    assert!(results[0].starts_with("exit 0") && !results[0].contains("<untrusted"), "{}", results[0]);
    (system, results)
}

fn assert_all_but_the_last_run(results: &[String]) {
    let (last, others) = results.split_last().unwrap();
    assert!(others.iter().all(|result| result.starts_with("exit 0")), "{others:#?}");
    assert!(last.starts_with("exit 2 · error TOOL_NOT_ALLOWED"), "{last}");
}

#[test]
fn a_report_about_a_folder_is_written_without_commands() {
    let report = "# In short\n\nTwo people are paid 30 in all (`pay/a.txt:1`, `pay/b.txt:1`).\n";
    let (system, results) = with_skill("folder-report", |data| {
        let pay = data.join("workspace/pay");
        fs::create_dir(&pay).unwrap();
        fs::write(pay.join("a.txt"), "Ada: 10\n").unwrap();
        fs::write(pay.join("b.txt"), "Bert: 20\n").unwrap();
        vec![
            call("ls", json!({"path": "pay", "recursive": true})),
            call("read", json!({"path": "pay/a.txt"})),
            call("grep", json!({"path": "pay", "pattern": "[0-9]+"})),
            call("write", json!({"path": "reports/pay-2026-11-22.md", "content": "# In short\n"})),
            call(
                "edit",
                json!({"path": "reports/pay-2026-11-22.md", "find": "# In short\n",
                                "replace": report}),
            ),
            call("bash", json!({"cmd": "true"})),
        ]
    });
    assert_all_but_the_last_run(&results);
    let written = fs::read_to_string(system.workspace().join("reports/pay-2026-11-22.md")).unwrap();
    assert_eq!(written, report);
}

#[test]
fn a_change_is_reviewed_and_nothing_is_changed() {
    let (system, results) = with_skill("review-change", |data| {
        let workspace = data.join("workspace");
        let git = |arguments: &[&str]| {
            let done = Command::new("git")
                .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
                .args(arguments)
                .current_dir(&workspace)
                .status();
            assert!(done.unwrap().success(), "{arguments:?}");
        };
        git(&["init", "--quiet"]);
        fs::write(workspace.join("a.py"), "print(1)\n").unwrap();
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", "begin"]);
        fs::write(workspace.join("a.py"), "print(1 / 0)\n").unwrap();
        vec![
            call("bash", json!({"cmd": "git status --short && git diff HEAD"})),
            call("read", json!({"path": "a.py"})),
            call("grep", json!({"pattern": "print"})),
            call("edit", json!({"path": "a.py", "find": "1 / 0", "replace": "1"})),
        ]
    });
    assert_all_but_the_last_run(&results);
    assert!(results[1].contains("+print(1 / 0)"), "{}", results[1]);
    assert_eq!(fs::read_to_string(system.workspace().join("a.py")).unwrap(), "print(1 / 0)\n");
}

#[test]
fn notes_are_kept_and_found_in_the_next_conversation() {
    let (system, results) = with_skill("keep-notes", |data| {
        let state = data.join("state");
        let note = |path: &str| state.join(path).display().to_string();
        let line = "- 2026-11-22: Ada takes her tea without milk.\n";
        vec![
            call("write", json!({"path": note("notes/people.md"), "content": line, "mode": "append"})),
            call("grep", json!({"path": note("notes"), "pattern": "tea"})),
            call("delete", json!({"path": note("notes/people.md")})),
        ]
    });
    assert_all_but_the_last_run(&results);
    assert!(results[2].contains("without milk"), "{}", results[2]);
    let notes = fs::read_to_string(system.dir().data().join("state/notes/people.md")).unwrap();
    assert!(notes.contains("without milk"));
}

#[test]
fn skills_are_put_there_once_and_stay_as_their_owner_left_them() {
    let mut system = System::start();
    let skills = system.dir().data().join("skills");
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(&skills).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["folder-report", "keep-notes", "review-change"]);
    system.stop();
    fs::write(skills.join("keep-notes/SKILL.md"), "mine").unwrap();
    fs::remove_dir_all(skills.join("folder-report")).unwrap();
    // As of a start that was killed on the way.
    fs::create_dir_all(system.dir().data().join("skills.new/half")).unwrap();
    system.restart();
    assert_eq!(names(), ["keep-notes", "review-change"]);
    assert_eq!(fs::read_to_string(skills.join("keep-notes/SKILL.md")).unwrap(), "mine");
    system.stop();
    fs::remove_dir_all(&skills).unwrap();
    system.restart();
    assert_eq!(names(), ["folder-report", "keep-notes", "review-change"]);
}
