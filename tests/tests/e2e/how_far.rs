//! What a command that may take long shows on a terminal while it works, and that programs see nothing of it.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use harness::pty::Terminal;
use harness::{System, TestDir, ToolServer, binaries};
use rustix::fs::{CWD, FileType, Mode, mknodat};

/// What takes a line away.
const CLEAR: &str = "\u{1b}[2K";

fn run_in_terminal(program: &str, arguments: &[&str], dir: &TestDir) -> Terminal {
    let program = binaries::path_of(program);
    Terminal::start(&program, arguments, &dir.variables(), dir, 100)
}

/// Runs a command of the supervisor to its end; returns what was shown until this result.
fn shown_by(system: &System, arguments: &[&str], result: &str) -> String {
    let mut terminal = run_in_terminal("supervisor", arguments, system.dir());
    terminal.end();
    terminal.wait_for(result, 0)
}

/// The steps were shown in this order, and went before the result came.
fn assert_steps(shown: &str, steps: &[&str], result: &str) {
    let mut from = 0;
    for step in steps {
        let found = shown[from..].find(step).unwrap_or_else(|| panic!("no {step:?} in {shown:?}"));
        from += found + step.len();
    }
    let cleared = shown.rfind(CLEAR).unwrap_or_else(|| panic!("the line stays: {shown:?}"));
    assert!(steps.iter().all(|step| !shown[cleared..].contains(step)), "{shown:?}");
    assert!(shown[cleared..].contains(result), "no {result:?} in {shown:?}");
}

#[test]
fn a_backup_and_a_check_show_each_step() {
    let system = System::start();
    system.run_task("ls path=.");
    let file = system.dir().path().join("kept.db").display().to_string();
    let shown = shown_by(&system, &["backup", &file], "kept.db: ");
    assert_steps(&shown, &["Copying the database [", "Checking the copy …"], "kept.db: ");
    let shown = shown_by(&system, &["check"], "data directory  ");
    let steps = ["Asking the service …", "Checking the database …", "Checking the journal …"];
    assert_steps(&shown, &steps, "data directory  ");
}

#[test]
fn pruning_shows_how_many_events_are_deleted() {
    let mut system = System::builder().workers(1).start();
    (0..2).for_each(|_| _ = system.run_task("ls path=."));
    let prune = ["prune", "--older-than", "30d"];
    let (asked, none) = ("The supervisor deletes what is old …", "0 tasks with 0 events");
    assert_steps(&shown_by(&system, &prune, none), &[asked], none);
    system.stop();
    crate::upkeep::age(&system);
    let shown = shown_by(&system, &prune, "1 tasks with");
    let steps = ["Deleting old events [", "Making the database file smaller …"];
    assert_steps(&shown, &steps, "1 tasks with");
}

/// The journal is a pipe that gives nothing at first, so that the check waits in the middle of its work.
#[test]
fn the_check_of_a_journal_shows_how_much_is_read() {
    let server = ToolServer::builder().variable("AUTONOUS_TOOL_JOURNAL_MAX_BYTES", "4096").start();
    (0..24).for_each(|number| _ = server.call("ls", &serde_json::json!({"path": format!("no-{number}")})));
    // The server writes nothing more.
    let journal = server.dir().journal();
    let content = fs::read(&journal).unwrap();
    fs::remove_file(&journal).unwrap();
    mknodat(CWD, &journal, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let mut terminal = run_in_terminal("tool-server", &["journal", "verify"], server.dir());
    terminal.wait_for("Checking the journal [========================] 100 % of ", 0);
    // Its clock shows that it still works.
    let shown = terminal.shown().len();
    terminal.wait_for(" 1s", shown);
    File::options().write(true).open(&journal).unwrap().write_all(&content).unwrap();
    assert!(terminal.end().success());
    assert_steps(&terminal.wait_for("last hash", 0), &["Checking the journal ["], "the chain is intact");
}

#[test]
fn the_self_check_of_the_sandbox_shows_how_many_guards_were_tried() {
    let server = ToolServer::start();
    let mut terminal = run_in_terminal("tool-server", &["check"], server.dir());
    terminal.end();
    let steps = ["Trying the ways out of the sandbox …", "Trying the guards around commands [", "3 of 7"];
    assert_steps(&terminal.wait_for("own confinement", 0), &steps, "[ok]");
}

#[test]
fn a_question_that_takes_longer_than_a_second_says_so() {
    let mut system = System::start();
    system.run_task("ls path=.");
    system.stop();
    // Another program keeps the file to itself, so that each question waits.
    let other = rusqlite::Connection::open(system.dir().data().join("db/autonous.db")).unwrap();
    other.execute_batch("pragma locking_mode = exclusive; begin exclusive").unwrap();
    let waiting = [(&["usage"][..], "DAY (UTC)"), (&["audit"], "WHEN (UTC)"), (&["tree"], "task.done")];
    let waiting = waiting.map(|(arguments, result)| {
        let terminal = run_in_terminal("supervisor", arguments, system.dir());
        terminal.wait_for("Reading the database …", 0);
        (terminal, result)
    });
    drop(other);
    for (mut terminal, result) in waiting {
        assert!(terminal.end().success());
        assert_steps(&terminal.wait_for(result, 0), &["Reading the database …"], result);
    }
}

#[test]
fn a_program_that_reads_the_output_sees_nothing_of_it() {
    let system = System::start();
    let program = binaries::path_of("supervisor").display().to_string();
    let line = "\"$0\" check > found; echo ended";
    let (shell, dir) = (Path::new("/bin/sh"), system.dir());
    let mut terminal = Terminal::start(shell, &["-c", line, &program], &dir.variables(), dir, 100);
    assert!(terminal.end().success());
    assert_eq!(terminal.wait_for("ended", 0).trim(), "ended");
    let found = fs::read_to_string(system.dir().path().join("found")).unwrap();
    assert!(found.contains("data directory") && !found.contains('\u{1b}'), "{found}");
}
