//! The network namespaces of commands that have no network: their own loopback, and nothing else.
//!
//! Making one and destroying it costs the kernel more than all other namespaces of a command together, so one
//! in which nothing happened serves the next command. A command has no power over it, because it belongs to
//! the spawner's user namespace; only what sockets leave there could be found by another command: counters,
//! closed connections, labels of flows. So one is used again only if no process is left and no socket is, and
//! if none but unix sockets, which leave nothing, was ever made: of all others the filter asks init.
//!
//! Commands can share one by a name that the server gives, which never comes from a command: those of a
//! session reach what its background processes listen on. It is there as long as one of them is, and never
//! used again.

use std::collections::HashMap;
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
    shared: HashMap<String, Shared>,
}

/// One that several sandboxes are in.
#[derive(Debug)]
struct Shared {
    network: OwnedFd,
    sandboxes: usize,
}

impl Networks {
    /// Moves this process into the one of this name, or into one of no other sandbox. If there will be no
    /// sandbox in it after all, [`Self::leave_shared`] must follow.
    pub(super) fn enter_for(&mut self, name: Option<&str>) -> Result<OwnedFd, StepError> {
        let Some(name) = name else { return self.enter() };
        if let Some(shared) = self.shared.get_mut(name) {
            shared.sandboxes += 1;
            enter(&shared.network)?;
            return shared.network.try_clone().during(Step::Namespaces);
        }
        let network = self.enter()?;
        let ours = network.try_clone().during(Step::Namespaces)?;
        self.shared.insert(name.to_owned(), Shared { network: ours, sandboxes: 1 });
        Ok(network)
    }

    /// A sandbox in the network of this name is no more.
    pub(super) fn leave_shared(&mut self, name: &str) {
        let Some(shared) = self.shared.get_mut(name) else { return };
        shared.sandboxes -= 1;
        if shared.sandboxes == 0 {
            self.shared.remove(name);
        }
    }

    /// Moves this process into an unused one; its next children are in there too.
    fn enter(&mut self) -> Result<OwnedFd, StepError> {
        if let Some(network) = self.unused.pop() {
            return enter(&network).map(|()| network);
        }
        syscalls::unshare(libc::CLONE_NEWNET).during(Step::Namespaces)?;
        loopback_up()?;
        File::open("/proc/self/ns/net").map(OwnedFd::from).during(Step::Namespaces)
    }

    /// Keeps one that is as new.
    pub(super) fn give_back(&mut self, network: OwnedFd) {
        if self.unused.len() < MOST_UNUSED {
            self.unused.push(network);
        }
    }
}

fn enter(network: &OwnedFd) -> Result<(), StepError> {
    move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network)).during(Step::Namespaces)
}

/// Lets processes in a new network reach each other.
pub(super) fn loopback_up() -> Result<(), StepError> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None);
    syscalls::loopback_up(socket.during(Step::Loopback)?.as_fd()).during(Step::Loopback)
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
