//! The init process: the first process inside. It sets up what the command sees, starts the command, reaps
//! processes, and takes all of them with it when it ends.
//!
//! In tier A it is process 1 of its namespace, so the kernel ends the rest. In tier B it is in a Landlock
//! domain around the command's: it may signal every descendant of the command, wherever that moved, and
//! nothing else, while nothing in there may signal it.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use process::descriptors;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, Signal, WaitOptions, getpid, getppid, set_child_subreaper, set_dumpable_behavior,
    set_parent_process_death_signal, setsid, wait,
};
use rustix::thread::set_name;

use super::cgroup::Cgroups;
use super::context::CommandContext;
use super::fd_passing::{self, HAND_OVER};
use super::memory::MemoryWatch;
use super::networks::{self, NetworkWatch};
use super::own_directories::{self, HiddenRoot};
use super::private_home::PrivateHome;
use super::{command_mounts, covers, landlock_rules, launch, limits, namespaces, terminal};
use crate::messages::{Job, Outcome, Receivers, Report, SignalRequest, read_file, socket_pair};
use crate::settings::Tier;
use crate::step::{During as _, Failure, Step, StepError};
use crate::syscalls::{self, ForkResult};

/// How long background processes may still write after the command ended by itself.
const BACKGROUND_GRACE: Duration = Duration::from_millis(100);

/// How many processes are reaped before the spawner's leash is checked again.
const REAP_BATCH: u32 = 64;

pub(super) fn run(context: &CommandContext<'_>) -> ! {
    match prepare(context).map_err(Failure::from).and_then(|waiting| start(context, waiting)) {
        Ok(Some(mut running)) => {
            let (outcome, left) = running.reap_until_done(context);
            if left == Left::Something || context.spawner.tier == Tier::B {
                kill_everything();
            }
            context.home.map(PrivateHome::delete);
            let usage = syscalls::usage_of_children();
            let (cpu_micros, peak_kib) = (usage.cpu_micros, usage.peak_kib);
            // The command's processes are gone, so the answer need not wait until its namespaces are.
            Report::Done(Outcome { cpu_micros, peak_kib, ..outcome }).send(context.control);
            if running.network.is_some_and(|network| network.is_as_new()) {
                syscalls::exit(networks::AS_NEW);
            }
        }
        Ok(None) => {}
        Err(failure) => Report::Failed(failure).send(context.control),
    }
    syscalls::exit(0)
}

/// The process that will be the command, confined as far as it can be before the command is known.
struct WaitingCommand {
    pid: i32,
    socket: OwnedFd,
    child_signals: OwnedFd,
    hidden_roots: Vec<HiddenRoot>,
}

/// Sets up the command's surroundings, and forks the process that will be the command.
fn prepare(context: &CommandContext<'_>) -> Result<WaitingCommand, StepError> {
    let _ = set_name(c"init");
    let cgroups = context.spawner.cgroups.iter().map(Cgroups::handle);
    let kept: Vec<_> = [context.control, context.leash.as_fd()].into_iter().chain(cgroups).collect();
    descriptors::close_all_but(&kept).during(Step::Descriptors)?;
    setsid().during(Step::Session)?;
    let hidden_roots = match context.spawner.tier {
        Tier::A => {
            // Now, because /proc will be read-only. If the kernel kills init, the whole command ends.
            limits::prefer_for_oom_kill()?;
            let _ = set_parent_process_death_signal(Some(Signal::KILL));
            namespaces::write_id_maps(context.user, context.group)?;
            namespaces::set_host_name()?;
            command_mounts::set_up(context.spawner)?;
            if context.order.has_terminal {
                terminal::mount()?;
            }
            if context.order.is_offline {
                networks::loopback_up()?;
            }
            if let Some(narrowed) = &context.order.narrowed {
                own_directories::narrow(context.spawner, narrowed)?;
            }
            own_directories::hide_roots(context.spawner)?
        }
        Tier::B => {
            set_child_subreaper(Some(getpid())).during(Step::Reaper)?;
            landlock_rules::scope_signals()?;
            confirm_signal_scope()?;
            Vec::new()
        }
    };
    // No process inside may look into this one: its memory once was the server's.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).during(Step::Reaper)?;
    let child_signals = syscalls::child_signals().during(Step::Reaper)?;
    let (socket, theirs) = socket_pair().during(Step::Socket)?;
    match syscalls::fork().during(Step::Fork)? {
        ForkResult::Parent(pid) => Ok(WaitingCommand { pid, socket, child_signals, hidden_roots }),
        ForkResult::Child => {
            drop(socket);
            launch::run(context, &theirs)
        }
    }
}

/// Confirms that signals to the outside are refused, before `kill_everything` signals every process it can.
fn confirm_signal_scope() -> Result<(), StepError> {
    let Some(spawner) = getppid() else { return Err(StepError::new(Step::Reaper, libc::ESRCH)) };
    match syscalls::kill(spawner.as_raw_nonzero().get(), 0) {
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Ok(()),
        _ => Err(StepError::new(Step::LandlockMissing, libc::ENOSYS)),
    }
}

/// Waits for the job, covers what it says, and hands it to the command. None if there will be no job.
fn start<'a>(
    context: &'a CommandContext<'a>,
    waiting: WaitingCommand,
) -> Result<Option<RunningCommand<'a>>, Failure> {
    let WaitingCommand { pid, socket, child_signals, hidden_roots } = waiting;
    match Report::receive(&socket).during(Step::Request)? {
        Some(Report::Started { .. }) => {}
        Some(Report::Failed(failure)) => return Err(failure),
        Some(Report::Done(_)) | None => return Err(StepError::new(Step::Reaper, libc::ECHILD).into()),
    }
    let network = if context.watches_network() {
        let Some([questions]) = fd_passing::receive(&socket).during(Step::Filter)? else { return Ok(None) };
        Some(NetworkWatch::new(questions))
    } else {
        None
    };
    if !wait_for_job(context, &socket)? {
        return Ok(None);
    }
    let Some(descriptors) = fd_passing::receive::<HAND_OVER>(context.control).during(Step::Request)? else {
        return Ok(None);
    };
    let job: Job = read_file(&descriptors[0])?;
    match context.spawner.tier {
        Tier::A => {
            own_directories::show(&hidden_roots, job.own_directories())?;
            covers::mount(job.covers())?;
        }
        Tier::B => context
            .home
            .map_or(Ok(()), |home| home.create(&context.spawner.settings.home_files))
            .during(Step::PrivateDirectories)?,
    }
    fd_passing::send(&socket, descriptors.each_ref().map(OwnedFd::as_fd)).during(Step::Request)?;
    // Only the command's own processes may hold its output open: the server reads it to its end.
    drop((descriptors, socket, hidden_roots));
    let memory = MemoryWatch::new(context, job.limits().memory_bytes);
    let control = Some(context.control);
    Ok(Some(RunningCommand { pid, child_signals, memory, network, control }))
}

/// Waits until there is a job for the command, which is confined; false if there will be none.
fn wait_for_job(context: &CommandContext<'_>, command: &OwnedFd) -> Result<bool, Failure> {
    loop {
        let mut watched = [
            PollFd::new(&context.leash, PollFlags::IN),
            PollFd::new(command, PollFlags::IN),
            PollFd::from_borrowed_fd(context.control, PollFlags::IN),
        ];
        match poll(&mut watched, None) {
            Err(Errno::INTR) => continue,
            other => other.during(Step::Request)?,
        };
        let [leash, command, control] = watched.map(|watched| !watched.revents().is_empty());
        if leash || command {
            return Ok(false);
        }
        if control {
            return Ok(true);
        }
    }
}

struct RunningCommand<'a> {
    pid: i32,
    child_signals: OwnedFd,
    memory: MemoryWatch<'a>,
    network: Option<NetworkWatch>,
    /// Where the server asks for signals; none once it has closed the lifeline.
    control: Option<BorrowedFd<'a>>,
}

/// Whether a process of the command may be left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Nothing,
    Something,
}

impl RunningCommand<'_> {
    /// Waits for the command, then briefly for its background processes. It checks the leash in every round:
    /// a fork bomb ends so many processes that reaping them all would leave no time for that.
    fn reap_until_done(&mut self, context: &CommandContext<'_>) -> (Outcome, Left) {
        let mut ended: Option<(i32, Instant)> = None;
        let mut left_behind = Left::Something;
        let mut more = true;
        loop {
            let left = ended.map(|(_, deadline)| deadline.saturating_duration_since(Instant::now()));
            let next_look = self.memory.next_look();
            let timeout =
                if more { Duration::ZERO } else { left.map_or(next_look, |left| left.min(next_look)) };
            let pulled = self.wait(&context.leash, timeout);
            if pulled || left.is_some_and(|left| left.is_zero()) {
                break;
            }
            if self.memory.is_exceeded() {
                let status = ended.map_or(libc::SIGKILL, |(status, _)| status);
                return (Outcome { status, memory_exceeded: true, ..Outcome::default() }, left_behind);
            }
            match reap(self.pid) {
                Reaped::Everything => {
                    left_behind = Left::Nothing;
                    break;
                }
                Reaped::Command(status) => {
                    ended = Some((status, Instant::now() + BACKGROUND_GRACE));
                    more = true;
                }
                Reaped::Some => more = true,
                Reaped::Nothing => more = false,
            }
        }
        let status = ended.map_or(libc::SIGKILL, |(status, _)| status);
        let memory_exceeded = self.memory.was_bounded_by_kernel();
        (Outcome { status, killed: ended.is_none(), memory_exceeded, ..Outcome::default() }, left_behind)
    }

    /// Waits until a child ends, makes a socket, has too much memory, the server asks for a signal, or the
    /// spawner closes the leash; true if it closed.
    fn wait(&mut self, leash: &OwnedFd, timeout: Duration) -> bool {
        let questions = self.network.as_ref().and_then(NetworkWatch::questions);
        let watched = [Some(&self.child_signals), Some(leash), questions, self.memory.reached()];
        let watched = watched.into_iter().flatten().map(|watched| PollFd::new(watched, PollFlags::IN));
        let control = self.control.map(|control| PollFd::from_borrowed_fd(control, PollFlags::IN));
        let mut watched: Vec<_> = watched.chain(control).collect();
        let _ = poll(&mut watched, Timespec::try_from(timeout).ok().as_ref());
        let asked = questions.and_then(|_| watched.get(2)).map_or(PollFlags::empty(), PollFd::revents);
        let pulled = !watched[1].revents().is_empty();
        let is_requested = self.control.is_some() && watched.last().is_some_and(|c| !c.revents().is_empty());
        let _ = rustix::io::read(&self.child_signals, &mut [0_u8; 1024]);
        if let Some(network) = &mut self.network {
            network.take(asked);
        }
        if is_requested {
            self.take_request();
        }
        pulled
    }

    /// Sends the signal that the server asks for.
    fn take_request(&mut self) {
        let Some(control) = self.control else { return };
        match SignalRequest::receive(control) {
            None => self.control = None,
            Some(None) => {}
            Some(Some(SignalRequest { signal, receivers })) => {
                let receivers = match receivers {
                    // The command began a session, and so a group, of its own.
                    Receivers::Group => -self.pid,
                    Receivers::All => -1,
                };
                // There may be none by now.
                let _ = syscalls::kill(receivers, signal);
            }
        }
    }
}

enum Reaped {
    Command(i32),
    Some,
    Nothing,
    Everything,
}

fn reap(command: i32) -> Reaped {
    for round in 0..REAP_BATCH {
        match wait(WaitOptions::NOHANG) {
            Err(_) => return Reaped::Everything,
            Ok(None) if round == 0 => return Reaped::Nothing,
            Ok(None) => return Reaped::Some,
            Ok(Some((process, status))) if process.as_raw_nonzero().get() == command => {
                return Reaped::Command(status.as_raw());
            }
            Ok(Some(_)) => {}
        }
    }
    Reaped::Some
}

/// Kills and reaps all processes inside, which also counts their usage. In tier A there is nothing to do once
/// init has no child, because each process inside descends from it. The signal goes to every process
/// that init may signal: its namespace, or its domain, which `confirm_signal_scope` checked. The kernel
/// signals all of them while none can fork, so once is enough; repeating it costs little.
fn kill_everything() {
    loop {
        let _ = syscalls::kill(-1, libc::SIGKILL);
        for _ in 0..REAP_BATCH {
            if wait(WaitOptions::empty()).is_err() {
                return;
            }
        }
    }
}
