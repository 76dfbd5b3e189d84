//! What looks after the data is killed at each of its steps: a backup, pruning, an undo of several files, and
//! what runs below a memory limit. Whatever was cut off is whole or can be done again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use harness::{FakeModel, ModelReply, System, binaries, wait};
use serde_json::json;

use crate::printed;

/// Runs a command of the supervisor and kills it once `is_reached`, unless it has ended by then. Returns
/// whether it was killed.
fn killed_when(system: &System, arguments: &[&str], mut is_reached: impl FnMut() -> bool) -> bool {
    let mut child = Command::new(binaries::path_of("supervisor"))
        .arg("--data-dir")
        .arg(system.dir().data())
        .args(arguments)
        .env_clear()
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{arguments:?}: {status}");
            return false;
        }
        if is_reached() {
            child.kill().unwrap();
            child.wait().unwrap();
            return true;
        }
    }
}

fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).unwrap().flatten();
    let mut names: Vec<String> = names.map(|entry| entry.file_name().display().to_string()).collect();
    names.sort();
    names
}

/// A stopped system with enough in its database that copying it takes a while.
fn with_much(text: &str) -> System {
    let mut system = System::start();
    for _ in 0..3 {
        system.run_task("ls path=.");
    }
    system.stop();
    let connection = rusqlite::Connection::open(system.dir().data().join("db/autonous.db")).unwrap();
    let many = "with recursive number(n) as (select 1 union all select n + 1 from number where n < 20000)
                insert into events (id, type, time_ms, payload)
                select printf('01900000-0000-7000-8000-%012d', n), 'progress.noted', 1,
                       json_object('text', ?1 || n) from number";
    connection.execute(many, [text.repeat(40)]).unwrap();
    system
}

/// Kills a backup whenever what is beside its copy has come as far as each of these. Returns what is left
/// there, and what the next backup says.
fn killed_backup(
    kind: &[&str],
    steps: &[u64],
    is_reached: impl Fn(&fs::DirEntry, u64) -> bool,
) -> (Vec<String>, String) {
    let system = with_much("backup of everything");
    let directory = system.dir().path().join("kept");
    fs::create_dir(&directory).unwrap();
    let copy = directory.join("copy.db");
    let copy_name = copy.display().to_string();
    let backup = [&["backup"], kind, &[copy_name.as_str()]].concat();
    let mut kills = 0;
    for step in steps {
        let copying = || fs::read_dir(&directory).unwrap().flatten().any(|entry| is_reached(&entry, *step));
        kills += usize::from(killed_when(&system, &backup, copying));
        assert!(!copy.exists(), "a copy that is not whole and checked has no name");
    }
    assert!(kills >= 2, "{kills} kills");
    let left = names(&directory);
    let said = system.shown(&backup);
    assert_eq!(names(&directory), ["copy.db"], "what was cut off is tidied away by the next backup");
    (left, said)
}

#[test]
fn a_backup_that_is_killed_at_any_step_leaves_nothing_or_a_whole_copy() {
    let is_as_large = |entry: &fs::DirEntry, size| entry.metadata().is_ok_and(|found| found.len() >= size);
    let (_, said) = killed_backup(&[], &[0, 1, 1 << 20, 4 << 20], is_as_large);
    assert!(said.contains("checked"), "{said}");
}

#[test]
fn a_backup_of_everything_that_is_killed_leaves_nothing_after_the_next_one() {
    let has_files = |entry: &fs::DirEntry, files| {
        let database = fs::read_dir(entry.path().join("db")).into_iter().flatten();
        entry.path().is_dir() && u64::try_from(database.count()).is_ok_and(|count| count >= files)
    };
    let (left, _) = killed_backup(&["--all"], &[0, 1, 2], has_files);
    assert!(left.iter().all(|name| name.ends_with(".autonous-partial")), "{left:?}");
    assert!(!left.is_empty());
}

#[test]
fn pruning_that_is_killed_at_any_step_goes_on_where_it_was() {
    let system = with_much("prune");
    let file = system.dir().data().join("db/autonous.db");
    let left = || {
        let connection = rusqlite::Connection::open(&file).ok()?;
        connection.busy_timeout(Duration::from_millis(50)).ok()?;
        let sql = "select count(*) from events where type = 'progress.noted'";
        connection.query_row(sql, [], |row| row.get::<_, i64>(0)).ok()
    };
    let prune = ["prune", "--older-than", "30d"];
    let mut kills = 0;
    for most in [20_000, 19_000, 12_000, 4000, 0] {
        kills += usize::from(killed_when(&system, &prune, || left().is_some_and(|left| left <= most)));
        let connection = rusqlite::Connection::open(&file).unwrap();
        let intact: String = connection.query_row("pragma integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(intact, "ok");
        let permit = "select count(*) from kv where key = 'prune.permit'";
        assert_eq!(connection.query_row(permit, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    }
    assert!(kills >= 2, "{kills} kills");
    system.shown(&prune);
    assert_eq!(left(), Some(0));
    assert_eq!(system.database().count("select count(*) from inbox"), 3);
}

/// A model that writes so many files, one a turn, for each of its tasks.
fn writing_model(files: usize) -> FakeModel {
    FakeModel::start(move |request| {
        let messages = request["messages"].as_array().cloned().unwrap_or_default();
        let since = messages.iter().rposition(|message| message["role"] == "user").unwrap_or(0);
        let done = messages[since..].iter().filter(|message| message["role"] == "tool").count();
        let round = messages[since]["content"].as_str().unwrap_or_default().to_owned();
        if done == files {
            return ModelReply::Text("written".to_owned());
        }
        ModelReply::call("write", &json!({"path": format!("{round}-{done}"), "content": "x\n"}))
    })
}

#[test]
fn an_undo_whose_tool_server_is_killed_at_any_file_can_be_asked_for_again() {
    const FILES: usize = 5;
    let model = writing_model(FILES);
    let system = System::builder().model(&model).start();
    for round in 0..FILES {
        let task = system.run_task(&format!("round{round}"));
        let files: Vec<PathBuf> =
            (0..FILES).map(|file| system.workspace().join(format!("round{round}-{file}"))).collect();
        let there = || files.iter().filter(|file| file.exists()).count();
        assert_eq!(there(), FILES, "{:?}", names(&system.workspace()));
        thread::scope(|scope| {
            let undoing = scope.spawn(|| system.run_command(&["undo", &task]));
            while there() > FILES - round && !undoing.is_finished() {
                thread::yield_now();
            }
            system.kill_child("tool-server");
            undoing.join().unwrap();
        });
        let mut told = Vec::new();
        let all_undone = wait::within(wait::SOON, || {
            let again = system.run_command(&["undo", &task]);
            told.push(printed(&again));
            (there() == 0).then_some(())
        });
        assert!(all_undone.is_some(), "round {round}: {} are left\n{}", there(), told.join("\n"));
    }
}

/// A group of the kernel's memory controller, if this machine has the first version of it and lets us.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    fn of_megabytes(megabytes: u64) -> Option<Self> {
        let path = PathBuf::from(format!("/sys/fs/cgroup/memory/autonous-test-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Self(path);
        fs::write(group.0.join("memory.limit_in_bytes"), (megabytes << 20).to_string()).ok()?;
        Some(group)
    }

    /// Runs this with the test itself in the group, so that what it starts is, too.
    fn inside<T>(&self, start: impl FnOnce() -> T) -> T {
        let enter = |group: &Path| {
            fs::write(group.join("cgroup.procs"), std::process::id().to_string()).unwrap();
        };
        let own = fs::read_to_string("/proc/self/cgroup").unwrap();
        let own = own.lines().find_map(|line| line.split_once(":memory:/")).expect("each process has one");
        enter(&self.0);
        let started = start();
        enter(&Path::new("/sys/fs/cgroup/memory").join(own.1));
        started
    }

    /// How often the group was at its limit.
    fn times_full(&self) -> u64 {
        let count = fs::read_to_string(self.0.join("memory.failcnt")).unwrap_or_default();
        count.trim().parse().unwrap_or(0)
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        let _ = wait::within(wait::SOON, || fs::remove_dir(&self.0).ok());
    }
}

#[test]
fn a_command_that_takes_all_memory_of_the_group_ends_alone() {
    let Some(group) = MemoryGroup::of_megabytes(700) else { return };
    let mut system = group.inside(|| System::builder().allowing_all().start());
    let of_ours = || system.children().iter().map(|child| child.pid).collect::<Vec<_>>();
    let before = of_ours();
    let hog = json!({"cmd": "head -c 3G /dev/zero | tail -c 2900M | wc -c", "timeout_seconds": 60});
    let ended = system.tool("bash", &hog);
    assert!(!ended.ok || ended.stdout.trim() != "3040870400", "{ended:?}");
    assert!(group.times_full() > 0, "the group's limit was reached: {ended:?}");
    assert!(system.tool("bash", &json!({"cmd": "echo still here"})).stdout.contains("still here"));
    assert_eq!(of_ours(), before, "no process of ours was killed");
    system.stop();
    drop(group);
}
