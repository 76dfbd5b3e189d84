//! A temporary directory with a root and a directory outside it, and runs of programs there, with or without
//! the sandbox.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A user without rights on any machine.
const NOBODY: u32 = 65534;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scenario {
    RootInTierA,
    OrdinaryInTierA,
    OrdinaryInTierB,
}

impl Scenario {
    /// All that this test process can set up.
    pub(crate) fn all() -> Vec<Self> {
        let ordinary = [Self::OrdinaryInTierA, Self::OrdinaryInTierB];
        let root = is_root().then_some(Self::RootInTierA);
        root.into_iter().chain(ordinary).collect()
    }

    pub(crate) fn is_tier_b(self) -> bool {
        self == Self::OrdinaryInTierB
    }

    pub(crate) fn is_root(self) -> bool {
        self == Self::RootInTierA
    }
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// A temporary directory with `root`, `outside/secret.txt` and `scratch` in it.
pub(crate) struct Fixture {
    pub(crate) scenario: Scenario,
    directory: TempDir,
}

impl Fixture {
    pub(crate) fn new(scenario: Scenario) -> Self {
        let fixture = Self { scenario, directory: tempfile::tempdir().unwrap() };
        fs::set_permissions(fixture.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["root", "outside", "scratch"] {
            fs::create_dir(fixture.path(name)).unwrap();
        }
        fs::write(fixture.secret(), "OUTSIDE-SECRET\n").unwrap();
        for path in [fixture.root(), fixture.outside(), fixture.secret(), fixture.path("scratch")] {
            fixture.chown(&path);
        }
        fixture
    }

    pub(crate) fn all() -> impl Iterator<Item = Self> {
        Scenario::all().into_iter().map(Self::new)
    }

    pub(crate) fn in_tier_a() -> impl Iterator<Item = Self> {
        Self::all().filter(|fixture| !fixture.scenario.is_tier_b())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.path("root")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.path("outside")
    }

    pub(crate) fn secret(&self) -> PathBuf {
        self.outside().join("secret.txt")
    }

    /// Gives a file to the scenario's user.
    pub(crate) fn chown(&self, path: &Path) {
        if is_root() && !self.scenario.is_root() {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    pub(crate) fn set_user(&self, command: &mut Command) {
        if is_root() && !self.scenario.is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
    }

    /// Prepares the root by a script without the sandbox.
    pub(crate) fn prepare(&self, script: &str) {
        let output = self.run_plain(script);
        assert!(output.status.success(), "{script}: {output:?}");
    }

    pub(crate) fn run_plain(&self, script: &str) -> Output {
        self.command(&["--plain"], &["/bin/bash", "-c", script]).output().unwrap()
    }

    pub(crate) fn run(&self, script: &str) -> Run {
        self.run_with(&[], script)
    }

    pub(crate) fn run_with(&self, options: &[&str], script: &str) -> Run {
        self.run_program(options, &["/bin/bash", "-c", script])
    }

    pub(crate) fn run_program(&self, options: &[&str], program: &[&str]) -> Run {
        let output = self.command(options, program).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let (report, output_text) = text.split_once("output\n").unwrap_or((&text, ""));
        Run {
            command: format!("{:?}: {options:?} {program:?}", self.scenario),
            report: report.to_owned(),
            output: output_text.to_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// The example that plays the server, where the scenario's user reaches it: the home of root is closed.
    fn program(&self) -> PathBuf {
        let example = example();
        if !is_root() || self.scenario.is_root() {
            return example;
        }
        let link = self.path("sandboxed");
        if !link.exists() && fs::hard_link(&example, &link).is_err() {
            // By another process: a program that another thread starts meanwhile would inherit the open file,
            // and nothing could execute it.
            let copied = Command::new("cp").args([&example, &link]).status().unwrap();
            assert!(copied.success(), "{} cannot be copied", example.display());
        }
        link
    }

    /// The example that plays the server, as the scenario's user.
    pub(crate) fn command(&self, options: &[&str], program: &[&str]) -> Command {
        let mut command = Command::new(self.program());
        if self.scenario.is_tier_b() {
            command.arg("--landlock");
        }
        command.arg("--root").arg(self.root()).arg("--scratch").arg(self.path("scratch"));
        command.args(options).arg("--").args(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("HOME", self.outside()).env("CANARY", "server-secret-4711").current_dir("/");
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env_remove("TMPDIR");
        self.set_user(&mut command);
        command
    }
}

#[derive(Debug)]
#[expect(dead_code, reason = "some fields are only shown when a test fails")]
pub(crate) struct Run {
    command: String,
    pub(crate) report: String,
    pub(crate) output: String,
    errors: String,
}

impl Run {
    /// Whether the command ran and exited with 0.
    pub(crate) fn succeeded(&self) -> bool {
        self.report.contains("exit Some(0) signal None killed false")
    }

    pub(crate) fn was_executed(&self) -> bool {
        self.report.contains("\nexit ")
    }

    pub(crate) fn number(&self, name: &str) -> u64 {
        let mut words = self.report.split_whitespace().skip_while(|word| *word != name);
        words.nth(1).unwrap_or_else(|| panic!("no {name} in {self:?}")).parse().unwrap()
    }
}

/// The example beside this test; the same build makes it.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/sandboxed");
    assert!(program.exists(), "{} is missing: cargo build -p sandbox --examples", program.display());
    program
}

/// A lock for tests that measure time or load the machine, so that they run one at a time.
pub(crate) fn exclusive() -> fs::File {
    // A user's own: another one could not open it.
    let user = rustix::process::geteuid().as_raw();
    let path = std::env::temp_dir().join(format!("autonous-sandbox-tests-{user}.lock"));
    let file = fs::File::create(path).unwrap();
    file.lock().unwrap();
    file
}

pub(crate) fn processes_with(text: &str) -> usize {
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    let contains = |line: &[u8]| line.windows(text.len()).any(|window| window == text.as_bytes());
    processes
        .flatten()
        .filter(|process| fs::read(process.path().join("cmdline")).is_ok_and(|line| contains(&line)))
        .count()
}

/// Waits for a state, for at most ten seconds.
pub(crate) fn wait_until(what: &str, mut state: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !state() {
        assert!(std::time::Instant::now() < deadline, "{what} did not come about");
        std::thread::yield_now();
    }
}
