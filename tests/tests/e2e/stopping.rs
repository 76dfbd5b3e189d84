//! The end of a run: what runs may end, within bounds, and what does not is put back.

use std::fs;
use std::thread;
use std::time::Instant;

use harness::{System, wait};
use rustix::process::Signal;
use serde_json::json;

/// A command that takes some seconds once it has said that it runs.
fn command(seconds: u32) -> serde_json::Value {
    json!({"cmd": format!("mktemp ./begun-XXXXXXXX; sleep {seconds}; echo finished"), "timeout_seconds": 60})
}

fn wait_until_begun(system: &System, count: usize) {
    wait::until_true("the commands run", || fs::read_dir(system.workspace()).unwrap().count() == count);
}

#[test]
fn running_tasks_and_calls_may_end_after_a_signal() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut system = System::builder().variable("AUTONOUS_STOP_SECONDS", "20").start();
        let task = system.say(&format!("/bash {}", command(2)));
        let by_hand = thread::scope(|scope| {
            let call = scope.spawn(|| system.tool("bash", &command(3)));
            wait_until_begun(&system, 2);
            harness::signals::send(system.supervisor_pid(), signal);
            call.join().unwrap()
        });
        assert!(by_hand.ok && by_hand.stdout.contains("finished"), "{signal:?}: {by_hand:?}");
        assert!(system.wait().success(), "{signal:?}");
        assert_eq!(system.database().task_states(), ["done"], "{signal:?}");
        system.restart();
        assert!(system.reply(&task).contains("finished"), "{signal:?}");
    }
}

#[test]
fn a_task_that_takes_too_long_is_put_back_and_no_new_one_begins() {
    let mut system = System::builder().workers(1).variable("AUTONOUS_STOP_SECONDS", "2").start();
    system.say(&format!("/bash {}", command(50)));
    system.say("/ls {}");
    wait_until_begun(&system, 1);
    let since = Instant::now();
    assert!(system.stop().success());
    assert!((2..20).contains(&since.elapsed().as_secs()), "{:?}", since.elapsed());
    assert_eq!(system.database().task_states(), ["queued", "queued"]);
    let texts = system.database().texts("select cast(attempt as text) from inbox order by seq");
    assert_eq!(texts, ["1", "0"]);
}
