//! Ends: whatever a command started is gone with it, however it tried to stay.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::place::{Held, Place, Setting, alone, processes_with, wait_until};

/// Forks twice into a session of its own, ignores what asks it to end, and holds the output.
const DAEMON: &str =
    "trap '' TERM HUP INT; (setsid bash -c 'trap \"\" TERM HUP INT; (exec sleep {MARK}) & wait' &) ;";

/// A number of seconds that no other process has in its command line, not even as a part of another number.
pub fn mark() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("7{:08}{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

#[test]
fn a_daemon_is_gone_within_200_ms_of_the_deadline() {
    let _alone = alone();
    for setting in Setting::all() {
        let (place, mark) = (Place::new(setting), mark());
        let script = format!("{} sleep {mark}", DAEMON.replace("{MARK}", &mark));
        let held = place.held_with(&["--timeout-ms", "300"], &script);
        assert!(held.report.contains("exit None signal Some(9) killed true"), "{setting:?}: {held:?}");
        assert!(held.number("kill_us") < 200_000, "{setting:?}: {held:?}");
        assert!(held.number("closed_after_us") < 200_000, "{setting:?}: {held:?}");
        assert_eq!(processes_with(&format!("sleep\0{mark}")), 0, "{setting:?}");
    }
}

#[test]
fn a_daemon_does_not_outlive_its_command() {
    let _alone = alone();
    for setting in Setting::all() {
        let (place, mark) = (Place::new(setting), mark());
        let held = place.held(&format!("{} echo over", DAEMON.replace("{MARK}", &mark)));
        assert_eq!(held.output, "over\n", "{setting:?}: {held:?}");
        assert!(held.succeeded(), "{setting:?}: {held:?}");
        assert_eq!(processes_with(&format!("sleep\0{mark}")), 0, "{setting:?}");
    }
}

#[test]
fn a_stopped_or_deaf_command_ends_at_its_deadline() {
    let _alone = alone();
    for setting in Setting::all() {
        for script in
            ["kill -STOP $$", "trap '' TERM INT HUP; while :; do sleep 1; done", "exec 1>&- 2>&-; sleep 100"]
        {
            let held = Place::new(setting).held_with(&["--timeout-ms", "200"], script);
            assert!(held.report.contains("killed true"), "{setting:?}: {script}: {held:?}");
            assert!(held.number("kill_us") < 200_000, "{setting:?}: {script}: {held:?}");
        }
    }
}

#[test]
fn nothing_outlives_a_server_that_was_killed() {
    let _alone = alone();
    for setting in Setting::all() {
        let (place, mark) = (Place::new(setting), mark());
        let script = format!("{} sleep {mark}", DAEMON.replace("{MARK}", &mark));
        let mut server =
            place.command(&[], &["/bin/bash", "-c", &script]).stdout(Stdio::null()).spawn().unwrap();
        wait_until("the command", || processes_with(&format!("sleep\0{mark}")) == 2);
        let server_id = Pid::from_raw(i32::try_from(server.id()).unwrap()).unwrap();
        kill_process(server_id, Signal::KILL).unwrap();
        server.wait().unwrap();
        wait_until("the end of all", || processes_with(&mark) == 0);
    }
}

#[test]
fn commands_that_run_at_once_do_not_see_each_other() {
    for setting in Setting::all().into_iter().filter(|setting| !setting.tier_b()) {
        let (one, other, mark) = (Place::new(setting), Place::new(setting), mark());
        let mut first = one.start(&["--timeout-ms", "20000"], &format!("touch ready; exec sleep {mark}"));
        wait_until("the first command", || one.root().join("ready").exists());
        let held: Held = other.held(&format!("cat /proc/*/cmdline | tr '\\0' ' ' | grep -c 'sleep {mark}'"));
        assert_eq!(held.output, "1\n", "only the search itself: {setting:?}: {held:?}");
        first.kill().unwrap();
        first.wait().unwrap();
    }
}
