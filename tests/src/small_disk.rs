//! A disk that fills up quickly: a tmpfs of a few megabytes, in a mount namespace of the test.
//!
//! Only a process with one thread can enter a user namespace, and a test has several. So the test runs itself
//! again under `unshare`.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set in the process that runs in the namespace.
const INSIDE: &str = "TEST_RUNS_IN_ITS_OWN_NAMESPACE";

const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// To mount, an ordinary user needs a user namespace; root does not, where they are forbidden.
const WAYS: [&[&str]; 2] = [&["--user", "--map-root-user", "--mount"], &["--mount"]];

/// Runs `test`, the body of the test `name`, in a mount namespace.
pub fn in_own_namespace(name: &str, test: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return test();
    }
    let way = WAYS.into_iter().find(|way| unshare(way).arg("true").status().is_ok_and(|s| s.success()));
    let way = way.expect(
        "this test mounts a small file system: it needs unshare (util-linux), and user namespaces or root",
    );
    run_again(&mut unshare(way), name, INSIDE);
}

/// Runs the test `name` of this program again by `unshare`, with a variable that tells it so.
pub fn run_again(unshare: &mut Command, name: &str, variable: &str) {
    let own = std::env::current_exe().expect("a running program has a path");
    let inside = unshare.arg(own).args(["--exact", name, "--nocapture"]).env(variable, "1").output();
    let inside = inside.expect("unshare is installed");
    let said =
        [inside.stdout, inside.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(inside.status.success(), "{said}");
    assert!(said.contains("1 passed"), "the test did not run in its namespace: {said}");
}

fn unshare(way: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.env("PATH", SEARCH_PATH).args(way);
    command
}

#[derive(Debug)]
pub struct SmallDisk {
    at: PathBuf,
}

impl SmallDisk {
    pub fn mount(at: &Path, bytes: u64) -> Self {
        Self::mount_with(at, &format!("size={bytes},mode=700"))
    }

    /// The same with room for only so many files.
    pub fn mount_with_inodes(at: &Path, bytes: u64, inodes: u64) -> Self {
        Self::mount_with(at, &format!("size={bytes},nr_inodes={inodes},mode=700"))
    }

    fn mount_with(at: &Path, options: &str) -> Self {
        let mut mount = Command::new("mount");
        mount.env("PATH", SEARCH_PATH).args(["-t", "tmpfs", "-o", options, "none"]).arg(at);
        assert!(mount.status().is_ok_and(|status| status.success()), "a file system can be mounted here");
        Self { at: at.to_owned() }
    }

    pub fn fill(&self) {
        let mut file = File::create(self.filler()).expect("there is room for another file");
        for piece in [64 * 1024, 4096, 1] {
            while file.write_all(&vec![b'x'; piece]).is_ok() {}
        }
    }

    pub fn clear(&self) {
        std::fs::remove_file(self.filler()).expect("the disk was filled");
    }

    fn filler(&self) -> PathBuf {
        self.at.join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, because programs may still be using it.
        let _ = Command::new("umount").env("PATH", SEARCH_PATH).arg("--lazy").arg(&self.at).status();
    }
}
