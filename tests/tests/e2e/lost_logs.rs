//! Where the logs go fails or stands still: all work continues, and health says that the log is missing.

use std::io::{PipeReader, Read as _};

use harness::small_disk::{SmallDisk, in_own_namespace};
use harness::system::direct_ls;
use harness::{System, SystemBuilder, ToolServer, wait};
use rustix::pipe::fcntl_setpipe_size;
use serde_json::json;

/// Room for the lines of a start and some more.
const LOG_DISK_BYTES: u64 = 1024 * 1024;

/// What a pipe of the smallest size holds.
const PIPE_BYTES: usize = 4096;

/// A system whose output goes into a pipe of the smallest size, and the end of the pipe that is read.
fn with_output_in_a_pipe(builder: SystemBuilder) -> (System, PipeReader) {
    let (mut reader, writer) = std::io::pipe().unwrap();
    fcntl_setpipe_size(&writer, PIPE_BYTES).unwrap();
    // It is read during the start, as by a program that ends later.
    let (stop, stopped) = std::sync::mpsc::channel();
    let reading = std::thread::spawn(move || {
        let mut piece = [0; PIPE_BYTES];
        while stopped.try_recv().is_err() && reader.read(&mut piece).is_ok_and(|read| read > 0) {}
        reader
    });
    let system = builder.output_into(writer).start();
    stop.send(()).unwrap();
    // One more line ends the thread's read.
    kill_and_await_another(&system, "agent-worker");
    (system, reading.join().unwrap())
}

fn kill_and_await_another(system: &System, name: &str) {
    let killed = system.child(name).pid;
    system.kill_child(name);
    wait::until_true(&format!("another {name} runs in place of {killed}"), || {
        let mut children = system.children().into_iter().filter(|child| child.is(name));
        children.all(|child| child.pid != killed)
    });
}

/// Everything that logs still works: children that end are replaced, and each message is answered.
fn assert_works(system: &System) {
    for round in 0..3 {
        kill_and_await_another(system, "agent-worker");
        kill_and_await_another(system, "tool-server");
        let tasks: Vec<String> =
            (0..7).map(|chat| system.say_in(&format!("chat-{round}-{chat}"), &direct_ls("."))).collect();
        tasks.iter().for_each(|task| assert!(system.reply(task).contains("exit 0"), "{task}"));
    }
    wait::until_true("all workers are there", || system.part("workers")["detail"] == "4 of 4 ready");
    assert_eq!(system.database().count("select count(*) from inbox where state <> 'done'"), 0);
}

fn assert_log_is_degraded(system: &System, words: &str) {
    wait::until_true(&format!("health says of the log: {words}"), || {
        let part = system.part("log");
        part["state"] == "degraded" && part["detail"].to_string().contains(words)
    });
}

#[test]
fn a_log_whose_reader_has_ended_costs_no_work() {
    let (mut system, reader) = with_output_in_a_pipe(System::builder());
    drop(reader);
    assert_works(&system);
    assert_log_is_degraded(&system, "has ended");
    let check = system.run_set_up(&["check"]);
    assert!(String::from_utf8_lossy(&check.stdout).contains("has ended"), "{check:?}");
    assert!(system.stop().success());
}

#[test]
fn a_log_whose_reader_stands_still_blocks_nothing() {
    let (mut system, mut reader) = with_output_in_a_pipe(System::builder());
    assert_works(&system);
    assert_log_is_degraded(&system, "has read nothing");
    // Once it reads again, it gets what waited.
    std::thread::spawn(move || reader.read_to_end(&mut Vec::new()));
    wait::until_true("the log is written again", || system.part("log")["state"] == "ok");
    assert!(system.stop().success());

    let (mut system, _reader) = with_output_in_a_pipe(System::builder());
    assert_works(&system);
    assert!(system.stop().success());
}

#[test]
fn a_log_on_a_full_disk_costs_no_work_and_goes_on_when_there_is_room() {
    in_own_namespace("lost_logs::a_log_on_a_full_disk_costs_no_work_and_goes_on_when_there_is_room", || {
        let builder = System::builder();
        let disk = SmallDisk::mount(&builder.dir().logs(), LOG_DISK_BYTES);
        let mut system = builder.start();
        disk.fill();
        assert_works(&system);
        assert_log_is_degraded(&system, "No space left");
        disk.clear();
        wait::until_true("the log is written again", || system.part("log")["state"] == "ok");
        let before = system.log().lines().count();
        kill_and_await_another(&system, "agent-worker");
        wait::until_true("the log continues", || system.log().lines().count() > before);
        let is_whole = |line: &str| serde_json::from_str::<serde_json::Value>(line).is_ok();
        let torn = system.log().lines().filter(|line| !is_whole(line)).count();
        assert!(torn <= 6, "at most one line of each process is torn: {}", system.log());
        assert!(system.stop().success());
    });
}

#[test]
fn a_tool_server_alone_serves_without_its_log() {
    in_own_namespace("lost_logs::a_tool_server_alone_serves_without_its_log", || {
        let builder = ToolServer::builder().variable("RUST_LOG", "trace");
        let disk = SmallDisk::mount(&builder.dir().logs(), LOG_DISK_BYTES);
        let server = builder.start();
        disk.fill();
        for _ in 0..20 {
            assert!(server.call("bash", &json!({"cmd": "true"})).ok);
        }
        disk.clear();
        assert!(server.stop().success());
    });
}
