//! The programs under measurement: started with an empty environment, killed when they are dropped.

use std::fs;
use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tempfile::TempDir;

use crate::http::Connection;

/// How long a program may take to be ready before the measurement gives up.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait between two tries; short against every start.
const PAUSE: Duration = Duration::from_micros(200);

const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

#[derive(Debug)]
pub(crate) struct Program(Child);

impl Program {
    /// Starts the program `name` next to this one.
    pub(crate) fn start(
        name: &str,
        arguments: &[&str],
        variables: &[(&str, String)],
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(path_of(name)?);
        command.args(arguments).env_clear().env("PATH", SEARCH_PATH);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self::spawn(&mut command)
    }

    pub(crate) fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        let child = command.spawn();
        Ok(Self(child.with_context(|| format!("cannot start {}", command.get_program().display()))?))
    }

    /// Its standard input and output, if they are piped; once.
    pub(crate) fn pipes(&mut self) -> anyhow::Result<(ChildStdin, BufReader<ChildStdout>)> {
        let pipes = self.0.stdin.take().zip(self.0.stdout.take());
        let (stdin, stdout) = pipes.context("the program has no pipes")?;
        Ok((stdin, BufReader::new(stdout)))
    }

    pub(crate) fn tool_server(root: &Path, data: &Path) -> anyhow::Result<(Self, SocketAddr)> {
        Self::tool_server_with(root, data, &[])
    }

    pub(crate) fn tool_server_with(
        root: &Path,
        data: &Path,
        variables: &[(&str, String)],
    ) -> anyhow::Result<(Self, SocketAddr)> {
        let address = free_address()?;
        let own = [
            ("AUTONOUS_TOOL_ALLOWED_ROOTS", root.display().to_string()),
            ("AUTONOUS_DATA_DIR", data.display().to_string()),
            ("AUTONOUS_TOOL_LISTEN", address.to_string()),
        ];
        let variables = [&own[..], variables].concat();
        Ok((Self::start("tool-server", &["serve"], &variables)?, address))
    }

    pub(crate) fn system(data: &Path) -> anyhow::Result<(Self, SocketAddr)> {
        Self::system_with(data, &[])
    }

    pub(crate) fn system_with(
        data: &Path,
        variables: &[(&str, String)],
    ) -> anyhow::Result<(Self, SocketAddr)> {
        let (control, tools) = (free_address()?, free_address()?);
        let own = [
            ("AUTONOUS_DATA_DIR", data.display().to_string()),
            ("AUTONOUS_CONTROL_LISTEN", control.to_string()),
            ("AUTONOUS_TOOL_LISTEN", tools.to_string()),
        ];
        let variables = [&own[..], variables].concat();
        Ok((Self::start("supervisor", &["run"], &variables)?, control))
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[derive(Debug)]
pub(crate) struct ServedRoot {
    /// The server; it ends before its directories do.
    pub server: Program,
    pub root: PathBuf,
    /// What the root and the server's own data lie in.
    pub place: TempDir,
    address: SocketAddr,
}

impl ServedRoot {
    pub(crate) fn start(fill: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<Self> {
        let place = tempfile::tempdir()?;
        let root = place.path().join("root");
        fs::create_dir(&root)?;
        fill(&root)?;
        let (server, address) = Program::tool_server(&root, &place.path().join("data"))?;
        until_ready(address)?;
        Ok(Self { server, root, place, address })
    }

    pub(crate) fn post(&self, tool: &str, arguments: &str) -> io::Result<Connection> {
        Connection::post(self.address, &format!("/tools/{tool}"), arguments)
    }
}

/// The path of a program next to this one.
pub(crate) fn path_of(name: &str) -> anyhow::Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    anyhow::ensure!(path.is_file(), "{} is missing: `make bench` builds it", path.display());
    Ok(path)
}

/// The first of these programs that the system has.
pub(crate) fn installed(names: &[&str]) -> Option<PathBuf> {
    let paths = |name| SEARCH_PATH.split(':').map(move |directory| Path::new(directory).join(name));
    names.iter().flat_map(paths).find(|path| path.is_file())
}

/// Waits until `GET /readyz` answers 200.
pub(crate) fn until_ready(address: SocketAddr) -> anyhow::Result<()> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let asked = Connection::open(address, "GET", "/readyz", None, "");
        if asked.is_ok_and(|mut asked| asked.call().is_ok()) {
            return Ok(());
        }
        anyhow::ensure!(Instant::now() < give_up, "nothing is ready at {address} after {PATIENCE:?}");
        thread::sleep(PAUSE);
    }
}

pub(crate) fn children_of(parent: u32) -> anyhow::Result<Vec<(u32, String)>> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(status) = fs::read_to_string(entry.path().join("status")) else { continue };
        if field(&status, "PPid") == Some(parent.to_string().as_str()) {
            children.push((pid, field(&status, "Name").unwrap_or_default().to_owned()));
        }
    }
    Ok(children)
}

pub(crate) fn resident_mib(pid: u32) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = field(&status, "VmRSS").and_then(|value| value.split(' ').next()?.parse::<f64>().ok());
    Ok(kib.context("the process has no resident memory")? / 1024.0)
}

/// Its resident memory, with a share of the pages that it has in common with others.
pub(crate) fn proportional_mib(pid: u32) -> io::Result<f64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let kib = field(&rollup, "Pss").and_then(|value| value.split(' ').next()?.parse::<f64>().ok());
    Ok(kib.ok_or(io::ErrorKind::InvalidData)? / 1024.0)
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
}

fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}
