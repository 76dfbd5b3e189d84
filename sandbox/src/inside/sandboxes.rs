//! The sandboxes of the spawner: their lifelines, and their ends.
//!
//! The spawner starts the init process of each, ends it when the server closes the lifeline or dies, and
//! reports the end of a command only when init could not do so itself. Nothing here waits for one sandbox
//! alone, because all others would wait too.

use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use process::descriptors;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, getegid, geteuid, pidfd_open};

use super::context::{CommandContext, SpawnerContext};
use super::networks::{self, Networks};
use super::{init, namespaces, private_home::PrivateHome};
use crate::messages::{Order, Outcome, Report, read_file};
use crate::settings::{Network, Tier};
use crate::step::{During as _, Failure, Step, StepError};
use crate::syscalls::{self, ForkResult};

/// How long init may take in tier A to end all processes, so that their usage is counted, before its own end
/// ends them.
const INIT_GRACE: Duration = Duration::from_millis(50);

pub(super) struct Sandboxes<'a> {
    spawner: &'a SpawnerContext<'a>,
    running: Vec<Sandbox>,
    networks: Networks,
    /// How many there were.
    count: u64,
}

/// One, from its start until its init process ended.
struct Sandbox {
    /// The socket to the server. Only init reads from it; here it counts only whether the server closed it.
    control: OwnedFd,
    init: InitProcess,
}

struct InitProcess {
    pid: i32,
    /// What its cgroup is called, if it has one.
    name: String,
    handle: OwnedFd,
    /// Init ends when this is closed.
    leash: Option<OwnedFd>,
    /// When init is killed, if it has not ended by then.
    kill_at: Option<Instant>,
    network: Option<OwnedFd>,
    /// The name of its network, if others share it.
    shared_network: Option<String>,
    home: Option<PrivateHome>,
}

impl<'a> Sandboxes<'a> {
    pub(super) fn of(spawner: &'a SpawnerContext<'a>) -> Self {
        Self { spawner, running: Vec::new(), networks: Networks::default(), count: 0 }
    }

    /// Starts one; `control` is the socket to the server, and `order` the file that says how it differs from
    /// others.
    pub(super) fn start(&mut self, control: OwnedFd, order: Option<&OwnedFd>) {
        let has_own = self.spawner.tier == Tier::A && self.spawner.settings.network.is_their_own();
        let order = order.map_or_else(|| Ok(Order::default()), read_file);
        let started = order.and_then(|mut order: Order| {
            let shared = order.network.take().filter(|_| has_own);
            // It has none anyway, or one that is shared with what has none either.
            order.is_offline &= !has_own;
            let init = self.start_init(&control, shared.as_deref(), &order);
            if init.is_err()
                && let Some(name) = &shared
            {
                self.networks.leave_shared(name);
            }
            init.map(|init| InitProcess { shared_network: shared, ..init })
        });
        match started {
            Ok(init) => self.running.push(Sandbox { control, init }),
            Err(error) => Report::Failed(error.into()).send(&control),
        }
    }

    fn start_init(
        &mut self,
        control: &OwnedFd,
        shared: Option<&str>,
        order: &Order,
    ) -> Result<InitProcess, StepError> {
        let spawner = self.spawner;
        if spawner.tier == Tier::B && (order.is_offline || order.narrowed.is_some()) {
            return Err(StepError::new(Step::OwnDirectories, libc::EOPNOTSUPP));
        }
        self.count += 1;
        let (network, home) = match (spawner.tier, spawner.settings.network) {
            (Tier::A, Network::Off | Network::Listed) => (Some(self.networks.enter_for(shared)?), None),
            (Tier::A, Network::Public | Network::All) => (None, None),
            (Tier::B, _) => (None, Some(PrivateHome::in_directory(&spawner.settings.scratch, self.count))),
        };
        let (leash, held) = pipe_with(PipeFlags::CLOEXEC).during(Step::Socket)?;
        let (user, group) = (geteuid().as_raw(), getegid().as_raw());
        let fork = match spawner.tier {
            Tier::A if order.is_offline => syscalls::fork_into(namespaces::OWN | libc::CLONE_NEWNET),
            Tier::A => syscalls::fork_into(namespaces::OWN),
            Tier::B => syscalls::fork(),
        };
        match fork.during(Step::Namespaces)? {
            ForkResult::Parent(pid) => {
                let handle = Pid::from_raw(pid).ok_or(Errno::SRCH);
                let handle = handle.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()));
                let handle = handle.during(Step::Reaper)?;
                let name = self.count.to_string();
                let (leash, shared_network) = (Some(held), None);
                Ok(InitProcess { pid, handle, name, leash, kill_at: None, network, shared_network, home })
            }
            // It closes what it inherited of the other sandboxes.
            ForkResult::Child => {
                let (home, name) = (home.as_ref(), self.count.to_string());
                init::run(&CommandContext {
                    spawner,
                    name,
                    order,
                    user,
                    group,
                    home,
                    control: control.as_fd(),
                    leash,
                })
            }
        }
    }

    /// Looks after all of them until there is something to read from `socket`.
    pub(super) fn until_readable(&mut self, socket: &OwnedFd) -> Result<(), Errno> {
        loop {
            let (asked, happened) = self.wait(socket)?;
            // From the last one on, so that the numbers of the others stay.
            for (index, (ended, closed)) in happened.into_iter().enumerate().rev() {
                if ended {
                    let sandbox = self.running.swap_remove(index);
                    self.end(sandbox);
                } else {
                    let init = &mut self.running[index].init;
                    if closed {
                        init.leash = None;
                        // In tier B init is never killed from here: only init can end the rest.
                        init.kill_at = (self.spawner.tier == Tier::A).then(|| Instant::now() + INIT_GRACE);
                    }
                    if init.kill_at.is_some_and(|at| at <= Instant::now()) {
                        init.kill_at = None;
                        let _ = syscalls::kill(init.pid, libc::SIGKILL);
                    }
                }
            }
            if asked {
                return Ok(());
            }
        }
    }

    /// Waits until something happens: to `socket`, and to each sandbox, whether its init process ended and
    /// whether its lifeline was closed just now.
    fn wait(&self, socket: &OwnedFd) -> Result<(bool, Vec<(bool, bool)>), Errno> {
        let kill_at = self.running.iter().filter_map(|sandbox| sandbox.init.kill_at).min();
        let timeout = kill_at.map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut watched = vec![PollFd::new(socket, PollFlags::IN)];
        for Sandbox { control, init } in &self.running {
            watched.push(PollFd::new(&init.handle, PollFlags::IN));
            if init.leash.is_some() {
                watched.push(PollFd::new(control, PollFlags::RDHUP));
            }
        }
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        let mut happened = watched.iter().map(|watched| !watched.revents().is_empty());
        let asked = happened.next().unwrap_or(false);
        let mut next = || happened.next().unwrap_or(false);
        let sandboxes =
            self.running.iter().map(|Sandbox { init, .. }| (next(), init.leash.is_some() && next()));
        Ok((asked, sandboxes.collect()))
    }

    /// Reaps the init process of one, and keeps of it what serves another one.
    fn end(&mut self, sandbox: Sandbox) {
        let Sandbox { control, init } = sandbox;
        let InitProcess { pid, name, leash, network, shared_network, home, .. } = init;
        let outcome = match syscalls::wait_for(pid).during(Step::Reaper) {
            Err(error) => Err(Failure::from(error)),
            Ok((status, usage)) => {
                if let Some(network) = network.filter(|_| shared_network.is_none())
                    && libc::WIFEXITED(status)
                    && libc::WEXITSTATUS(status) == networks::AS_NEW
                {
                    self.networks.give_back(network);
                }
                let (cpu_micros, peak_kib) = (usage.cpu_micros, usage.peak_kib);
                let killed = leash.is_none();
                Ok(Outcome { status: libc::SIGKILL, killed, cpu_micros, peak_kib, ..Outcome::default() })
            }
        };
        if let Some(name) = &shared_network {
            self.networks.leave_shared(name);
        }
        if let Some(cgroups) = &self.spawner.cgroups {
            cgroups.remove(&name);
        }
        // If init reported, this comes too late and is not read.
        outcome.map_or_else(Report::Failed, Report::Done).send(&control);
        if let Some(home) = home.filter(PrivateHome::exists) {
            delete_aside(home);
        }
    }
}

/// Deletes what init left because it was killed, in a process of its own: it may be much.
fn delete_aside(home: PrivateHome) {
    match syscalls::fork() {
        Ok(ForkResult::Child) => {
            // Else it would hold the leashes of all other sandboxes.
            if descriptors::close_all_but(&[]).is_ok() && matches!(syscalls::fork(), Ok(ForkResult::Child)) {
                drop(home);
            }
            syscalls::exit(0)
        }
        Ok(ForkResult::Parent(child)) => {
            std::mem::forget(home);
            let _ = syscalls::wait_for(child);
        }
        Err(_) => drop(home),
    }
}
