//! Floods and bombs: each ends at its bound or at its deadline, and the machine lives on.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::ending::mark;
use crate::place::{Place, Setting, alone, processes_with, wait_until};

#[test]
fn a_fork_bomb_is_bounded_and_gone_at_its_deadline() {
    let _alone = alone();
    for setting in Setting::all() {
        for bomb in [
            "f(){ f|f& }; f; sleep 20",
            "python3 -c \"\nimport os\nwhile 1:\n  try: os.fork()\n  except OSError: pass\"",
        ] {
            let mark = mark();
            let held = Place::new(setting).held_with(&["--timeout-ms", "1000"], &format!("{bomb} # {mark}"));
            assert!(held.ran(), "{setting:?}: {held:?}");
            // A bomb that cannot fork any more may end by itself.
            let end = if held.report.contains("kill_us") { held.number("kill_us") } else { 0 };
            assert!(end < 2_000_000, "{setting:?}: {bomb}: {held:?}");
            wait_until("the end of the bomb", || processes_with(&mark) == 0);
        }
    }
}

#[test]
fn processes_are_counted_for_each_command() {
    let _alone = alone();
    let script = "python3 -c \"
import os, time
n = 0
while n < 2000:
    try:
        if os.fork() == 0: time.sleep(60)
    except OSError: break
    n += 1
print('forks', n)\"";
    for setting in Setting::all() {
        let held = Place::new(setting).held(script);
        let forks: u32 = held.output.trim().strip_prefix("forks ").unwrap_or("2000").parse().unwrap();
        // Tier B counts all processes of the user, those of other commands too.
        let most = if setting.tier_b() { 2000 } else { 513 };
        assert!((50..most).contains(&forks), "{setting:?}: {held:?}");
    }
}

#[test]
fn memory_descriptors_and_file_sizes_are_bounded() {
    let _alone = alone();
    for setting in Setting::all() {
        for (script, expected) in [
            ("python3 -c \"x = bytearray(5 << 30)\" 2>&1 | tail -1", "MemoryError\n"),
            (
                "python3 -c \"import os; [os.open('/dev/null', 0) for _ in range(100000)]\" 2>&1 | grep -c 'Too many'",
                "1\n",
            ),
            ("truncate -s 2G big; stat -c %s big 2>&1 | grep -v -c 2147483648", "1\n"),
            ("ulimit -c; ulimit -l", "0\n64\n"),
        ] {
            let held = Place::new(setting).held(script);
            assert_eq!(held.output, expected, "{setting:?}: {script}: {held:?}");
        }
    }
}

#[test]
fn private_directories_hold_only_so_much() {
    for setting in Setting::all().into_iter().filter(|setting| !setting.tier_b()) {
        for directory in ["/tmp", "/dev/shm", "$HOME"] {
            let held = Place::new(setting)
                .held(&format!("head -c 400M /dev/zero > {directory}/fill; stat -c %s {directory}/fill"));
            let size: u64 = held.output.trim().parse().unwrap();
            assert!(size <= 256 << 20, "{setting:?}: {directory}: {held:?}");
        }
    }
}

#[test]
fn a_flood_of_output_ends_with_the_command() {
    let _alone = alone();
    for setting in Setting::all() {
        let held = Place::new(setting).held_with(&["--timeout-ms", "500"], "yes & yes >&2");
        assert!(held.number("bytes") > 1 << 20, "{setting:?}");
        assert!(held.number("kill_us") < 200_000, "{setting:?}: {}", held.report);
    }
}

#[test]
fn nothing_of_a_command_stays_on_disk_outside_its_roots() {
    for setting in Setting::all() {
        let place = Place::new(setting);
        let held = place.held("echo x > ${TMPDIR:-/tmp}/held-leftover; echo x > ~/left; echo done");
        assert_eq!(held.output, "done\n", "{held:?}");
        assert_eq!(fs::read_dir(place.path("scratch")).unwrap().count(), 0, "{setting:?}");
        assert!(!std::path::Path::new("/tmp/held-leftover").exists());
        assert_eq!(fs::metadata(place.outside()).unwrap().nlink(), 2);
    }
}
