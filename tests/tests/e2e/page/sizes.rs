//! Large databases: each page stays small, and nothing in it polls.

use harness::{Request, System};
use serde_json::json;

use super::{Visit, page, signed_in};

/// The most that a page may weigh, with its style and its script.
const MOST_BYTES: usize = 300_000;

/// The task with many events.
const LONG: &str = "0198c0de-0000-7000-8000-000000000001";

/// Adds tasks that are done, and one with many events.
fn fill(system: &System, tasks: u32, events: u32) {
    let done = (1..=tasks).map(|number| {
        let chat = format!("chat{}", number % 50);
        let text = format!("task number {number} with some words that say what to do");
        let times = format!("{number}, {number}, {number}, {}", number + 5);
        format!("('0198c0de-0000-7000-8000-{number:012}', 'local', '{chat}', '{text}', 'done', 1, {times})")
    });
    let event = |id: &str, parent: &str, kind: &str, time: u32, payload: &serde_json::Value| {
        format!("('{id}', {parent}, '{LONG}', '{kind}', {time}, '{payload}')")
    };
    let root = event("root", "null", "task.claimed", 1, &json!({"attempt": 1}));
    let calls = (1..=events / 2).flat_map(|number| {
        let cmd = format!("echo {number}{}", "0".repeat(400));
        let started = json!({"tool_name": "bash", "risk": "medium", "session_id": "local:chat1",
            "arguments": {"cmd": cmd}});
        let ended = json!({"tool_name": "bash", "exit_code": 0, "output_text": "0".repeat(1800),
            "latency_ms": 3, "truncated_lines": false, "truncated_bytes": false,
            "session_id": "local:chat1"});
        let (call, end) = (format!("call{number}"), format!("end{number}"));
        [
            event(&call, "'root'", "tool_call.started", number, &started),
            event(&end, &format!("'{call}'"), "tool_call.completed", number + 1, &ended),
        ]
    });
    system.database().change(&format!(
        "begin;
         insert into inbox (id, channel, chat_id, text, state, attempt, available_at_ms, created_at_ms,
                            updated_at_ms, finished_at_ms) values {};
         insert into events (id, parent_id, task_id, type, time_ms, payload) values {};
         commit;",
        done.collect::<Vec<_>>().join(","),
        std::iter::once(root).chain(calls).collect::<Vec<_>>().join(","),
    ));
}

#[test]
fn with_ten_thousand_tasks_and_a_tree_of_five_thousand_events_each_page_is_small() {
    let system = System::start();
    fill(&system, 10_000, 5_000);
    let cookie = signed_in(&system);
    let beside = page(&system, "/assets/page.css", "").len() + page(&system, "/assets/page.js", "").len();
    let long = &*format!("/tasks/{LONG}");
    for path in [
        "/",
        "/tasks",
        "/tasks?text=words",
        "/tasks?offset=9900",
        "/files",
        "/tools",
        "/usage?days=90",
        long,
        &format!("{long}?page=1"),
        &format!("{long}?page=9999"),
    ] {
        let size = page(&system, path, &cookie).len() + beside;
        assert!(size < MOST_BYTES, "{path} has {size} bytes");
    }
    let first = page(&system, &format!("{long}?page=1"), &cookie);
    assert!(first.contains("Page 1 of 101") && first.contains("rel=\"next\""), "{}", &first[..2000]);
    assert!(page(&system, "/tasks?offset=50", &cookie).contains("rel=\"prev\""));
}

#[test]
fn an_idle_page_asks_for_nothing_and_a_change_comes_by_itself() {
    let system = System::start();
    let mut visit = Visit::begin(system);
    // By then it has all that belongs to it, and what would poll, polls within as long again.
    visit.browser.wait_until("document.readyState === 'complete' && performance.now() > 3000");
    let before = visit.browser.told("Network.requestWillBeSent").len();
    visit.browser.wait_until("performance.now() > 6000");
    assert_eq!(visit.browser.told("Network.requestWillBeSent").len(), before, "the page polls");
    let task = visit.system.say("bash cmd=\"sleep 120\" timeout_seconds=200");
    visit.browser.wait_for_text("sleep 120");
    visit.system.control(Request::post(&format!("/tasks/{task}/cancel"), ""));
    visit.browser.wait_for_text("No task runs.");
    assert_eq!(visit.browser.told("Network.requestWillBeSent").len(), before, "it came by itself");
    visit.assert_clean();
}
