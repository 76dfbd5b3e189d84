//! Sandboxes that were prepared before their command was known: each is used once, and none is left.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead as _, BufReader, ErrorKind, Lines, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::ending::unique_seconds;
use crate::fixture::{Fixture, exclusive, processes_with, wait_until};

/// How many sandboxes wait, and of how many processes each consists.
const PREPARED: usize = 4;
const PROCESSES: usize = 2;

/// The most networks that the spawner keeps without a sandbox.
const UNUSED_NETWORKS: usize = 16;

/// A server that runs the same script again and again.
struct Server {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Server {
    fn start(fixture: &Fixture, options: &[&str], script: &str) -> Self {
        let mut command =
            fixture.command(&[&["--each-line"], options].concat(), &["/bin/bash", "-c", script]);
        let mut process = command.stdin(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut server = Self { process, stdin, stdout };
        server.report();
        server
    }

    /// Starts it and waits until all its sandboxes wait for a command.
    fn prepared(fixture: &Fixture, script: &str) -> Self {
        let server = Self::start(fixture, &[], script);
        wait_until("the sandboxes", || server.waiting().len() == PREPARED);
        server
    }

    fn run(&mut self) -> String {
        self.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        self.report()
    }

    /// What it prints until the end of the next run.
    fn report(&mut self) -> String {
        let lines = self.stdout.by_ref().map(Result::unwrap).take_while(|line| line != "end of run");
        lines.map(|line| line + "\n").collect()
    }

    fn output(&mut self) -> String {
        let report = self.run();
        let (_, output) = report.split_once("output\n").unwrap_or_else(|| panic!("{report}"));
        output.trim_end().to_owned()
    }

    fn descendants(&self) -> Vec<Process> {
        descendants(self.process.id())
    }

    /// The processes that will be a command: confined, and not yet another program.
    fn waiting(&self) -> Vec<Process> {
        self.named("waiting")
    }

    /// Waits until there is nothing but the spawner and the sandboxes that wait.
    fn settle(&self) {
        wait_until("one spawner and its waiting sandboxes", || {
            self.waiting().len() == PREPARED && self.descendants().len() == 1 + PREPARED * PROCESSES
        });
    }

    /// How many network namespaces the spawner holds; none where that cannot be seen.
    fn networks(&self) -> Option<usize> {
        let targets = descriptors(self.named("spawner")[0].id)?;
        Some(targets.iter().filter(|target| target.to_string_lossy().starts_with("net:[")).count())
    }

    fn named(&self, name: &str) -> Vec<Process> {
        let mut descendants = self.descendants();
        descendants.retain(|process| process.name == name);
        descendants
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let left = self.descendants();
        drop(self.stdin.take());
        let _ = self.process.wait();
        wait_until("the end of all processes", || left.iter().all(Process::is_gone));
    }
}

#[derive(Debug, Clone)]
struct Process {
    id: u32,
    parent: u32,
    name: String,
    is_zombie: bool,
    started: String,
}

impl Process {
    fn read(id: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let values: HashMap<&str, &str> = status.lines().filter_map(|line| line.split_once(":\t")).collect();
        Some(Self {
            id,
            parent: values.get("PPid")?.trim().parse().ok()?,
            name: (*values.get("Name")?).to_owned(),
            is_zombie: values.get("State")?.starts_with('Z'),
            started: stat.rsplit_once(") ")?.1.split(' ').nth(19)?.to_owned(),
        })
    }

    fn is_gone(&self) -> bool {
        Self::read(self.id).is_none_or(|now| now.started != self.started || now.is_zombie)
    }

    fn kill(&self) {
        // It may have ended with another one.
        let _ = kill_process(Pid::from_raw(self.id.try_into().unwrap()).unwrap(), Signal::KILL);
        wait_until("the end of a process", || self.is_gone());
    }
}

fn descendants(ancestor: u32) -> Vec<Process> {
    let all: Vec<Process> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| Process::read(entry.file_name().to_str()?.parse().ok()?))
        .collect();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        for child in all.iter().filter(|process| process.parent == parent) {
            parents.push(child.id);
            found.push(child.clone());
        }
    }
    found
}

/// Shows the traces of earlier runs and leaves its own.
const TRACES: &str = r#"
echo "network $(cat /proc/net/{snmp,dev,tcp} | cksum)"
ls /tmp ~ /dev/shm; echo "$TRACE"; ps -e -o args | grep -c '[s]leep @'; cat /proc/sys/kernel/hostname
python3 - <<'PYTHON'
import socket, subprocess, os
listeners = []
for family, address in [(socket.AF_UNIX, "\0trace-@"), (socket.AF_INET, ("127.0.0.1", 23471))]:
    print("heard" if socket.socket(family).connect_ex(address) == 0 else "silence")
    listeners.append(socket.socket(family))
    try: listeners[-1].bind(address)
    except OSError: continue
    listeners[-1].listen()
    socket.create_connection(address).close() if family == socket.AF_INET else None
    os.set_inheritable(listeners[-1].fileno(), True)
subprocess.Popen(["setsid", "sleep", "@"], close_fds=False, stdout=subprocess.DEVNULL)
PYTHON
touch /tmp/trace ~/trace /dev/shm/trace; export TRACE=1; echo "$PPID $$"
"#;

#[test]
fn nothing_of_one_command_reaches_another() {
    let _exclusive = exclusive();
    for fixture in Fixture::in_tier_a() {
        let seconds = unique_seconds();
        let traces = TRACES.replace('@', &seconds);
        let twice = fixture.run(&format!("{traces}\n{traces}"));
        assert!(
            twice.output.contains("heard\nheard\n"),
            "a second run in one sandbox meets the first: {twice:?}"
        );
        assert_eq!(twice.output.matches("trace\n").count(), 3, "{twice:?}");
        let networks: Vec<_> = twice.output.lines().filter(|line| line.starts_with("network ")).collect();
        assert!(networks.len() == 2 && networks[0] != networks[1], "{twice:?}");

        let mut server = Server::prepared(&fixture, &traces);
        let first = server.output();
        assert!(first.ends_with("\n1 2") && first.contains("silence\nsilence\n"), "{first}");
        for _ in 0..2 * PREPARED {
            assert_eq!(server.output(), first);
        }
        assert_eq!(processes_with(&format!("sleep\0{seconds}")), 0);
    }
}

#[test]
fn a_sandbox_that_died_while_it_waited_is_replaced() {
    for fixture in Fixture::all() {
        let mut server = Server::prepared(&fixture, "echo fine");
        server.named("init").iter().for_each(Process::kill);
        for _ in 0..2 * PREPARED {
            assert_eq!(server.output(), "fine", "after the end of each init");
        }
        wait_until("new sandboxes", || server.waiting().len() == PREPARED);
        server.waiting().iter().for_each(Process::kill);
        assert_eq!(server.output(), "fine", "after the end of each waiting command");
    }
}

#[test]
fn sandboxes_that_wait_end_with_the_spawner() {
    for fixture in Fixture::all() {
        let server = Server::prepared(&fixture, "true");
        let all = server.descendants();
        assert_eq!(all.len(), 1 + PREPARED * PROCESSES, "{all:?}");
        server.named("spawner")[0].kill();
        wait_until("the end of all sandboxes", || all.iter().all(Process::is_gone));
    }
}

#[test]
fn sandboxes_that_wait_end_with_a_server_that_was_killed() {
    for fixture in Fixture::all() {
        let mut server = Server::prepared(&fixture, "true");
        let all = server.descendants();
        server.process.kill().unwrap();
        wait_until("the end of all sandboxes", || all.iter().all(Process::is_gone));
    }
}

#[test]
fn what_appears_after_a_sandbox_was_prepared_is_covered() {
    for fixture in Fixture::in_tier_a() {
        let secret = fixture.beneath("sub/.env");
        let mut server = Server::start(&fixture, &["--hide", &secret], "cat sub/.env sub/other");
        wait_until("the sandboxes", || server.waiting().len() == PREPARED);
        fixture.prepare("mkdir sub; echo KEY > sub/.env; echo fine > sub/other");
        assert_eq!(server.output(), "fine");
    }
}

#[test]
fn a_root_that_was_replaced_is_the_same_to_a_prepared_sandbox_as_to_a_new_one() {
    for fixture in Fixture::all() {
        fixture.prepare("echo old > file");
        let mut servers = [
            Server::prepared(&fixture, "cat file; echo x > new && echo written"),
            Server::start(&fixture, &["--unprepared"], "cat file; echo x > new && echo written"),
        ];
        fs::rename(fixture.root(), fixture.path("moved")).unwrap();
        fs::create_dir(fixture.root()).unwrap();
        fs::write(fixture.root().join("file"), "new\n").unwrap();
        fixture.chown(&fixture.root());
        let [prepared, new] = servers.each_mut().map(Server::output);
        assert_eq!(prepared, new, "{:?}", fixture.scenario);
        let expected = if fixture.scenario.is_tier_b() { "new\nwritten" } else { "old\nwritten" };
        assert_eq!(prepared, expected, "{:?}", fixture.scenario);
    }
}

/// Where the descriptors of a process lead. The kernel shows those of a process that gave rights away, as the
/// spawner does, to root alone.
fn descriptors(id: u32) -> Option<Vec<PathBuf>> {
    match fs::read_dir(format!("/proc/{id}/fd")) {
        Ok(all) => Some(all.filter_map(|one| fs::read_link(one.unwrap().path()).ok()).collect()),
        Err(error) if error.kind() == ErrorKind::PermissionDenied && !geteuid().is_root() => None,
        Err(error) => panic!("{id}: {error}"),
    }
}

#[test]
fn processes_and_descriptors_do_not_add_up() {
    for fixture in Fixture::all() {
        let mut server = Server::prepared(&fixture, "true");
        let count = |id: u32| descriptors(id).map(|all| all.len());
        let spawner = server.named("spawner")[0].id;
        let [server_before, spawner_before] = [server.process.id(), spawner].map(count);
        for _ in 0..10 * PREPARED {
            assert!(server.run().contains("exit Some(0)"));
        }
        server.settle();
        let [server_after, spawner_after] = [server.process.id(), spawner].map(count);
        assert_eq!(server_after, server_before);
        let most = spawner_before.map(|before| before + UNUSED_NETWORKS);
        assert!(spawner_after <= most, "{spawner_before:?} {spawner_after:?}");
    }
}

#[test]
fn a_network_serves_again_only_if_nothing_of_its_command_is_left_in_it() {
    let cases = [
        ("true", true),
        (
            "python3 -c 'import socket; socket.socketpair()[0].send(b\"x\"); socket.socket(socket.AF_UNIX)'",
            true,
        ),
        ("python3 -c 'import socket; socket.socket()' & wait", false),
        ("python3 -c 'import socket; socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)'", false),
        ("python3 -c 'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)'", false),
        ("python3 -c 'import socket; socket.if_nameindex()'; kill -9 $$", false),
    ];
    for fixture in Fixture::in_tier_a() {
        for (script, serves_again) in cases {
            let mut server = Server::prepared(&fixture, script);
            for _ in 0..2 * PREPARED {
                server.run();
            }
            server.settle();
            if server.networks().is_none() {
                continue;
            }
            wait_until("the end of the last network", || {
                (server.networks() > Some(PREPARED)) == serves_again
            });
            assert!(server.networks() <= Some(PREPARED + UNUSED_NETWORKS), "{script}");
        }
    }
}
