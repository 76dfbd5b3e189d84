//! The self-check, from the server's side: a held process attacks the server, and the server looks at
//! what arrived.
//!
//! It runs through the real spawner, before the server confines itself, since it makes sockets.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::capabilities::{Capabilities, Finding, Verdict};
use crate::command::{CommandSpec, Limits};
use crate::inside::probe::{self, Plan};
use crate::messages::Job;
use crate::running::Running;
use crate::settings::Tier;
use crate::spawner::Spawner;
use crate::step::SandboxError;

/// How thorough the check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// What can be tried within the start of the server.
    Quick,
    /// The bounds on processes and memory too.
    Full,
}

/// What tier B states as its losses, by the names of the attempts.
const LOST_IN_TIER_B: &[&str] = &["stat", "chmod"];

/// The longest a probe may take before it counts as broken.
const PATIENCE: Duration = Duration::from_secs(10);

/// How soon after a command's end its output must be closed, whatever it left behind.
const CLOSED_WITHIN: Duration = Duration::from_millis(200);

/// How often a port that is free for both protocols is looked for.
const PORT_ATTEMPTS: u32 = 64;

/// What the held process is to attack.
struct Targets {
    directory: PathBuf,
    tcp: TcpListener,
    udp: UdpSocket,
    _unix: UnixListener,
    _abstract: UnixListener,
    plan: Plan,
}

impl Spawner {
    /// Tries to break out of the sandbox and says what held.
    pub fn self_check(&self, depth: Depth) -> Result<Capabilities, SandboxError> {
        let targets = Targets::set_up(self, depth).map_err(SandboxError::SelfCheck)?;
        let mut findings = self.probe(&targets)?;
        if !self.network {
            findings.extend(targets.arrivals());
        }
        findings.push(self.leave_a_daemon_behind(&targets.plan)?);
        let reason = self.denied_tier_a.clone();
        Ok(Capabilities::of(self.tier(), self.network, findings, reason))
    }

    fn probe(&self, targets: &Targets) -> Result<Vec<Finding>, SandboxError> {
        let (output, _) = collect(self.hold(&Job::Probe(targets.plan.clone()))?)?;
        let lines: Vec<_> = output.lines().filter_map(|line| line.split_once('\t')).collect();
        let mut findings: Vec<_> =
            lines.iter().map(|(name, answer)| judge(self.tier(), name, answer)).collect();
        let expected = probe::lines_of(targets.plan.bounds);
        if lines.len() != expected {
            findings.push(Finding {
                attempt: "run the probe to its end".to_owned(),
                verdict: Verdict::Broken,
                detail: format!("{} of {expected} attempts were made", lines.len()),
            });
        }
        Ok(findings)
    }

    /// A background process in a session of its own holds the command's output open and ignores what asks
    /// it to end; with the lifeline both it and bash must be gone.
    fn leave_a_daemon_behind(&self, plan: &Plan) -> Result<Finding, SandboxError> {
        let spec = CommandSpec {
            program: "/bin/bash".into(),
            arguments: vec!["-c".into(), "trap '' TERM HUP; setsid sleep 1000 & echo; wait".into()],
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            workdir: plan.root.clone(),
            limits: plan.limits,
        };
        let attempt = "run bash, and end it with all that it started".to_owned();
        let finding = |verdict, detail| Finding { attempt, verdict, detail };
        let running = match self.run(&spec) {
            Ok(running) => running,
            Err(error @ SandboxError::Exec { .. }) => return Ok(finding(Verdict::Broken, error.to_string())),
            Err(error) => return Err(error),
        };
        let mut output = File::from(running.stdout);
        let began =
            readable_by(&output, Instant::now() + PATIENCE) && output.read(&mut [0; 1]).is_ok_and(|n| n == 1);
        running.lifeline.kill();
        running.exit.wait()?;
        let closed = readable_by(&output, Instant::now() + CLOSED_WITHIN)
            && output.read(&mut [0; 1]).is_ok_and(|length| length == 0);
        Ok(match (closed, began) {
            (false, _) => finding(Verdict::Escaped, "a process outlived its command".to_owned()),
            (true, true) => finding(Verdict::Holds, "ended".to_owned()),
            (true, false) => finding(Verdict::Broken, "bash ended before it had begun".to_owned()),
        })
    }
}

fn judge(tier: Tier, name: &str, answer: &str) -> Finding {
    let verdict = match (answer == "done", probe::is_honest(name)) {
        (true, true) | (false, false) => Verdict::Holds,
        (false, true) => Verdict::Broken,
        (true, false) if tier == Tier::B && LOST_IN_TIER_B.contains(&name) => Verdict::StatedLoss,
        (true, false) => Verdict::Escaped,
    };
    let attempt = probe::text_of(name).unwrap_or(name).to_owned();
    Finding { attempt, verdict, detail: answer.to_owned() }
}

impl Targets {
    fn set_up(spawner: &Spawner, depth: Depth) -> io::Result<Self> {
        let server = std::process::id();
        let directory = spawner.scratch.join(format!("self-check-{server}"));
        let _ = fs::remove_dir_all(&directory);
        DirBuilder::new().mode(0o700).create(&directory)?;
        let (outside, socket) = (directory.join("secret"), directory.join("socket"));
        fs::write(&outside, "nobody inside may read this")?;
        let (tcp, udp) = same_port()?;
        let port = udp.local_addr()?.port();
        let abstract_name = format!("autonous-self-check-{server}");
        let address = SocketAddr::from_abstract_name(&abstract_name)?;
        let root = spawner.root.clone().ok_or(io::ErrorKind::NotFound)?;
        Ok(Self {
            tcp,
            udp,
            _unix: UnixListener::bind(&socket)?,
            _abstract: UnixListener::bind_addr(&address)?,
            plan: Plan {
                outside,
                root,
                server: i32::try_from(server).map_err(io::Error::other)?,
                port,
                abstract_name,
                socket,
                bounds: depth == Depth::Full,
                limits: Limits::for_timeout(PATIENCE),
            },
            directory,
        })
    }

    /// Whether anything came from the probe over the network.
    fn arrivals(&self) -> [Finding; 2] {
        let arrived = |attempt: &str, arrived: bool| Finding {
            attempt: attempt.to_owned(),
            verdict: if arrived { Verdict::Escaped } else { Verdict::Holds },
            detail: if arrived { "it arrived" } else { "nothing arrived" }.to_owned(),
        };
        [
            arrived("reach the server over TCP, with fast open too", self.tcp.accept().is_ok()),
            arrived("reach the server over UDP", self.udp.recv(&mut [0; 16]).is_ok()),
        ]
    }
}

/// A TCP and a UDP socket on one port that neither was using.
fn same_port() -> io::Result<(TcpListener, UdpSocket)> {
    let mut last = io::ErrorKind::AddrInUse.into();
    for _ in 0..PORT_ATTEMPTS {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        match TcpListener::bind(udp.local_addr()?) {
            Ok(tcp) => {
                udp.set_nonblocking(true)?;
                tcp.set_nonblocking(true)?;
                return Ok((tcp, udp));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

impl Drop for Targets {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Reads a held process's output to its end, which the lifeline brings about if nothing else does.
fn collect(running: Running) -> Result<(String, i32), SandboxError> {
    let Running { stdout, lifeline, exit, .. } = running;
    let deadline = Instant::now() + PATIENCE;
    let mut output = Vec::new();
    let mut chunk = [0; 4096];
    let mut file = File::from(stdout);
    while readable_by(&file, deadline) {
        match file.read(&mut chunk) {
            Ok(0) | Err(_) => break,
            Ok(length) => output.extend_from_slice(&chunk[..length]),
        }
    }
    lifeline.kill();
    let exit = exit.wait()?;
    Ok((String::from_utf8_lossy(&output).into_owned(), exit.code.unwrap_or(-1)))
}

fn readable_by(file: &File, deadline: Instant) -> bool {
    let left = Timespec::try_from(deadline.saturating_duration_since(Instant::now())).ok();
    matches!(poll(&mut [PollFd::new(file, PollFlags::IN)], left.as_ref()), Ok(ready) if ready > 0)
}
