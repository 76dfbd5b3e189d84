//! A test's own directory with everything a server needs, and the variables that point to it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use tempfile::TempDir;

use crate::database;
use crate::mark::Mark;

/// The content of the file outside all roots; no answer may contain it.
pub const OUTSIDE_SECRET: &str = "OUTSIDE-SECRET";

/// The ordinary user for programs of tests that run as root.
pub const NOBODY: u32 = 65534;

/// A temporary directory: tools may access `root` but not `outside`; `data` belongs to the servers.
#[derive(Debug)]
pub struct TestDir {
    directory: TempDir,
    mark: Mark,
}

impl TestDir {
    pub fn new() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("autonous-e2e-")
            .rand_bytes(12)
            .tempdir()
            .expect("the temporary directory is writable");
        let dir = Self { directory, mark: Mark::new() };
        for name in ["root", "outside", "data", "logs"] {
            fs::create_dir(dir.path().join(name)).expect("a fresh directory takes another");
        }
        fs::write(dir.outside().join("secret.txt"), format!("{OUTSIDE_SECRET}\n")).expect("it is writable");
        database::on_server(&dir.data(), "create schema", "");
        dir
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn root(&self) -> PathBuf {
        self.path().join("root")
    }

    pub fn outside(&self) -> PathBuf {
        self.path().join("outside")
    }

    pub fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// Writes a `policy.toml` outside the root; returns its directory.
    pub fn write_policy(&self, rules: &str) -> String {
        self.write_config("policy.toml", rules)
    }

    /// Writes a file of the configuration directory; returns the directory.
    pub fn write_config(&self, name: &str, text: &str) -> String {
        let config = self.path().join("config");
        fs::create_dir_all(&config).expect("a test may write in its directory");
        fs::write(config.join(name), text).expect("a test may write in its directory");
        config.display().to_string()
    }

    /// Adds a skill with this front matter.
    pub fn write_skill(&self, name: &str, front_matter: &str) {
        let skill = self.data().join("skills").join(name);
        fs::create_dir_all(&skill).expect("a test may write in its directory");
        let text = format!("---\nname: {name}\n{front_matter}\n---\nGo.\n");
        fs::write(skill.join("SKILL.md"), text).expect("a test may write in its directory");
    }

    /// The journal of the tool server.
    pub fn journal(&self) -> PathBuf {
        self.data().join("journal/tool-calls.jsonl")
    }

    pub fn logs(&self) -> PathBuf {
        self.path().join("logs")
    }

    /// Starts a program that `leftovers` finds, and all that it starts itself.
    pub fn spawn(&self, command: &mut Command) -> std::io::Result<Child> {
        self.mark.spawn(command)
    }

    pub(crate) fn mark(&self) -> Mark {
        self.mark
    }

    /// Gives the directory to an ordinary user, and puts `binary` where that user can run it.
    pub fn hand_over(&self, binary: &Path) -> PathBuf {
        let copy = self.link_program(binary);
        if rustix::process::geteuid().is_root() {
            for path in [self.path().to_owned(), self.root(), self.data(), self.logs(), self.outside()] {
                std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).expect("root can give files away");
            }
        }
        copy
    }

    /// Links `binary` into this directory.
    pub fn link_program(&self, binary: &Path) -> PathBuf {
        let copy = self.programs().join(binary.file_name().expect("a binary has a name"));
        if fs::hard_link(binary, &copy).is_err() {
            // Copied by another process: a program that another thread starts meanwhile would inherit the
            // file open for writing, and a file that is open for writing cannot be executed.
            let copied = Command::new("cp").arg(binary).arg(&copy).status();
            assert!(copied.is_ok_and(|status| status.success()), "a binary can be copied");
        }
        copy
    }

    /// Writes a shell script that replaces the program of this name.
    pub fn write_program(&self, name: &str, script: &str) {
        // Renamed into place, because a shell may still be reading the old script.
        let new = self.programs().join(format!("{name}.new"));
        fs::write(&new, format!("#!/bin/sh\n{script}\n")).expect("the directory is writable");
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).expect("the script is ours");
        fs::rename(new, self.programs().join(name)).expect("the directory is writable");
    }

    pub fn programs(&self) -> PathBuf {
        let programs = self.path().join("bin");
        fs::create_dir_all(&programs).expect("the directory is writable");
        programs
    }

    /// The variables of every program: search path, logging, data directory and free ports.
    pub fn variables(&self) -> Vec<(String, String)> {
        let own = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("RUST_LOG", "info".to_owned()),
            ("AUTONOUS_DATA_DIR", self.data().display().to_string()),
            ("AUTONOUS_CONTROL_LISTEN", "127.0.0.1:0".to_owned()),
            ("AUTONOUS_TOOL_LISTEN", "127.0.0.1:0".to_owned()),
        ];
        let database = database::server_url(&self.data()).map(|url| ("AUTONOUS_DATABASE_URL", url));
        own.into_iter().chain(database).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

impl Drop for TestDir {
    fn drop(&mut self) {
        database::on_server(&self.data(), "drop schema", " cascade");
    }
}

impl Default for TestDir {
    fn default() -> Self {
        Self::new()
    }
}
