//! One real process: started with a clean environment, its output kept, and never left behind.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;

use rustix::process::Signal;

use crate::test_dir::NOBODY;
use crate::{TestDir, binaries, leftovers, signals, wait};

const TAIL_LINES: usize = 60;

#[derive(Debug)]
pub struct Program {
    child: Child,
    stderr: PathBuf,
    stdout: PathBuf,
}

#[derive(Debug, Clone)]
pub struct Launch {
    pub binary: PathBuf,
    pub arguments: Vec<String>,
    /// Its whole environment; later values take precedence.
    pub variables: Vec<(String, String)>,
    /// Whether it runs as an ordinary user even if the test runs as root.
    pub unprivileged: bool,
    /// Where stdout and stderr go instead of into files.
    pub output: Option<Arc<OwnedFd>>,
}

impl Launch {
    pub(crate) fn new(dir: &TestDir, program: &str, argument: &str) -> Self {
        Self {
            binary: binaries::path_of(program),
            arguments: vec![argument.to_owned()],
            variables: dir.variables(),
            unprivileged: false,
            output: None,
        }
    }

    /// Runs the same binary to its end, with the same variables, other arguments and something on its stdin.
    pub(crate) fn output(&self, dir: &TestDir, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = self.command(dir, arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = dir.spawn(&mut command).expect("the binary starts");
        // One that does not read it closes the pipe.
        let _ = child.stdin.take().expect("stdin is a pipe").write_all(input);
        child.wait_with_output().expect("the binary ends")
    }

    fn command(&self, dir: &TestDir, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).env_clear().envs(self.variables.iter().cloned()).current_dir(dir.path());
        command
    }
}

impl Program {
    /// Starts a program; its output goes to files in the directory.
    pub fn start(dir: &TestDir, launch: &Launch) -> Self {
        let mut command = launch.command(dir, &launch.arguments);
        if launch.unprivileged && rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        Self::spawn(dir, &mut command, launch.output.as_deref())
    }

    /// Starts a program; its output goes to files in the directory, or to this descriptor.
    pub fn spawn(dir: &TestDir, command: &mut Command, output: Option<&OwnedFd>) -> Self {
        let name = Path::new(command.get_program()).file_name().expect("a binary has a name");
        let number = fs::read_dir(dir.logs()).expect("the place has logs").count();
        let file = dir.logs().join(format!("{number:02}-{}", name.display()));
        let (stdout, stderr) = (file.with_added_extension("stdout"), file.with_added_extension("stderr"));
        let stream = |file: &Path| {
            let file = File::create(file).expect("logs are writable");
            let output = output.map(|output| output.try_clone().expect("it can be shared"));
            output.map_or_else(|| Stdio::from(file), Stdio::from)
        };
        command.stdin(Stdio::null()).stdout(stream(&stdout)).stderr(stream(&stderr));
        let child = dir.spawn(command).unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        Self { child, stderr, stdout }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("the child is ours to wait for")
    }

    pub fn wait(&mut self) -> ExitStatus {
        let log = self.stderr.clone();
        wait::within(wait::SOON, || self.ended())
            .unwrap_or_else(|| panic!("the process did not end; its log:\n{}", tail(&log)))
    }

    /// Kills it, as a crash or a power cut would.
    pub fn kill(&mut self) {
        self.child.kill().expect("the child is ours to kill");
        self.wait();
    }

    pub fn terminate(&mut self) -> ExitStatus {
        if self.ended().is_none() {
            signals::send(self.pid(), Signal::TERM);
        }
        self.wait()
    }

    /// Ends it with SIGTERM, which must be a success and leave no process behind.
    pub fn end(mut self, dir: &TestDir) {
        assert!(self.terminate().success(), "{}", self.log_tail());
        leftovers::assert_no_process(dir);
    }

    /// Resets the peak. Where the kernel does not allow it, the peak is that of the whole run, which is never
    /// lower.
    pub fn forget_peak(&self) {
        let _ = fs::write(format!("/proc/{}/clear_refs", self.pid()), "5");
    }

    /// The peak resident memory.
    pub fn peak_kb(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("the program runs");
        let line =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux reports the peak");
        line.trim().trim_end_matches(" kB").parse().expect("the peak is a number")
    }

    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.stderr).unwrap_or_default()).into_owned()
    }

    /// Waits for words in the log, which a thread of the program writes behind what it does.
    pub fn until_logged(&self, words: &str) {
        let is_there = wait::is_true_within(wait::SOON, || self.log().contains(words));
        assert!(is_there, "not logged: {words}\n{}", self.log_tail());
    }

    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.stdout).unwrap_or_default()).into_owned()
    }

    pub fn log_tail(&self) -> String {
        tail(&self.stderr)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.ended().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        if std::thread::panicking() {
            let log = format!("--- end of {}\n{}\n", self.stderr.display(), self.log_tail());
            let _ = std::io::stderr().write_all(log.as_bytes());
        }
    }
}

/// What a program says on stderr when it refuses; panics if it succeeded.
pub fn refusal_of(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The output of a program; panics with stderr unless it succeeded.
pub fn stdout_of(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn tail(log: &Path) -> String {
    let text = String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}
