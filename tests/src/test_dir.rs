//! A directory of a test's own, with all that a server needs in it, and the variables that lead there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// What the file outside of every root says; no answer may ever contain it.
pub const OUTSIDE_SECRET: &str = "OUTSIDE-SECRET";

/// The ordinary user that a test runs a program as, where it runs as root itself: `nobody`.
pub const NOBODY: u32 = 65534;

/// A temporary directory: `root` is allowed to tools, `outside` is not, `data` belongs to the servers.
#[derive(Debug)]
pub struct TestDir {
    directory: TempDir,
    marker: String,
}

impl TestDir {
    pub fn new() -> Self {
        let directory = tempfile::Builder::new()
            .prefix("autonous-e2e-")
            .rand_bytes(12)
            .tempdir()
            .expect("the temporary directory is writable");
        let unique = directory.path().file_name().expect("it has a name").to_string_lossy();
        let marker = unique.replace('-', "_");
        let dir = Self { directory, marker };
        for name in ["root", "outside", "data", "logs"] {
            fs::create_dir(dir.path().join(name)).expect("a fresh directory takes another");
        }
        fs::write(dir.outside().join("secret.txt"), format!("{OUTSIDE_SECRET}\n")).expect("it is writable");
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

    pub fn logs(&self) -> PathBuf {
        self.path().join("logs")
    }

    /// A word that stands in the environment of every process of this place, and in no other's.
    pub fn marker(&self) -> &str {
        &self.marker
    }

    /// Makes an ordinary user own the directory, and puts `binary` where that user can start it.
    pub fn hand_over(&self, binary: &Path) -> PathBuf {
        let copy = self.link_program(binary);
        if rustix::process::geteuid().is_root() {
            for path in [self.path().to_owned(), self.root(), self.data(), self.logs(), self.outside()] {
                std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).expect("root can give files away");
            }
        }
        copy
    }

    /// A second name of `binary` in this directory.
    pub fn link_program(&self, binary: &Path) -> PathBuf {
        let copy = self.programs().join(binary.file_name().expect("a binary has a name"));
        if fs::hard_link(binary, &copy).is_err() {
            // Not by this process: what another thread starts meanwhile would hold the copy open for
            // writing, and a file that is open for writing cannot be started.
            let copied = Command::new("cp").arg(binary).arg(&copy).status();
            assert!(copied.is_ok_and(|status| status.success()), "a binary can be copied");
        }
        copy
    }

    /// Writes a shell script that runs in place of the program of this name.
    pub fn write_program(&self, name: &str, script: &str) {
        // Renamed into place, because a shell may still be reading the old one.
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

    /// The variables that every program gets: it finds its tools, logs, and can be recognised.
    ///
    /// The marker is a log filter for a target that does not exist, because `RUST_LOG` is what the
    /// supervisor passes on to each of its children.
    pub fn variables(&self) -> Vec<(String, String)> {
        let own = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("RUST_LOG", format!("info,{}=off", self.marker)),
            ("AUTONOUS_DATA_DIR", self.data().display().to_string()),
        ];
        own.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

impl Default for TestDir {
    fn default() -> Self {
        Self::new()
    }
}
