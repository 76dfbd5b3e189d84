//! The network namespaces of commands that have no network: their own loopback, and nothing else.
//!
//! Making one and destroying it costs the kernel more than all other namespaces of a command together, so one
//! in which nothing happened serves the next command. A command has no power over it, because it belongs to
//! the spawner's user namespace; only what sockets leave there could be found by another command: counters,
//! closed connections, labels of flows. So one is used again only if no process is left and no socket is, and
//! if none but unix sockets, which leave nothing, was ever made: of all others the filter asks init.

use std::fs::{self, File};
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::event::PollFlags;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::step::{During as _, Step, StepError};
use crate::syscalls;

/// How many are kept for later: as many as may be on their way back when many commands run at once, because
/// each is given back only when the mounts of its command are gone.
const MOST_UNUSED: usize = 16;

/// The exit code of an init process whose network is as new. It exits with 0 otherwise.
pub(super) const AS_NEW: i32 = 3;

/// Those that no sandbox has.
#[derive(Debug, Default)]
pub(super) struct Networks {
    unused: Vec<OwnedFd>,
}

impl Networks {
    /// Moves this process into an unused one; its next children are in there too.
    pub(super) fn enter(&mut self) -> Result<OwnedFd, StepError> {
        if let Some(network) = self.unused.pop() {
            let entered = move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network));
            return entered.map(|()| network).during(Step::Namespaces);
        }
        syscalls::unshare(libc::CLONE_NEWNET).during(Step::Namespaces)?;
        let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
        let socket = socket.during(Step::Loopback)?;
        syscalls::loopback_up(socket.as_fd()).during(Step::Loopback)?;
        File::open("/proc/self/ns/net").map(OwnedFd::from).during(Step::Namespaces)
    }

    /// Keeps one that is as new.
    pub(super) fn give_back(&mut self, network: OwnedFd) {
        if self.unused.len() < MOST_UNUSED {
            self.unused.push(network);
        }
    }
}

/// What init knows of its command's network.
#[derive(Debug)]
pub(super) struct NetworkWatch {
    /// Where the filter asks before a socket is made; none once no process has the filter.
    questions: Option<OwnedFd>,
    is_touched: bool,
}

impl NetworkWatch {
    pub(super) fn new(questions: OwnedFd) -> Self {
        Self { questions: Some(questions), is_touched: false }
    }

    /// What to wait on.
    pub(super) fn questions(&self) -> Option<&OwnedFd> {
        self.questions.as_ref()
    }

    /// Takes note of a question, and lets the call be made.
    pub(super) fn take(&mut self, events: PollFlags) {
        let Some(questions) = &self.questions else { return };
        if events.contains(PollFlags::IN) {
            self.is_touched = true;
            // Who asked may be gone by now.
            let _ = syscalls::receive_question(questions.as_fd())
                .and_then(|question| syscalls::let_pass(questions.as_fd(), question.id));
        } else if !events.is_empty() {
            self.questions = None;
        }
    }

    /// Whether nothing of the command is left in its network, now that no process of it is.
    pub(super) fn is_as_new(&self) -> bool {
        // Its first line names the columns. A unix socket that was sent to itself outlives all processes.
        let sockets =
            || fs::read_to_string("/proc/self/net/unix").is_ok_and(|table| table.lines().count() == 1);
        !self.is_touched && sockets()
    }
}
