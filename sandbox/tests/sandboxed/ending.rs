//! The end of a command: everything that it started is gone, whatever it did to stay.

use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::fixture::{Fixture, exclusive, processes_with, wait_until};

/// Starts a daemon that sleeps for `seconds`: it forks twice into its own session, ignores signals, and holds
/// the output open.
fn daemon(seconds: &str) -> String {
    format!(
        "trap '' TERM HUP INT; \
         (setsid bash -c 'trap \"\" TERM HUP INT; (exec sleep {seconds}) & wait' &) ;"
    )
}

/// A number of seconds that no other process has in its command line, not even inside another number.
pub(crate) fn unique_seconds() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("7{:08}{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn sleepers(seconds: &str) -> usize {
    processes_with(&format!("sleep\0{seconds}"))
}

#[test]
fn a_daemon_is_gone_within_200_ms_of_the_deadline() {
    let _exclusive = exclusive();
    for fixture in Fixture::all() {
        let seconds = unique_seconds();
        let script = format!("{} sleep {seconds}", daemon(&seconds));
        let run = fixture.run_with(&["--timeout-ms", "300"], &script);
        assert!(run.report.contains("exit None signal Some(9) killed true"), "{run:?}");
        assert!(run.number("kill_us") < 200_000, "{run:?}");
        assert!(run.number("closed_after_us") < 200_000, "{run:?}");
        assert_eq!(sleepers(&seconds), 0, "{run:?}");
    }
}

#[test]
fn a_daemon_does_not_outlive_its_command() {
    let _exclusive = exclusive();
    for fixture in Fixture::all() {
        let seconds = unique_seconds();
        let run = fixture.run(&format!("{} echo over", daemon(&seconds)));
        assert_eq!(run.output, "over\n", "{run:?}");
        assert!(run.succeeded(), "{run:?}");
        assert_eq!(sleepers(&seconds), 0, "{run:?}");
    }
}

#[test]
fn a_command_that_ignores_everything_ends_at_its_deadline() {
    let _exclusive = exclusive();
    for fixture in Fixture::all() {
        for script in
            ["kill -STOP $$", "trap '' TERM INT HUP; while :; do sleep 1; done", "exec 1>&- 2>&-; sleep 100"]
        {
            let run = fixture.run_with(&["--timeout-ms", "200"], script);
            assert!(run.report.contains("killed true"), "{run:?}");
            assert!(run.number("kill_us") < 200_000, "{run:?}");
        }
    }
}

#[test]
fn nothing_outlives_a_server_that_was_killed() {
    let _exclusive = exclusive();
    for fixture in Fixture::all() {
        let seconds = unique_seconds();
        let script = format!("{} sleep {seconds}", daemon(&seconds));
        let mut command = fixture.command(&[], &["/bin/bash", "-c", &script]);
        let mut server = command.stdout(Stdio::null()).spawn().unwrap();
        wait_until("the command", || sleepers(&seconds) == 2);
        server.kill().unwrap();
        server.wait().unwrap();
        wait_until("the end of all its processes", || processes_with(&seconds) == 0);
    }
}

#[test]
fn concurrent_commands_do_not_see_each_other() {
    for (one, other) in Fixture::in_tier_a().zip(Fixture::in_tier_a()) {
        let seconds = unique_seconds();
        let script = format!("touch ready; exec sleep {seconds}");
        let mut command = one.command(&["--timeout-ms", "20000"], &["/bin/bash", "-c", &script]);
        let mut first = command.spawn().unwrap();
        wait_until("the first command", || one.root().join("ready").exists());
        let run = other.run(&format!("cat /proc/*/cmdline | tr '\\0' ' ' | grep -c 'sleep {seconds}'"));
        assert_eq!(run.output, "1\n", "only the search itself: {run:?}");
        first.kill().unwrap();
        first.wait().unwrap();
    }
}
