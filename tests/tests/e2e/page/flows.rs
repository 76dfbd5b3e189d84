//! Each flow of the page, clicked through.

use std::fs;

use harness::{FakeModel, ModelReply, System, wait};
use serde_json::json;

use super::Visit;

#[test]
fn every_view_opens_without_an_error_or_a_request_elsewhere() {
    let system = System::start();
    let task = system.run_task("ls path=.");
    let mut visit = Visit::begin(system);
    let places = visit.browser.evaluate("[...document.querySelectorAll('nav a')].map((a) => a.textContent)");
    let places: Vec<String> = serde_json::from_value(places).unwrap();
    assert_eq!(places.len(), 9, "{places:?}");
    for (number, place) in places.iter().enumerate() {
        let title = if place == "Now" { "Now" } else { place.as_str() };
        visit.browser.click(&format!("header nav a:nth-child({})", number + 1));
        visit.browser.wait_until(&format!("document.querySelector('h1')?.textContent === {title:?}"));
    }
    visit.go(&format!("/tasks/{task}"));
    visit.browser.click("ol.tree a");
    visit.browser.wait_for_text("Call of ls");
    visit.browser.click("header form button");
    visit.browser.wait_for_text("Control token");
    let token = visit.system.tokens().control_token;
    visit.browser.fill("#token", &token);
    visit.browser.press("Enter");
    visit.browser.wait_for_text("Messages get answered");
    assert_eq!(visit.browser.evaluate("document.cookie"), "", "no script reads the cookie");
    visit.assert_clean();
}

#[test]
fn a_wrong_token_is_told() {
    let system = System::start();
    let mut visit = Visit::begin(system);
    visit.go("/sign-in");
    visit.browser.fill("#token", "FAKE-wrong");
    visit.browser.click("form button");
    visit.browser.wait_for_text("This is not the control token.");
}

#[test]
fn a_call_that_waits_appears_by_itself_and_is_decided_by_a_click() {
    let rules = "[[rule]]\ntools = [\"bash\"]\ndecision = \"ask\"\nreason = \"it runs a command\"\n";
    let system = System::builder().policy(rules).start();
    let mut visit = Visit::begin(system);
    let first = visit.system.say("bash cmd=\"echo one > made.txt\"");
    visit.browser.wait_for_text("it runs a command");
    visit.browser.wait_for_text("echo one > made.txt");
    visit.browser.fill("form.decision input", "looks harmless");
    visit.browser.click("form.decision button[value=once]");
    visit.browser.wait_for_text("Your decision is on its way");
    visit.system.reply(&first);
    assert_eq!(fs::read_to_string(visit.system.workspace().join("made.txt")).unwrap(), "one\n");

    visit.go("/approvals");
    visit.browser.wait_for_text("looks harmless");
    let second = visit.system.say("bash cmd=\"echo two > made.txt\"");
    visit.browser.wait_for_text("echo two > made.txt");
    visit.browser.click("form.decision button[value=deny]");
    visit.browser.wait_for_text("denied");
    let reply = visit.system.reply(&second);
    assert!(reply.contains("APPROVAL_DENIED"), "{reply}");
    assert_eq!(fs::read_to_string(visit.system.workspace().join("made.txt")).unwrap(), "one\n");
    let by = "select count(*) from events where type like 'approval.%' and payload ->> 'by' = 'the page'";
    assert_eq!(visit.system.database().count(by), 2);
    visit.assert_clean();
}

#[test]
fn tasks_are_filtered_cancelled_and_run_again() {
    let model = FakeModel::start(|request| {
        let said = request.to_string();
        if said.contains("wait for me") { ModelReply::Silent } else { ModelReply::text("Done.") }
    });
    let system = System::builder().model(&model).start();
    let done = system.run_task("say hello");
    let held = system.say_in("other", "wait for me");
    let mut visit = Visit::begin(system);
    visit.browser.wait_for_text("wait for me");

    visit.go("/tasks");
    visit.browser.fill("#text", "HELLO");
    visit.browser.click("form.filter button");
    visit.browser.wait_until("document.querySelectorAll('table.cards tbody tr').length === 1");
    visit.browser.wait_for_text("say hello");
    for (query, rows) in [
        ("state=in_progress", 1),
        ("chat=other", 1),
        ("chat=local:other", 1),
        ("tool=ls", 0),
        ("day=2001-01-01", 0),
        ("state=done&text=hello", 1),
        ("", 2),
    ] {
        visit.go(&format!("/tasks?{query}"));
        let count = visit.browser.evaluate("document.querySelectorAll('table.cards tbody tr').length");
        assert_eq!(count, rows, "{query}");
    }

    visit.go(&format!("/tasks/{held}"));
    visit.browser.click("#part-head form button");
    visit.browser.wait_for_text("The task is being cancelled.");
    wait::until_true("the task is cancelled", || {
        visit.system.database().count("select count(*) from inbox where state = 'cancelled'") == 1
    });
    visit.go(&format!("/tasks/{done}"));
    visit.browser.click("#part-head form button");
    visit.browser.wait_for_text("The task is in the queue again.");
    visit.browser.wait_until("document.querySelector('#part-head').innerText.includes('done')");
    let requeued = "select count(*) from inbox where requeues = 1 and state = 'done'";
    wait::until_true("the task ran again", || visit.system.database().count(requeued) == 1);
    visit.assert_clean();
}

#[test]
fn a_task_shows_its_work_and_its_changes_are_undone() {
    let model = FakeModel::answering(vec![
        ModelReply::call("write", &json!({"path": "plan.txt", "content": "one\ntwo\n"})),
        ModelReply::call("bash", &json!({"cmd": "echo hello"})),
        ModelReply::text("I wrote **the plan**."),
    ]);
    let system = System::builder().model(&model).start();
    let task = system.run_task("write a plan");
    let file = system.workspace().join("plan.txt");
    assert!(file.exists());
    let mut visit = Visit::begin(system);
    visit.go(&format!("/tasks/{task}"));
    visit.browser.wait_until("document.querySelector('.written strong')?.textContent === 'the plan'");
    visit.browser.wait_until("document.querySelectorAll('svg.waterfall rect').length === 5");
    visit.browser.wait_until("document.querySelectorAll('#part-tree li').length > 10");
    let turns =
        "[...document.querySelectorAll('caption')].some((one) => one.textContent.startsWith('Tokens'))";
    assert_eq!(visit.browser.evaluate(turns), true);

    visit.browser.click("ul.changes a");
    visit.browser.wait_until("document.querySelector('pre.diff .added')?.textContent === '+one'");
    visit.go("/files");
    visit.browser.wait_for_text("plan.txt");
    visit.browser.click("table form button");
    visit.browser.wait_for_text("The file changes are undone.");
    wait::until_true("the file is gone", || !file.exists());
    visit.browser.wait_for_text("undone");
    visit.assert_clean();
}

#[test]
fn a_call_with_large_arguments_shows_all_of_them() {
    let system = System::start();
    let content = format!("{}\nthe last line", "x".repeat(100_000));
    system.tool("bash", &json!({"cmd": "cat > /dev/null", "stdin": content}));
    let find = "select id from events where type = 'tool_call.started'";
    let call = wait::until("the call is read", || system.database().texts(find).pop());
    let shown = super::page(&system, &format!("/calls/{call}"), &system.signed_in());
    assert!(shown.contains("the last line"), "{}", &shown[..2000]);
}

#[test]
fn the_directories_of_a_chat_are_read() {
    let system = System::start();
    system.run_task("ls path=.");
    fs::create_dir(system.workspace().join("notes")).unwrap();
    fs::write(system.workspace().join("notes/a & b.txt"), "five\n<b>").unwrap();
    fs::write(system.workspace().join("notes/bytes.bin"), [0, 159, 146, 150]).unwrap();
    let mut visit = Visit::begin(system);
    visit.go("/files");
    visit.browser.click("ul.chats a");
    visit.browser.wait_for_text("notes/");
    visit.browser.click("table a");
    visit.browser.wait_for_text("a & b.txt");
    visit.browser.click("table tr:nth-child(1) a");
    visit.browser.wait_for_text("five\n<b>");
    visit.go("/files?session=local:local&path=notes/bytes.bin");
    visit.browser.wait_for_text("Not shown");
    visit.go("/files?session=local:local&path=/etc/passwd");
    visit.browser.wait_for_text("leads outside the allowed roots");
    visit.assert_clean();
    let cookie = visit.system.signed_in();
    let raw = harness::Request::get("/files/raw?session=local:local&path=notes/a%20%26%20b.txt");
    let raw = visit.system.ask_openly(raw.header("Cookie", &cookie));
    assert_eq!((raw.status, raw.text().as_str()), (200, "five\n<b>"));
    let saved = "attachment; filename*=UTF-8''a%20%26%20b.txt";
    assert_eq!(raw.header("content-disposition"), Some(saved));
    assert_eq!(raw.header("content-type"), Some("application/octet-stream"));
}

#[test]
fn a_tool_is_tried_with_the_form_of_its_schema() {
    let system = System::start();
    fs::write(system.workspace().join("seen.txt"), "x").unwrap();
    let mut visit = Visit::begin(system);
    visit.go("/tools");
    visit.browser.click("a[href='/tools/ls']");
    visit.browser.wait_for_text("Lists a directory");
    visit.browser.fill("#field-limit", "5");
    visit.browser.click("main form button.good");
    visit.browser.wait_for_text("The call succeeded.");
    visit.browser.wait_for_text("seen.txt");
    visit.go("/tools/read");
    visit.browser.fill("#field-path", "/etc/passwd");
    visit.browser.click("main form button.good");
    visit.browser.wait_for_text("PATH_OUTSIDE_ROOTS");
    visit.browser.wait_until("document.querySelector('#field-path').value === '/etc/passwd'");
    visit.go("/tools");
    visit.browser.wait_until("document.querySelectorAll('svg.histogram').length >= 2");
    visit.assert_clean();
}

#[test]
fn a_schedule_is_seen_and_cancelled_and_settings_say_where_they_come_from() {
    let model = FakeModel::answering(vec![
        ModelReply::call("schedule_task", &json!({"text": "water the plants", "at": "2099-01-01T09:00"})),
        ModelReply::text("I will."),
    ]);
    let system = System::builder().model(&model).start();
    let mut visit = Visit::begin(system);
    visit.go("/chat/main");
    visit.browser.fill("#text", "remind me");
    visit.browser.press("Enter");
    visit.browser.wait_for_text("I will.");
    visit.go("/schedules");
    visit.browser.wait_for_text("water the plants");
    visit.browser.click("table form button");
    visit.browser.wait_for_text("The schedule is cancelled.");
    visit.browser.wait_for_text("Nothing is scheduled.");
    visit.go("/settings");
    let from = "[...document.querySelectorAll('tr')] \
        .find((row) => row.innerText.includes('AUTONOUS_STOP_SECONDS')) \
        .children[2].innerText";
    assert_eq!(visit.browser.evaluate(from), "the environment");
    visit.go("/usage");
    visit.browser.wait_until("document.querySelectorAll('svg.chart').length >= 1");
    visit.assert_clean();
}

#[test]
fn the_keyboard_reaches_everything_in_the_order_in_which_it_is_read() {
    let system = System::start();
    system.run_task("ls path=.");
    let mut visit = Visit::begin(system);
    visit.go("/tasks");
    let mut reached = Vec::new();
    for _ in 0..30 {
        visit.browser.press("Tab");
        let text = "(document.activeElement.textContent || document.activeElement.name || '').trim()";
        reached.push(visit.browser.evaluate(text).as_str().unwrap_or_default().to_owned());
    }
    let head =
        ["Skip to content", "Autonous", "Now", "Talk", "Tasks", "Approvals", "Files", "Tools", "Usage"];
    assert_eq!(&reached[..head.len()], head, "{reached:?}");
    assert_eq!(&reached[9..12], ["Schedules", "Settings", "Sign out"], "{reached:?}");
    assert!(reached[12..].iter().any(|text| text == "Filter"), "{reached:?}");
    visit.go("/");
    visit.browser.press("Tab");
    visit.browser.press("Enter");
    visit.browser.wait_until("window.location.hash === '#main'");
}
