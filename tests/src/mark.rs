//! Marks the processes of a test by a resource limit.
//!
//! Every child inherits it, through a cleared environment and a new session as well, and the kernel shows the
//! limits of all processes to every user. A hardened process hides its environment from its own user.

use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;
use std::process::{Child, Command};
use std::sync::Mutex;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// It bounds the processor time of real-time processes alone, and there are none in tests.
const LIMIT: Resource = Resource::Rttime;
const NAME: &str = "Max realtime timeout";
/// Far more microseconds than a test lasts.
const LEAST: u64 = 1 << 50;

/// A limit is of the whole process, and a test may start programs in several threads.
static STARTING: Mutex<()> = Mutex::new(());

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark(u64);

impl Mark {
    pub(crate) fn new() -> Self {
        let random = RandomState::new().build_hasher().finish();
        Self(LEAST + (random >> 16))
    }

    /// Starts a program with this mark.
    pub(crate) fn spawn(self, command: &mut Command) -> io::Result<Child> {
        let _guard = STARTING.lock().expect("nothing panics while it is held");
        let before = getrlimit(LIMIT);
        setrlimit(LIMIT, Rlimit { current: Some(self.0), maximum: before.maximum })?;
        let child = command.spawn();
        setrlimit(LIMIT, before)?;
        child
    }

    /// Whether the process of this ID has the mark.
    pub(crate) fn is_on(self, pid: u32) -> bool {
        let Ok(limits) = fs::read_to_string(format!("/proc/{pid}/limits")) else { return false };
        let line = limits.lines().find_map(|line| line.strip_prefix(NAME));
        line.and_then(|values| values.split_whitespace().next()) == Some(self.0.to_string().as_str())
    }
}
