//! The self-check, from the server's side: a confined process attacks the server, and the server looks at
//! what got through.
//!
//! It uses the real spawner, and runs before the server confines itself because it opens sockets.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::capabilities::{Capabilities, Finding, Verdict};
use crate::command::{CommandSpec, Limits, OwnDirectory};
use crate::inside::probe;
use crate::messages::{Job, ProbePlan};
use crate::running::Running;
use crate::settings::{Network, Tier};
use crate::spawner::Spawner;
use crate::step::SandboxError;

/// How thorough the self-check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// What can be tried while the server starts.
    Quick,
    /// Also the limits on processes and memory.
    Full,
}

/// Attempts that succeed in tier B, by name; its stated losses.
const STATED_LOSSES_OF_TIER_B: &[&str] = &["stat", "chmod"];

/// The probe's own directory, where the roots are divided.
const OWN_DIRECTORY: &str = ".autonous-self-check";

/// How long a probe may take before it counts as broken.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// How soon after a command's end its output must be closed, even if it left processes behind.
const CLOSED_WITHIN: Duration = Duration::from_millis(200);

struct Targets {
    directory: PathBuf,
    tcp: TcpListener,
    udp: UdpSocket,
    _unix: UnixListener,
    _abstract: UnixListener,
    plan: ProbePlan,
}

impl Spawner {
    /// Tries to break out of the sandbox and reports what held.
    pub fn self_check(&self, depth: Depth) -> Result<Capabilities, SandboxError> {
        let targets = Targets::set_up(self, depth).map_err(SandboxError::SelfCheck)?;
        let mut findings = self.probe(&targets)?;
        if self.network != Network::All {
            findings.extend(targets.arrivals());
        }
        findings.push(self.try_to_leave_a_daemon(&targets.plan)?);
        findings.push(self.try_to_look_into_spawner());
        Ok(Capabilities::of(self.tier(), self.network, self.has_cgroups, findings, self.tier_a_error.clone()))
    }

    fn probe(&self, targets: &Targets) -> Result<Vec<Finding>, SandboxError> {
        let output = collect(self.start_job(&Job::Probe(targets.plan.clone()))?)?;
        let answers: Vec<_> = output.lines().filter_map(|line| line.split_once('\t')).collect();
        let attempts: Vec<_> = probe::attempts(targets.plan.test_limits).collect();
        let mut findings: Vec<_> = attempts
            .iter()
            .filter_map(|attempt| {
                let (_, answer) = answers.iter().find(|(name, _)| *name == attempt.name)?;
                Some(judge(self.tier(), attempt, answer))
            })
            .collect();
        if answers.len() != attempts.len() || findings.len() != attempts.len() {
            findings.push(Finding {
                attempt: "run the probe to its end".to_owned(),
                verdict: Verdict::Broken,
                detail: format!("{} of {} attempts were made", answers.len(), attempts.len()),
            });
        }
        Ok(findings)
    }

    /// To other processes of the user, the kernel gives the files in `/proc` of a process that they may look
    /// into. Those of a spawner belong to root.
    fn try_to_look_into_spawner(&self) -> Finding {
        let environment = format!("/proc/{}/environ", self.pid);
        let (verdict, detail) = match fs::metadata(environment) {
            Ok(facts) if facts.uid() == 0 => (Verdict::Holds, "its memory is closed to its user".to_owned()),
            Ok(_) => (Verdict::Escaped, "its user may".to_owned()),
            Err(error) => (Verdict::Broken, error.to_string()),
        };
        Finding { attempt: "look into the process that starts commands".to_owned(), verdict, detail }
    }

    /// A background process in its own session holds the command's output open and ignores SIGTERM. When
    /// the lifeline closes, it and bash must be gone.
    fn try_to_leave_a_daemon(&self, plan: &ProbePlan) -> Result<Finding, SandboxError> {
        let spec = CommandSpec {
            program: "/bin/bash".into(),
            arguments: vec!["-c".into(), "trap '' TERM HUP; setsid sleep 1000 & echo; wait".into()],
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            has_input: false,
            has_terminal: false,
            keeps_state: false,
            workdir: plan.root.clone(),
            limits: plan.limits,
            covers: Vec::new(),
            network: None,
            proxy_variables: Vec::new(),
            is_offline: false,
            own_directories: Some(plan.own_directories.clone()).filter(|own| !own.is_empty()),
        };
        let attempt = "run bash, and end it with all its processes".to_owned();
        let finding = |verdict, detail| Finding { attempt, verdict, detail };
        let running = match self.run(&spec) {
            Ok(running) => running,
            Err(error @ SandboxError::Exec { .. }) => return Ok(finding(Verdict::Broken, error.to_string())),
            Err(error) => return Err(error),
        };
        let mut output = File::from(running.stdout);
        let mut reads = |count, timeout| {
            readable_by(&output, Instant::now() + timeout)
                && output.read(&mut [0; 1]).is_ok_and(|length| length == count)
        };
        let started = reads(1, PROBE_TIMEOUT);
        running.lifeline.kill();
        running.exit.wait()?;
        let closed = reads(0, CLOSED_WITHIN);
        Ok(match (closed, started) {
            (false, _) => finding(Verdict::Escaped, "a process outlived its command".to_owned()),
            (true, true) => finding(Verdict::Holds, "ended".to_owned()),
            (true, false) => finding(Verdict::Broken, "bash ended before it wrote anything".to_owned()),
        })
    }
}

fn judge(tier: Tier, attempt: &probe::Attempt, answer: &str) -> Finding {
    let is_stated_loss = tier == Tier::B && STATED_LOSSES_OF_TIER_B.contains(&attempt.name);
    let verdict = match (answer == probe::SUCCESS, attempt.is_attack) {
        (true, false) | (false, true) => Verdict::Holds,
        (false, false) => Verdict::Broken,
        (true, true) if is_stated_loss => Verdict::StatedLoss,
        (true, true) => Verdict::Escaped,
    };
    Finding { attempt: attempt.text.to_owned(), verdict, detail: answer.to_owned() }
}

impl Targets {
    fn set_up(spawner: &Spawner, depth: Depth) -> io::Result<Self> {
        let server = std::process::id();
        let directory = spawner.scratch.join(format!("self-check-{server}"));
        let _ = fs::remove_dir_all(&directory);
        DirBuilder::new().mode(0o700).create(&directory)?;
        let outside = directory.join("secret");
        fs::write(&outside, "no command may read this")?;
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        tcp.set_nonblocking(true)?;
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        udp.set_nonblocking(true)?;
        let abstract_name = format!("autonous-self-check-{server}");
        let address = SocketAddr::from_abstract_name(&abstract_name)?;
        let root = spawner.root.clone().ok_or(io::ErrorKind::NotFound)?;
        let (root, own) = if spawner.divided { own_directory_in(&root)? } else { (root, None) };
        Ok(Self {
            _unix: socket_in(&directory)?,
            _abstract: UnixListener::bind_addr(&address)?,
            plan: ProbePlan {
                outside,
                root,
                own_directories: own.into_iter().collect(),
                server_pid: i32::try_from(server).map_err(io::Error::other)?,
                tcp_port: tcp.local_addr()?.port(),
                udp_port: udp.local_addr()?.port(),
                abstract_name,
                socket_directory: directory.clone(),
                test_limits: depth == Depth::Full,
                limits: Limits::for_timeout(PROBE_TIMEOUT),
            },
            directory,
            tcp,
            udp,
        })
    }

    /// Whether anything came from the probe over the network.
    fn arrivals(&self) -> [Finding; 2] {
        let finding = |attempt: &str, arrived: bool| Finding {
            attempt: attempt.to_owned(),
            verdict: if arrived { Verdict::Escaped } else { Verdict::Holds },
            detail: if arrived { "it arrived" } else { "nothing arrived" }.to_owned(),
        };
        [
            finding("reach the server over TCP, also with fast open", self.tcp.accept().is_ok()),
            finding("reach the server over UDP", self.udp.recv(&mut [0; 16]).is_ok()),
        ]
    }
}

impl Drop for Targets {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
        for own in &self.plan.own_directories {
            let _ = fs::remove_dir(&own.path);
        }
    }
}

/// A socket in this directory, whose path may be longer than the address of a socket: 107 bytes.
fn socket_in(directory: &Path) -> io::Result<UnixListener> {
    let opened = File::open(directory)?;
    UnixListener::bind(format!("/proc/self/fd/{}/{}", opened.as_raw_fd(), probe::SOCKET))
}

/// The probe's own directory in a divided root.
fn own_directory_in(root: &Path) -> io::Result<(PathBuf, Option<OwnDirectory>)> {
    let path = root.join(OWN_DIRECTORY);
    match DirBuilder::new().mode(0o700).create(&path) {
        // A server that was killed left it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    let facts = fs::symlink_metadata(&path)?;
    let own = OwnDirectory { path: path.clone(), device: facts.dev(), inode: facts.ino(), read_only: false };
    Ok((path, Some(own)))
}

/// Reads the output of a confined process to its end, and kills the process at the deadline.
fn collect(running: Running) -> Result<String, SandboxError> {
    let Running { stdout, lifeline, exit, .. } = running;
    let deadline = Instant::now() + PROBE_TIMEOUT;
    let (mut output, mut chunk) = (Vec::new(), [0; 4096]);
    let mut file = File::from(stdout);
    while readable_by(&file, deadline) {
        match file.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(length) => output.extend_from_slice(&chunk[..length]),
        }
    }
    lifeline.kill();
    exit.wait()?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

fn readable_by(file: &File, deadline: Instant) -> bool {
    let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
    matches!(poll(&mut [PollFd::new(file, PollFlags::IN)], left.as_ref()), Ok(ready) if ready > 0)
}
