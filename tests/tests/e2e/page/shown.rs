//! What others wrote is text on the page, whatever it is; and the page is read without scripts.

use std::fs;

use harness::{FakeModel, ModelReply, System};
use serde_json::json;

use super::Visit;

/// What runs or hides where it is not escaped.
const ATTACK: &str = "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>\u{202e}txt.exe";

/// How the page shows its end.
const SHOWN: &str = "\\u{202e}txt.exe";

/// The name of a file, and how an address has it.
const NAME: [&str; 2] = ["<script>window.pwned=1<script>.txt", "%3Cscript%3Ewindow.pwned=1%3Cscript%3E.txt"];

/// A system whose model, person, files and contacts attack the page; and the task in which they did.
fn attacked() -> (FakeModel, System, String) {
    let links = "[click](javascript:window.pwned=1) <a href=\"javascript:window.pwned=1\">x</a>";
    let model = FakeModel::answering(vec![
        ModelReply::call("bash", &json!({"cmd": format!("printf '%s' '{ATTACK}'")})),
        ModelReply::call("write", &json!({"path": NAME[0], "content": ATTACK})),
        ModelReply::call("no<script>such", &json!({"a": ATTACK})),
        ModelReply::Text(format!("{ATTACK} {links}")),
    ]);
    let system = System::builder().model(&model).start();
    let contacts = format!("## {ATTACK}\n\n```yaml\ncontact_id: tg:@ada\nnickname: ada\n```\n");
    let state = system.dir().path().join("data/state/contacts");
    fs::create_dir_all(&state).unwrap();
    fs::write(state.join("ACTIVE.md"), contacts).unwrap();
    let task = system.run_task(ATTACK);
    (model, system, task)
}

#[test]
fn nothing_that_a_file_a_person_or_a_model_wrote_runs_or_hides() {
    let (_model, system, task) = attacked();
    let mut visit = Visit::begin(system);
    visit.go("/chat/main");
    visit.browser.fill("#text", ATTACK);
    visit.browser.press("Enter");
    visit.browser.wait_until("document.querySelector('.ours') !== null");
    let calls = visit.system.database().texts("select id from events where type = 'tool_call.started'");
    let file = format!("/files?session=local:local&path={}", NAME[1]);
    let listed = "/files?session=local:local&path=.";
    let mut pages = vec![format!("/tasks/{task}"), file];
    pages.extend(["/tasks", "/chat/main", "/files", listed, "/schedules", "/tools", "/"].map(str::to_owned));
    pages.extend(calls.iter().map(|call| format!("/calls/{call}")));
    for path in pages {
        visit.go(&path);
        for (expression, expected) in [
            ("window.pwned ?? 'safe'", json!("safe")),
            ("document.querySelectorAll('main script, main img').length", json!(0)),
            ("[...document.links].filter((a) => !/^https?:/.test(a.href)).length", json!(0)),
            ("document.documentElement.innerHTML.includes('\\u202e')", json!(false)),
        ] {
            assert_eq!(visit.browser.evaluate(expression), expected, "{path}: {expression}");
        }
    }
    visit.go(&format!("/tasks/{task}"));
    visit.browser.wait_for_text(SHOWN);
    // The browser would report a policy that something ran against.
    visit.assert_clean();
}

#[test]
fn without_scripts_every_page_still_reads() {
    let model = FakeModel::answering(vec![ModelReply::text("A *plain* answer.")]);
    let system = System::builder().model(&model).start();
    let task = system.run_task("hello there");
    let mut visit = Visit::begin(system);
    visit.browser.without_scripts();
    for (path, text) in [
        ("/", "Messages get answered"),
        ("/tasks", "hello there"),
        ("/approvals", "No call waits"),
        ("/files", "Directories of a chat"),
        ("/tools", "Lists a directory"),
        ("/usage", "By chat"),
        ("/schedules", "Nothing is scheduled"),
        ("/settings", "AUTONOUS_WORKERS"),
        (&*format!("/tasks/{task}"), "A plain answer."),
        ("/chat/main", "Nothing was said yet"),
    ] {
        let address = format!("{}{path}", visit.address());
        visit.browser.open(&address);
        let shown = format!("document.body?.innerText.includes({text:?})");
        visit.browser.wait_until(&shown);
    }
    visit.assert_clean();
}
