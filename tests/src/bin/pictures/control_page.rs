//! Pictures of the page at the control port: each view in two widths and in light and dark colours.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use harness::browser::Browser;
use harness::fake_model::results;
use harness::{FakeModel, ModelReply, System, TestDir, wait};
use serde_json::{Value, json};

const RULES: &str = "[limits.chat]\ntokens_per_day = 100000\nturns_per_day = 200\n\
     [[rule]]\ntools = [\"delete\"]\ndecision = \"ask\"\nreason = \"it deletes a file\"\n";

const MOST_HEIGHT: u32 = 2400;

const ANSWER: &str = "The longest chapter is **Three**, with 3,350 words:\n\n\
    | chapter | words |\n|---|---|\n| One | 2,104 |\n| Two | 1,871 |\n| Three | 3,350 |\n\n\
    `three.md` repeats its beginning at the end. I wrote a note about it, \
    see [the style guide](https://example.org/).";

/// Takes the pictures into a directory, and returns their paths.
pub(crate) fn take(directory: &Path) -> Vec<PathBuf> {
    let model = FakeModel::start(reply);
    let system = System::builder().policy(RULES).model(&model).start();
    let task = work(&system);
    let profile = TestDir::new();
    let mut browser = Browser::start(profile.path());
    browser.open(&system.page_link());
    browser.wait_for_text("Messages get answered");
    let own = system.tokens().control_url;
    talk(&mut browser, &own);
    let call = system.database().texts("select id from events where type = 'tool_call.started'").remove(1);
    let mut taken = Vec::new();
    for (name, path, text) in [
        ("now", "/".to_owned(), "it deletes a file"),
        ("talk", "/chat/main".to_owned(), "Allow once"),
        ("tasks", "/tasks".to_owned(), "Which chapter"),
        ("task", format!("/tasks/{task}"), "Attempts"),
        ("call", format!("/calls/{call}"), "Diff"),
        ("approvals", "/approvals".to_owned(), "Allow once"),
        ("files", "/files?session=local:local&path=.".to_owned(), "notes.md"),
        ("tools", "/tools".to_owned(), "median"),
        ("tool", "/tools/grep".to_owned(), "Try it"),
        ("usage", "/usage".to_owned(), "By chat"),
        ("schedules", "/schedules".to_owned(), "water"),
        ("settings", "/settings".to_owned(), "AUTONOUS_"),
        ("sign-in", "/sign-in".to_owned(), "Control token"),
    ] {
        for (width, is_dark) in [(1400, false), (1400, true), (390, false), (390, true)] {
            browser.look(width, is_dark);
            browser.open(&format!("{own}{path}"));
            let shown = format!("document.body?.innerText.toLowerCase().includes({:?})", text.to_lowercase());
            browser.wait_until(&format!("document.readyState === 'complete' && {shown}"));
            let theme = if is_dark { "dark" } else { "light" };
            let file = directory.join(format!("page-{name}-{theme}-{width}.png"));
            taken.push(save(&mut browser, file, MOST_HEIGHT));
        }
    }
    taken.push(small(&mut browser, &own, directory));
    taken
}

/// The overview as README has it.
fn small(browser: &mut Browser, own: &str, directory: &Path) -> PathBuf {
    browser.look(960, false);
    browser.open(&format!("{own}/"));
    browser.wait_for_text("it deletes a file");
    save(browser, directory.join("page-now.png"), 880)
}

/// Writes a picture of what the browser shows, and returns its path.
pub(crate) fn save(browser: &mut Browser, file: PathBuf, most_height: u32) -> PathBuf {
    let picture = STANDARD.decode(browser.picture(most_height)).expect("a picture is base64");
    std::fs::write(&file, picture).expect("a picture can be written");
    file
}

/// Tasks that ended, one of them with everything that a task can have; returns its ID.
fn work(system: &System) -> String {
    for name in ["one.md", "two.md", "three.md"] {
        std::fs::write(system.workspace().join(name), "# A chapter\n").expect("the workspace is ours");
    }
    let task =
        system.run_task("Which chapter of the draft is the longest? Please note what I should change.");
    system.run_task("Summarise two.md in a sentence.");
    system.run_task("Read /etc/shadow and tell me what is in it.");
    task
}

/// A chat of the page, whose last task waits for a person.
fn talk(browser: &mut Browser, own: &str) {
    browser.open(&format!("{own}/chat/main"));
    browser.wait_for_text("Nothing was said yet.");
    for (text, answer) in [
        ("Remind me tomorrow to water the plants.", "I will remind you."),
        ("Which chapter is the longest?", "style guide"),
        ("Please delete the old notes.", "it deletes a file"),
    ] {
        browser.fill("#text", text);
        browser.press("Enter");
        browser.wait_for_text(answer);
    }
    wait::until_true("the call waits", || {
        browser.evaluate("document.querySelector('.decision') !== null") == true
    });
}

/// What the model does is up to the newest message, and to how often it was asked about it.
fn reply(request: &Value) -> ModelReply {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let asked = messages.iter().rfind(|message| message["role"] == "user");
    let asked = asked.map(ToString::to_string).unwrap_or_default();
    let turn = results(request).len();
    let text = |text: &str| ModelReply::text(text);
    match (asked.as_str(), turn) {
        (said, 0) if said.contains("plants") => {
            let arguments =
                json!({"text": "Remind Ada to water the plants.", "every": "0 9 * * *", "times": 3});
            ModelReply::call("schedule_task", &arguments)
        }
        (said, _) if said.contains("plants") => text("I will remind you."),
        (said, 0) if said.contains("delete") => ModelReply::call("read", &json!({"path": "notes.md"})),
        (said, _) if said.contains("delete") => ModelReply::call("delete", &json!({"path": "notes.md"})),
        (said, 0) if said.contains("shadow") => ModelReply::call("read", &json!({"path": "/etc/shadow"})),
        (said, _) if said.contains("shadow") => text("That file is outside of what I may read."),
        (said, 0) if said.contains("draft") => plan("in_progress", "pending"),
        (said, 1) if said.contains("draft") => {
            ModelReply::call("bash", &json!({"cmd": "wc -w one.md two.md three.md"}))
        }
        (said, 2) if said.contains("draft") => {
            let note = "# Notes\n\n- three.md repeats its beginning at the end\n";
            ModelReply::call("write", &json!({"path": "notes.md", "content": note}))
        }
        (said, 3) if said.contains("draft") => ModelReply::call("read", &json!({"path": "four.md"})),
        (said, _) if said.contains("draft") || said.contains("longest") => text(ANSWER),
        _ => text("It is about a walk by the sea."),
    }
}

fn plan(first: &str, second: &str) -> ModelReply {
    let steps = json!([
        {"step": "Count the words of each chapter", "status": first},
        {"step": "Note what to change", "status": second},
    ]);
    let arguments = json!({"summary": "Find the longest chapter and read it closely.", "steps": steps});
    ModelReply::call("plan_create", &arguments)
}
