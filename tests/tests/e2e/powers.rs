//! Each process has one power: no secret is in an environment, and no process has other processes' files
//! open.

use std::fs;
use std::path::PathBuf;

use harness::leftovers::{self, Process};
use harness::{FakeModel, FakeTelegram, ModelReply, System, fake_model, fake_telegram, signals};
use rustix::process::Signal;

fn whole_system() -> (System, FakeModel, FakeTelegram) {
    let telegram = FakeTelegram::start();
    let model = FakeModel::start(|_| ModelReply::text("done"));
    let system = System::builder().telegram(&telegram, "4711").model(&model).start();
    assert_eq!(system.reply(&system.say("go")), "done");
    (system, model, telegram)
}

/// Its environment; empty where the kernel hides it from everyone but root.
fn environment(process: &Process) -> String {
    harness::environment(process.pid).unwrap_or_default()
}

/// Its open files; none where the kernel hides them from everyone but root.
fn open_files(process: &Process) -> Vec<PathBuf> {
    harness::open_files(process.pid).unwrap_or_default()
}

#[test]
fn no_secret_is_in_any_environment_command_line_or_log() {
    let (system, _model, _telegram) = whole_system();
    let tokens = system.tokens();
    let secrets = [fake_model::KEY, fake_telegram::TOKEN, &tokens.tool_token, &tokens.control_token];
    let processes = leftovers::processes_of(system.dir());
    assert!(processes.len() >= 3, "{processes:?}");
    for secret in secrets {
        for process in &processes {
            assert!(!environment(process).contains(secret), "{secret} is in the environment of {process:?}");
            assert!(!process.command.contains(secret), "{secret} is in {process:?}");
        }
        assert!(!system.log().contains(secret), "{secret} is in the log");
    }
}

#[test]
fn neither_child_has_the_database_open_and_the_worker_has_no_file_at_all() {
    let (system, _model, _telegram) = whole_system();
    let database = system.dir().data().join("db");
    for name in ["agent-worker", "tool-server"] {
        let open = open_files(&system.child(name));
        assert!(!open.iter().any(|file| file.starts_with(&database)), "{name}: {open:?}");
    }
    let logs = system.dir().logs();
    let mut open = open_files(&system.child("agent-worker"));
    open.retain(|file| file.starts_with(system.dir().path()) && !file.starts_with(&logs));
    assert!(open.is_empty(), "the worker has files open: {open:?}");
}

#[test]
fn the_supervisors_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let (system, _model, _telegram) = whole_system();
    let data = system.dir().data();
    let database = system.database();
    let database = database.file().map(|_| "db/autonous.db");
    for name in ["tokens", "journal/tool-calls.jsonl"].into_iter().chain(database) {
        let mode = fs::metadata(data.join(name)).unwrap().permissions().mode();
        let parent = fs::metadata(data.join(name).parent().unwrap()).unwrap().permissions().mode();
        assert!(mode & 0o077 == 0 || parent & 0o077 == 0, "{name} is open to others: {mode:o} in {parent:o}");
    }
}

#[test]
fn every_program_is_hardened_and_confined() {
    let (system, _model, _telegram) = whole_system();
    let supervisor = system.supervisor_pid();
    let [worker, tools] = ["agent-worker", "tool-server"].map(|name| system.child(name).pid);
    let launcher = system.launcher().expect("the launcher runs").pid;
    for (name, pid, is_filtered) in [
        ("supervisor", supervisor, true),
        ("launcher", launcher, false),
        ("worker", worker, true),
        ("tool server", tools, true),
    ] {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let field = |field: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(&format!("{field}:")));
            line.unwrap_or_default().trim().to_owned()
        };
        assert_eq!(field("NoNewPrivs"), "1", "{name}");
        assert_eq!(field("Seccomp"), if is_filtered { "2" } else { "0" }, "{name}");
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).unwrap();
        let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
        assert_eq!(core.split_whitespace().nth(4), Some("0"), "{name}: {core}");
    }
    for thread in fs::read_dir(format!("/proc/{supervisor}/task")).unwrap().flatten() {
        let status = fs::read_to_string(thread.path().join("status")).unwrap();
        assert!(status.contains("Seccomp:\t2\n"), "a thread of the supervisor has no filter: {status}");
    }
    let status = fs::read_to_string(format!("/proc/{worker}/status")).unwrap();
    assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
}

#[test]
fn the_launcher_has_no_file_and_no_secret_and_outlasts_signals_that_are_meant_for_the_whole_group() {
    let (mut system, _model, _telegram) = whole_system();
    let launcher = system.launcher().expect("the launcher runs");
    let mut open = open_files(&launcher);
    open.retain(|file| file.starts_with(system.dir().path()) && !file.starts_with(system.dir().logs()));
    assert!(open.is_empty(), "the launcher has files open: {open:?}");
    assert_eq!(environment(&launcher), "");
    for signal in [Signal::TERM, Signal::INT] {
        signals::send(launcher.pid, signal);
    }
    system.kill_child("agent-worker");
    assert_eq!(system.reply(&system.say("again")), "done");
    assert_eq!(system.launcher().map(|launcher| launcher.pid), Some(launcher.pid));
    assert!(system.stop().success());
}

#[test]
fn a_supervisor_without_its_launcher_ends_with_an_error_and_its_children_end_as_well() {
    let (mut system, _model, _telegram) = whole_system();
    signals::send(system.launcher().expect("the launcher runs").pid, Signal::KILL);
    assert_eq!(system.wait().code(), Some(1));
    system.until_logged("the launcher of the other programs has ended");
    system.restart();
    assert_eq!(system.reply(&system.say("again")), "done");
}
