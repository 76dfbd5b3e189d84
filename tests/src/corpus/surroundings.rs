//! A server's surroundings: listeners that no command may reach, probe programs in C (system calls that a
//! shell cannot make), and the server's resource limits.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::canary::{CANARY, probes_in};
use super::{Case, Mode, require};
use crate::ToolServer;

/// The process that cases leave behind; each run appends its own number.
const LEFT_BEHIND: &str = "sleep 7777";

#[derive(Debug)]
pub(super) struct Surroundings {
    server_port: TcpListener,
    supervisor_port: TcpListener,
    udp: UdpSocket,
    unix: UnixDatagram,
    pub(super) dir: PathBuf,
    /// Process id.
    pub(super) server: u32,
    limits: String,
    probes: PathBuf,
}

impl Surroundings {
    pub(super) fn set_up(case: &Case, mode: Mode, server: &mut ToolServer) -> Result<Self, String> {
        let pid = server.program().pid();
        let dir = server.dir();
        let probes = probes_in(dir);
        build_probes(case.args.get("cmd").and_then(|cmd| cmd.as_str()).unwrap_or_default(), &probes)?;
        let socket = dir.outside().join("d.sock");
        let listen = || -> io::Result<_> {
            let (any_port, unix) = ((Ipv4Addr::LOCALHOST, 0), UnixDatagram::bind(&socket)?);
            let (one, other) = (TcpListener::bind(any_port)?, TcpListener::bind(any_port)?);
            let udp = UdpSocket::bind(any_port)?;
            one.set_nonblocking(true)?;
            other.set_nonblocking(true)?;
            udp.set_nonblocking(true)?;
            unix.set_nonblocking(true)?;
            Ok((one, other, udp, unix))
        };
        let (server_port, supervisor_port, udp, unix) =
            listen().map_err(|error| format!("no listeners: {error}"))?;
        mode.give(&socket);
        let (dir, limits) = (dir.path().to_owned(), limits(pid)?);
        Ok(Self { server_port, supervisor_port, udp, unix, dir, server: pid, limits, probes })
    }

    /// The placeholders of command cases, and their values.
    pub(super) fn values(&self) -> io::Result<Vec<(&'static str, String)>> {
        Ok(vec![
            ("{PORT}", self.server_port.local_addr()?.port().to_string()),
            ("{SUPERVISOR_PORT}", self.supervisor_port.local_addr()?.port().to_string()),
            ("{UDP_PORT}", self.udp.local_addr()?.port().to_string()),
            ("{SERVER_SECRET}", CANARY.to_owned()),
            ("{HELPERS}", self.probes.display().to_string()),
            (LEFT_BEHIND, self.left_behind()),
        ])
    }

    pub(super) fn left_behind(&self) -> String {
        format!("{LEFT_BEHIND}{}", self.server)
    }

    pub(super) fn require_silence(&self) -> Result<(), String> {
        nothing("the server's port", self.server_port.accept())?;
        nothing("the supervisor's port", self.supervisor_port.accept())?;
        nothing("the UDP port", self.udp.recv(&mut [0; 64]))?;
        nothing("the socket in the file tree", self.unix.recv(&mut [0; 64]))
    }

    pub(super) fn require_same_limits(&self) -> Result<(), String> {
        let now = limits(self.server)?;
        require(now == self.limits, || format!("they were {} and are {now}", self.limits))
    }
}

/// Builds the programs that a command line uses from `{HELPERS}`.
fn build_probes(command_line: &str, directory: &Path) -> Result<(), String> {
    for rest in command_line.split("{HELPERS}/").skip(1) {
        let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("probes").join(name).with_extension("c");
        let output = Command::new("cc").arg("-o").arg(directory.join(name)).arg(source).output();
        let output = output.map_err(|error| format!("no C compiler for the probe {name}: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        require(output.status.success(), || format!("the probe {name} does not compile: {said}"))?;
    }
    Ok(())
}

fn nothing<T>(place: &str, arrival: io::Result<T>) -> Result<(), String> {
    match arrival {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(format!("{place}: {error}")),
        Ok(_) => Err(format!("something arrived at {place}")),
    }
}

/// A process's resource limits and its score for the OOM killer.
fn limits(pid: u32) -> Result<String, String> {
    let file = |name: &str| {
        let path = format!("/proc/{pid}/{name}");
        fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))
    };
    Ok(file("limits")? + &file("oom_score_adj")?)
}
