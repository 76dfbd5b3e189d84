//! Somebody takes the place of the worker, the supervisor or the fetcher, as its user and with its
//! confinement, beside a whole running system.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use harness::{System, http};

/// An ordinary user that no machine gives to a person.
const STRANGER: u32 = 61_234;

/// The attempts that look into another process.
const INTO_PROCESSES: [&str; 5] =
    ["memory by file", "memory by system call", "trace", "take a descriptor", "environment"];

/// What the supervisor may do: work with the files of its data directory, and read settings of the machine.
const OF_THE_SUPERVISOR: [&str; 11] = [
    "read the tokens", "read the database", "read the journal", "list the workspace", "list the skills",
    "list the outputs", "write the database", "write the journal", "plant a file", "change a mode",
    "read the accounts",
];

#[test]
fn whoever_takes_the_place_of_the_worker_reaches_nothing_but_the_network() {
    check("worker", &[]);
}

#[test]
fn whoever_takes_the_place_of_the_supervisor_starts_no_program_and_reaches_only_its_files() {
    check("supervisor", &OF_THE_SUPERVISOR);
}

/// It has its secrets in memory and the network, but no file to give away.
#[test]
fn whoever_takes_the_place_of_the_fetcher_reads_no_file_and_only_forks() {
    check("fetcher", &["fork"]);
}

#[test]
fn whoever_takes_over_one_of_its_requests_reads_no_file() {
    check("fetch", &[]);
}

fn check(mode: &str, allowed: &[&str]) {
    let system = System::start();
    let socket = system.workspace().join("host.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let port = http::address_of(&system.tokens().control_url).port();
    let intrude = |mode: &str| {
        let mut command = Command::new(example());
        command.arg(mode).arg(system.supervisor_pid().to_string()).arg(system.dir().data());
        results(command.arg(port.to_string()).arg(&socket))
    };
    let (free, confined) = (intrude("free"), intrude(mode));
    assert!(free.len() > 25 && free.keys().eq(confined.keys()), "{free:#?} {confined:#?}");
    let (attacks, work): (Vec<&String>, Vec<&String>) =
        free.keys().partition(|name| !name.starts_with("work: "));
    for name in work {
        assert_eq!((free[name].as_str(), confined[name].as_str()), ("done", "done"), "{name}");
    }
    for name in attacks {
        // An ordinary user is kept out of a hardened process without any confinement.
        let hardening = INTO_PROCESSES.contains(&name.as_str()) || name == "packets of its own";
        let proven = rustix::process::getuid().is_root() || !hardening;
        assert!(!proven || free[name] == "done", "{name} proves nothing: {}", free[name]);
        let is_allowed = allowed.contains(&name.as_str());
        assert_eq!(confined[name] == "done", is_allowed, "{name}: {}", confined[name]);
    }
}

#[test]
fn other_processes_of_the_same_user_cannot_look_into_a_hardened_program() {
    let place = tempfile::tempdir().unwrap();
    let program = for_everybody(place.path());
    for (harden, expected) in [(&["victim"][..], true), (&["victim", "harden"], false)] {
        let victim = Victim::start(&program, harden);
        let mut command = Command::new(&program);
        command.args(["free", &victim.0.id().to_string(), "/nowhere", "1", "/nowhere"]);
        let results = results(as_ordinary_user(&mut command));
        for name in INTO_PROCESSES {
            // Yama keeps strangers from tracing anything, hardened or not.
            let yama = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope");
            if expected && name != "environment" && yama.is_ok_and(|scope| scope.trim() != "0") {
                continue;
            }
            assert_eq!(results[name] == "done", expected, "{name} with {harden:?}: {}", results[name]);
        }
    }
}

struct Victim(Child);

impl Victim {
    fn start(program: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        as_ordinary_user(&mut command).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
        Self(child)
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn as_ordinary_user(command: &mut Command) -> &mut Command {
    if rustix::process::getuid().is_root() { command.uid(STRANGER) } else { command }
}

/// What each attempt came to.
fn results(command: &mut Command) -> BTreeMap<String, String> {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    lines.map(|(name, result)| (name.to_owned(), result.to_owned())).collect()
}

/// A copy of the example where every user can execute it.
fn for_everybody(place: &Path) -> PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(place, std::fs::Permissions::from_mode(0o755)).unwrap();
    let copy = place.join("intruder");
    std::fs::copy(example(), &copy).unwrap();
    copy
}

/// The example beside this test; the same build makes it.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/intruder");
    assert!(program.exists(), "{} is missing: cargo build -p process --examples", program.display());
    program
}
