//! A fresh place with a root and an outside, and programs run there: plain, or held.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// The user that has nothing on any machine.
const ORDINARY: u32 = 65534;

/// Who runs a command, and how it is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    RootInTierA,
    OrdinaryInTierA,
    OrdinaryInTierB,
}

impl Setting {
    /// All that this test process can have.
    pub fn all() -> Vec<Self> {
        let ordinary = [Self::OrdinaryInTierA, Self::OrdinaryInTierB];
        let root = is_root().then_some(Self::RootInTierA);
        root.into_iter().chain(ordinary).collect()
    }

    pub fn tier_b(self) -> bool {
        self == Self::OrdinaryInTierB
    }

    pub fn is_root(self) -> bool {
        self == Self::RootInTierA
    }
}

pub fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// A directory of one's own with `root`, `outside/secret.txt` and `scratch` in it.
pub struct Place {
    pub setting: Setting,
    directory: TempDir,
}

impl Place {
    pub fn new(setting: Setting) -> Self {
        let place = Self { setting, directory: tempfile::tempdir().unwrap() };
        fs::set_permissions(place.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["root", "outside", "scratch"] {
            fs::create_dir(place.path(name)).unwrap();
        }
        fs::write(place.secret(), "OUTSIDE-SECRET\n").unwrap();
        for path in [place.root(), place.outside(), place.secret(), place.path("scratch")] {
            place.give(&path);
        }
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn root(&self) -> PathBuf {
        self.path("root")
    }

    pub fn outside(&self) -> PathBuf {
        self.path("outside")
    }

    pub fn secret(&self) -> PathBuf {
        self.outside().join("secret.txt")
    }

    /// Makes a file the user's own.
    pub fn give(&self, path: &Path) {
        if is_root() && !self.setting.is_root() {
            chown(path, Some(ORDINARY), Some(ORDINARY)).unwrap();
        }
    }

    /// Runs a script before the test, as the user, unheld.
    pub fn prepare(&self, script: &str) {
        let output = self.plain(script);
        assert!(output.status.success(), "{script}: {output:?}");
    }

    pub fn plain(&self, script: &str) -> Output {
        self.command(&["--plain"], &["/bin/bash", "-c", script]).output().unwrap()
    }

    pub fn held(&self, script: &str) -> Held {
        self.held_with(&[], script)
    }

    pub fn held_with(&self, options: &[&str], script: &str) -> Held {
        Held::from(self.command(options, &["/bin/bash", "-c", script]).output().unwrap())
    }

    /// Starts the program that plays the server and does not wait for it.
    pub fn start(&self, options: &[&str], script: &str) -> Child {
        self.command(options, &["/bin/bash", "-c", script]).spawn().unwrap()
    }

    /// The program that plays the server, as the setting's user.
    pub fn command(&self, options: &[&str], program: &[&str]) -> Command {
        let mut command = Command::new(held_program());
        if self.setting.tier_b() {
            command.arg("--landlock");
        }
        command.arg("--root").arg(self.root()).arg("--scratch").arg(self.path("scratch"));
        command.args(options).arg("--").args(program);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("HOME", self.outside()).env("CANARY", "server-secret-4711").current_dir("/");
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env_remove("TMPDIR");
        self.as_its_user(&mut command);
        command
    }

    /// Lets a program run as the setting's user.
    pub fn as_its_user(&self, command: &mut Command) {
        if is_root() && !self.setting.is_root() {
            command.uid(ORDINARY).gid(ORDINARY);
        }
    }
}

/// What a held command did.
#[derive(Debug)]
pub struct Held {
    pub report: String,
    pub output: String,
    #[expect(dead_code, reason = "shown when a test fails")]
    errors: String,
}

impl From<Output> for Held {
    fn from(output: Output) -> Self {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (report, output_text) = text.split_once("output\n").unwrap_or((&text, ""));
        Self {
            report: report.to_owned(),
            output: output_text.to_owned(),
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Held {
    /// Whether the command ran and ended with 0.
    pub fn succeeded(&self) -> bool {
        self.report.contains("exit Some(0) signal None killed false")
    }

    /// Whether the command was executed at all.
    pub fn ran(&self) -> bool {
        self.report.contains("\nexit ")
    }

    /// A number of the report.
    pub fn number(&self, name: &str) -> u64 {
        let line = self.report.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in {self:?}")).parse().unwrap()
    }

    /// The control files of the report, relative to the root.
    pub fn control_files(&self, place: &Place) -> Vec<String> {
        let root = format!("control {}/", place.root().display());
        self.report.lines().filter_map(|line| line.strip_prefix(&root)).map(str::to_owned).collect()
    }
}

/// The example beside this test, which the same build made.
fn held_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(Path::parent).unwrap().join("examples/held");
    assert!(
        program.exists(),
        "{} is built with the tests: cargo build -p sandbox --examples",
        program.display()
    );
    program
}

/// Held while a test measures time or loads the machine: such tests run one after the other.
pub fn alone() -> fs::File {
    let path = std::env::temp_dir().join("autonous-held-tests.lock");
    let file = fs::File::create(path).unwrap();
    file.lock().unwrap();
    file
}

/// How many processes have this text in their command line.
pub fn processes_with(text: &str) -> usize {
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    processes
        .flatten()
        .filter(|process| fs::read(process.path().join("cmdline")).is_ok_and(|line| contains(&line, text)))
        .count()
}

fn contains(line: &[u8], text: &str) -> bool {
    line.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Waits for a state, for at most ten seconds.
pub fn wait_until(what: &str, mut state: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while !state() {
        assert!(std::time::Instant::now() < deadline, "{what} did not come about");
        std::thread::yield_now();
    }
}
