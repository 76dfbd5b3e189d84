//! The whole output of a call: its record has the beginning, and the page has all of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use harness::{Request, System, wait};
use serde_json::json;

use super::{Visit, get, page};

/// About 50 kB, which an answer has room for and a record does not.
const LONG: &str = "seq -f 'this is <b>line</b> %g' 1700; echo the end is $((6 * 7))";

/// Its last line.
const LAST: &str = "the end is 42";

/// What the page says where the event has less than there is.
const LINK: &str = "Read all of it";

/// The ID of the newest call, once it is read and has ended if it is to.
fn newest_call(system: &System, has_ended: bool) -> String {
    let calls = "select id from events where type = 'tool_call.started'
                 and (id in (select parent_id from events where type like 'tool_call.%') or ? = 0)
                 order by seq desc limit 1";
    let calls = calls.replace('?', if has_ended { "1" } else { "0" });
    wait::until("the call is read", || system.database().texts(&calls).pop())
}

/// A call of a command, by the tool server's own token.
fn ran(system: &System, cmd: &str) -> String {
    let id = system.tool("bash", &json!({"cmd": cmd})).meta.call_id.to_string();
    let ended = format!("select id from events where type like 'tool_call.%' and parent_id = '{id}'");
    wait::until("the end is read", || system.database().texts(&ended).pop());
    id
}

#[test]
fn a_long_output_is_read_from_the_page_of_its_task_with_and_without_scripts() {
    let system = System::start();
    let task = system.run_task(&format!("bash cmd=\"{LONG}\""));
    let mut visit = Visit::begin(system);
    for has_scripts in [true, false] {
        if !has_scripts {
            visit.browser.without_scripts();
        }
        visit.go(&format!("/tasks/{task}"));
        visit.browser.click("ol.tree a[href^='/calls/']");
        visit.browser.wait_for_text(LINK);
        let cut = visit.browser.evaluate("document.querySelector('main').innerText");
        let cut = cut.as_str().unwrap();
        assert!(cut.contains("this is <b>line</b> 2\n") && !cut.contains(LAST), "{cut}");
        visit.browser.click("main a[href$='/output']");
        visit.browser.wait_for_text(LAST);
        visit.browser.wait_for_text("this is <b>line</b> 1700");
    }
    visit.assert_clean();
}

#[test]
fn the_whole_output_of_other_tools_in_a_task_is_read_too() {
    let system = System::start();
    let lines: String = (1..=300).map(|number| format!("line number {number} of the notes\n")).collect();
    fs::write(system.workspace().join("notes.txt"), &lines).unwrap();
    let directory = system.workspace().join("many");
    fs::create_dir(&directory).unwrap();
    (1..=150).for_each(|number| fs::write(directory.join(format!("file-{number:04}.txt")), "").unwrap());
    let cookie = system.signed_in();
    let calls = [
        ("read path=notes.txt limit=300", "line number 300 of the notes"),
        ("grep pattern=\"line number\" path=. limit=300", "line number 300 of the notes"),
        ("ls path=many limit=200", "file-0150.txt"),
    ];
    for (call, last) in calls {
        system.run_task(call);
        let path = format!("/calls/{}", newest_call(&system, true));
        let shown = page(&system, &path, &cookie);
        assert!(shown.contains(LINK) && !shown.contains(last), "{call}: {shown}");
        assert!(page(&system, &format!("{path}/output"), &cookie).contains(last), "{call}");
    }
}

#[test]
fn what_is_kept_is_what_the_answer_had_and_for_its_user_alone() {
    let system = System::start();
    let printed =
        "seq 1000; printf 'DB_%s=FAKEx1y2z3w4\\n' PASSWORD; printf '\\u202ehidden\\n'; echo aside >&2";
    let call = ran(&system, printed);
    let cookie = system.signed_in();
    let shown = page(&system, &format!("/calls/{call}/output"), &cookie);
    assert!(shown.contains("DB_PASSWORD=***REDACTED***") && !shown.contains("FAKEx1y2"), "{shown}");
    assert!(shown.contains("\\u{202e}hidden") && shown.contains("aside"), "{shown}");
    let kept = system.dir().data().join(format!("output/{call}.txt"));
    let text = fs::read_to_string(&kept).unwrap();
    assert!(!text.contains("FAKEx1y2") && text.ends_with("hidden\naside"), "{text}");
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn an_output_that_was_too_long_for_its_answer_is_read_in_parts() {
    let system = System::start();
    let call = ran(&system, "seq 300000; printf 'DB_%s=FAKEx1y2z3w4\\n' PASSWORD; echo the last line");
    let cookie = system.signed_in();
    let first = page(&system, &format!("/calls/{call}/output"), &cookie);
    assert!(first.contains("Part 1 of 2") && first.contains("\n1000\n") && !first.contains("last line"));
    let last = page(&system, &format!("/calls/{call}/output?part=2"), &cookie);
    assert!(last.contains("DB_PASSWORD=***REDACTED***") && last.contains("the last line"));
    assert!(!last.contains("FAKEx1y2"), "the file has it as it was printed");
}

#[test]
fn what_the_record_has_whole_is_not_kept_and_stderr_is() {
    let system = System::start();
    let cookie = system.signed_in();
    let short = ran(&system, "echo short");
    let shown = page(&system, &format!("/calls/{short}"), &cookie);
    assert!(shown.contains("short") && !shown.contains(LINK), "{shown}");
    assert!(!system.dir().data().join(format!("output/{short}.txt")).exists());
    let failed = ran(&system, "echo what went wrong >&2; exit 3");
    let shown = page(&system, &format!("/calls/{failed}"), &cookie);
    assert!(shown.contains(LINK) && !shown.contains("printed nothing"), "{shown}");
    assert!(page(&system, &format!("/calls/{failed}/output"), &cookie).contains("what went wrong"));
}

#[test]
fn the_output_of_a_background_process_is_read_too_in_a_workspace_of_its_own() {
    let system = System::builder().variable("AUTONOUS_WORKSPACES", "per-chat").start();
    let task = system.run_task("bash cmd=\"seq 5000; echo the last line\" background=true");
    let cookie = system.signed_in();
    assert!(page(&system, &format!("/tasks/{task}"), &cookie).contains("/calls/"));
    let path = format!("/calls/{}/output", newest_call(&system, true));
    wait::until_true("all of it is there", || page(&system, &path, &cookie).contains("the last line"));
}

#[test]
fn an_output_that_is_not_there_is_told() {
    let system = System::start();
    let cookie = system.signed_in();
    let get = |path: &str| {
        let answer = get(&system, path, &cookie);
        (answer.status, answer.text())
    };
    let told = |path: &str, text: &str| {
        let (status, shown) = get(path);
        assert!(status == 404 && shown.contains(text), "{path}: {status} {shown}");
    };
    let pruned = ran(&system, LONG);
    fs::remove_file(system.dir().data().join(format!("output/{pruned}.txt"))).unwrap();
    told(&format!("/calls/{pruned}/output"), "The whole output is not kept any more.");
    assert!(!get(&format!("/calls/{pruned}")).1.contains(LINK));
    let short = ran(&system, "echo short");
    told(&format!("/calls/{short}/output"), "No more of this output is kept.");
    told("/calls/none/output", "There is no such call.");
    let task = system.say("bash cmd=\"sleep 120\" timeout_seconds=200");
    wait::until_true("the command runs", || newest_call(&system, false) != short);
    told(&format!("/calls/{}/output", newest_call(&system, false)), "The call has not ended");
    system.control(Request::post(&format!("/tasks/{task}/cancel"), ""));
}

#[test]
fn strangers_and_tokens_do_not_get_it() {
    let read_token = "FAKE-token-that-only-reads";
    let system = System::builder().variable("AUTONOUS_CONTROL_READ_TOKEN", read_token).start();
    let path = format!("/calls/{}/output", ran(&system, LONG));
    for token in ["", read_token, &system.tokens().control_token] {
        let request = Request::get(&path).bearer(token);
        let answer = system.ask_openly(request);
        assert_eq!((answer.status, answer.header("location")), (303, Some("/sign-in")), "{token}");
        assert!(!answer.text().contains("line"), "{}", answer.text());
    }
    assert!(page(&system, &path, &system.signed_in()).contains(LAST));
}
