//! Large databases: each page stays small, and nothing in it polls.

use harness::long_history::{LONG, fill};
use harness::{Request, System};

use super::{Visit, page};

/// The most that a page may weigh, with its style and its script.
const MOST_BYTES: usize = 300_000;

#[test]
fn with_ten_thousand_tasks_and_a_tree_of_five_thousand_events_each_page_is_small() {
    let system = System::start();
    fill(&system, 10_000, 5_000);
    let cookie = system.signed_in();
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
