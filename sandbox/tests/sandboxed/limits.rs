//! Floods and bombs: each ends at its limit or at its deadline, and the machine survives.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use crate::ending::unique_seconds;
use crate::fixture::{Fixture, exclusive, processes_with, wait_until};

#[test]
fn a_fork_bomb_is_bounded_and_gone_at_its_deadline() {
    let _exclusive = exclusive();
    for fixture in Fixture::all() {
        for bomb in [
            "f(){ f|f& }; f; sleep 20",
            "python3 -c \"\nimport os\nwhile 1:\n  try: os.fork()\n  except OSError: pass\"",
        ] {
            let mark = unique_seconds();
            let run = fixture.run_with(&["--timeout-ms", "1000"], &format!("{bomb} # {mark}"));
            assert!(run.was_executed(), "{run:?}");
            // A bomb that cannot fork any more may end by itself.
            let kill_us = if run.report.contains("kill_us") { run.number("kill_us") } else { 0 };
            assert!(kill_us < 2_000_000, "{run:?}");
            wait_until("the end of the bomb", || processes_with(&mark) == 0);
        }
    }
}

#[test]
fn processes_are_counted_for_each_command() {
    let _exclusive = exclusive();
    let script = "python3 -c \"
import os, time
n = 0
while n < 2000:
    try:
        if os.fork() == 0: time.sleep(60)
    except OSError: break
    n += 1
print('forks', n)\"";
    for fixture in Fixture::all() {
        let run = fixture.run(script);
        let forks: u32 = run.output.trim().strip_prefix("forks ").unwrap_or("2000").parse().unwrap();
        // Tier B counts all processes of the user, also those of other commands.
        let most = if fixture.scenario.is_tier_b() { 2000 } else { 513 };
        assert!((50..most).contains(&forks), "{run:?}");
    }
}

#[test]
fn memory_descriptors_and_file_sizes_are_bounded() {
    let _exclusive = exclusive();
    for fixture in Fixture::all() {
        for (script, expected) in [
            ("python3 -c \"x = bytearray(5 << 30)\" 2>&1 | tail -1", "MemoryError\n"),
            (
                "python3 -c \"import os; [os.open('/dev/null', 0) for _ in range(100000)]\" \
                 2>&1 | grep -c 'Too many'",
                "1\n",
            ),
            ("truncate -s 2G big; stat -c %s big 2>&1 | grep -v -c 2147483648", "1\n"),
            ("ulimit -c; ulimit -l", "0\n64\n"),
        ] {
            let run = fixture.run(script);
            assert_eq!(run.output, expected, "{run:?}");
        }
    }
}

/// Each takes 300 MiB, holds it, and would end by itself.
const HOARDERS: &[(&str, Tiers)] = &[
    ("for i in {1..10}; do hoard 'x = bytearray(30 << 20)' & done; wait", Tiers::Both),
    ("hoard 'x = bytearray(300 << 20)'", Tiers::Both),
    ("hoard 'for n in range(10): f = os.memfd_create(str(n)); os.write(f, bytes(30 << 20))'", Tiers::Both),
    (
        "hoard 'f = os.memfd_create(str()); os.truncate(f, 300 << 20); m = mmap.mmap(f, 0); \
         os.close(f); fill(m)'",
        Tiers::Both,
    ),
    ("hoard 'm = mmap.mmap(-1, 300 << 20); fill(m)'", Tiers::Both),
    ("head -c 200M /dev/zero > /tmp/a; head -c 100M /dev/zero > ~/b; hoard ''", Tiers::OnlyA),
    ("head -c 60M /dev/zero > /dev/shm/a; hoard 'x = bytearray(240 << 20)'", Tiers::OnlyA),
    ("exec 3> /tmp/a; rm /tmp/a; head -c 250M /dev/zero >&3; hoard 'x = bytearray(50 << 20)'", Tiers::OnlyA),
    (
        "hoard 'import ctypes as c; l = c.CDLL(None); l.shmat.restype = c.c_void_p; \
      i = l.shmget(0, 300 << 20, 0o1600); a = l.shmat(i, None, 0); c.memset(a, 1, 300 << 20); \
      l.shmdt(c.c_void_p(a))'",
        Tiers::OnlyA,
    ),
];

/// The same of memory that no process maps: semaphores, messages, what sockets hold, tables of pages that are
/// all one, files in messages.
const KERNEL_HOARDERS: &[(&str, Tiers)] = &[
    ("hoard 'for n in range(150): call(l.semget(0, 32000, 0o1600))'", Tiers::OnlyA),
    (
        "hoard 'for n in range(20000): q = call(l.msgget(0, 0o1600)); \
         [call(l.msgsnd(q, b\"1\" * 8008, 8000, 0)) for m in range(2)]'",
        Tiers::OnlyA,
    ),
    (
        "for i in {1..4}; do hoard 's = [socket.socketpair() for n in range(400)]; \
         [flood(a) for a, b in s]' & done; wait",
        Tiers::OnlyA,
    ),
    (
        "for i in {1..4}; do hoard 's = [socket.socketpair() for n in range(400)]; \
         [(flood(a), a.close()) for a, b in s]' & done; wait",
        Tiers::OnlyA,
    ),
    (
        "for i in {1..60}; do hoard 'm = mmap.mmap(-1, 3 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS); \
         [m[at] for at in range(0, len(m), 2 << 20)]' & done; wait",
        Tiers::Both,
    ),
    (
        "hoard 'a, b = socket.socketpair()
for n in range(10): f = os.memfd_create(str(n)); os.write(f, bytes(30 << 20)); \
socket.send_fds(a, [b\"x\"], [f]); os.close(f)'",
        Tiers::Both,
    ),
];

#[derive(PartialEq)]
enum Tiers {
    Both,
    OnlyA,
}

/// Holds what it takes for 5 s, so that hoarders that share few processors hold all of it at the same time.
const HOARD: &str = "hoard() { python3 -c \"
import ctypes, mmap, os, socket, time
l = ctypes.CDLL(None)
def call(result):
    if result < 0: raise OSError
    return result
def flood(s):
    s.setblocking(False)
    try:
        while 1: s.send(bytes(4000))
    except BlockingIOError: pass
def fill(m):
    for at in range(0, len(m), 4096): m[at] = 1
$1
time.sleep(5)
print('held')\"; }
";

#[test]
fn the_memory_of_a_whole_command_is_bounded() {
    assert_bounded(HOARDERS, "800");
}

#[test]
fn memory_that_no_process_maps_is_bounded_too() {
    assert_bounded(KERNEL_HOARDERS, "1000");
}

/// Each is ended at 200 MiB, and ends by itself where there is `enough`.
fn assert_bounded(hoarders: &[(&str, Tiers)], enough: &str) {
    let _exclusive = exclusive();
    for fixture in Fixture::all() {
        let is_all_counted = is_all_counted(&fixture);
        assert!(is_all_counted || !fixture.scenario.is_root(), "root can make a cgroup");
        for (script, tiers) in hoarders {
            if *tiers == Tiers::OnlyA && fixture.scenario.is_tier_b() {
                continue;
            }
            let script = format!("{HOARD}{script}");
            let run = fixture.run_with(&["--memory-mib", "200"], &script);
            let is_refused = !is_all_counted && script.contains("memfd_create");
            assert!(is_refused || run.report.contains("memory exceeded true"), "{run:?}");
            assert!(!run.output.contains("held"), "{run:?}");
            if !fixture.scenario.is_root() {
                continue;
            }
            let run = fixture.run_with(&["--memory-mib", enough], &script);
            assert!(run.report.contains("memory exceeded false"), "{run:?}");
            assert!(run.output.contains("held"), "{run:?}");
        }
    }
}

/// Whether the kernel counts all memory of commands; where it does not, some calls are refused.
fn is_all_counted(fixture: &Fixture) -> bool {
    !fixture.run("python3 -c 'import os; os.memfd_create(str())' || echo refused").output.contains("refused")
}

#[test]
fn pages_cannot_be_kept_in_pipes() {
    let script = "python3 -c \"
import ctypes, os
r, w = os.pipe()
l = ctypes.CDLL(None, use_errno=True)
b = ctypes.create_string_buffer(4096)
v = (ctypes.c_size_t * 2)(ctypes.addressof(b), 4096)
print(l.vmsplice(w, v, 1, 0), ctypes.get_errno())\"";
    for fixture in Fixture::all() {
        let plain = fixture.run_plain(script);
        assert_eq!(String::from_utf8_lossy(&plain.stdout), "4096 0\n");
        assert_eq!(fixture.run(script).output, "-1 1\n");
    }
}

#[test]
fn memory_that_processes_share_counts_once() {
    let _exclusive = exclusive();
    let script = format!("{HOARD}hoard 'x = bytearray(100 << 20); [os.fork() for _ in range(3)]'");
    for fixture in Fixture::all() {
        let run = fixture.run_with(&["--memory-mib", "200"], &script);
        assert!(run.report.contains("memory exceeded false"), "{run:?}");
        assert_eq!(run.output, "held\n".repeat(8), "{run:?}");
    }
}

#[test]
fn private_directories_are_bounded() {
    for fixture in Fixture::in_tier_a() {
        for directory in ["/tmp", "/dev/shm", "$HOME"] {
            let script = format!("head -c 400M /dev/zero > {directory}/fill; stat -c %s {directory}/fill");
            let run = fixture.run(&script);
            let size: u64 = run.output.trim().parse().unwrap();
            assert!(size <= 256 << 20, "{run:?}");
        }
    }
}

#[test]
fn a_flood_of_output_ends_with_the_command() {
    let _exclusive = exclusive();
    for fixture in Fixture::all() {
        let run = fixture.run_with(&["--timeout-ms", "500"], "yes & yes >&2");
        assert!(run.number("bytes") > 1 << 20, "{:?}: {}", fixture.scenario, run.report);
        assert!(run.number("kill_us") < 200_000, "{:?}: {}", fixture.scenario, run.report);
    }
}

#[test]
fn nothing_of_a_command_stays_on_disk_outside_its_roots() {
    for fixture in Fixture::all() {
        let run = fixture.run("echo x > ${TMPDIR:-/tmp}/sandbox-leftover; echo x > ~/left; echo done");
        assert_eq!(run.output, "done\n", "{run:?}");
        assert_eq!(fs::read_dir(fixture.path("scratch")).unwrap().count(), 0, "{run:?}");
        // More directories in each other than open files, one of them closed.
        let run = fixture.run(
            "cd; python3 -c 'import os
for n in range(5000): os.mkdir(\"d\"); os.chdir(\"d\")'; mkdir -p closed/d && chmod 0 closed; echo done",
        );
        assert_eq!(run.output, "done\n", "{run:?}");
        assert_eq!(fs::read_dir(fixture.path("scratch")).unwrap().count(), 0, "{run:?}");
        assert!(!std::path::Path::new("/tmp/sandbox-leftover").exists());
        assert_eq!(fs::metadata(fixture.outside()).unwrap().nlink(), 2);
    }
}
