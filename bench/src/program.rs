//! The programs under measurement, and what they work on.

use std::fs;
use std::io::{self, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command};

use anyhow::Context as _;
use harness::ToolServer;

use crate::http::Connection;

const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A program that is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Program(Child);

impl Program {
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
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A tool server whose root was filled before.
pub(crate) fn served(fill: impl FnOnce(&Path) -> io::Result<()>) -> anyhow::Result<ToolServer> {
    let builder = ToolServer::builder();
    fill(&builder.dir().root())?;
    Ok(builder.start())
}

/// A connection that calls a tool.
pub(crate) fn call(server: &ToolServer, tool: &str, arguments: &str) -> io::Result<Connection> {
    Connection::open(server.address(), ("POST", &format!("/tools/{tool}")), &[], arguments)
}

/// Fills a directory with small files.
pub(crate) fn fill(directory: &Path, entries: usize) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    (0..entries).try_for_each(|number| fs::write(directory.join(format!("file-{number:06}.txt")), "x"))
}

/// Text as people write it: source code of this program, repeated.
pub(crate) fn source(bytes: usize) -> String {
    let endless = include_str!("program.rs").chars().filter(char::is_ascii).cycle();
    endless.take(bytes - 1).chain(Some('\n')).collect()
}

/// The first of these programs that the system has.
pub(crate) fn installed(names: &[&str]) -> Option<std::path::PathBuf> {
    let paths = |name| SEARCH_PATH.split(':').map(move |directory| Path::new(directory).join(name));
    names.iter().flat_map(paths).find(|path| path.is_file())
}

/// The resident memory of a process.
pub(crate) fn resident_mib(pid: u32) -> io::Result<f64> {
    mib(&format!("/proc/{pid}/status"), "VmRSS:")
}

/// The same with a share of the pages that it has in common with others.
pub(crate) fn proportional_mib(pid: u32) -> io::Result<f64> {
    mib(&format!("/proc/{pid}/smaps_rollup"), "Pss:")
}

fn mib(file: &str, name: &str) -> io::Result<f64> {
    let text = fs::read_to_string(file)?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok());
    Ok(kib.ok_or(io::ErrorKind::InvalidData)? / 1024.0)
}
