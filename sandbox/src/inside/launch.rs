//! The last steps: the process that will be the command drops everything, waits for the job, confirms that
//! everything is gone, and executes the program.
//!
//! What needs to know nothing of the command is done before it is known. Every step can fail, and a failed
//! step ends the process with the step's name; no step is skipped.

use std::convert::Infallible;
use std::ffi::{CString, NulError, OsStr};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use process::descriptors;
use process::seccomp;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{chdir, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::set_name;

use super::connector::Connector;
use super::context::CommandContext;
use super::fd_passing::{self, HAND_OVER};
use super::{landlock_rules, limits, privileges, probe, terminal};
use crate::command::{CommandSpec, HOME, STATE_DESCRIPTOR};
use crate::messages::{CONFINED, Job, Report, encode, read_file};
use crate::settings::{Network, Tier};
use crate::step::{During as _, Step, StepError};
use crate::syscalls;

/// Runs as the process that becomes the command once `socket` hands over a job.
pub(super) fn run(context: &CommandContext<'_>, socket: &OwnedFd) -> ! {
    let questions = prepare(context, socket).unwrap_or_else(|error| {
        Report::Failed(error.into()).send(socket);
        syscalls::exit(127)
    });
    let _ = set_name(c"waiting");
    Report::Started { has_cgroups: false }.send(socket);
    if let Some(questions) = questions {
        let _ = fd_passing::send(socket, [questions.as_fd()]);
    }
    let Ok(Some([job, stdin, stdout, stderr, link, started])) = fd_passing::receive::<HAND_OVER>(socket)
    else {
        syscalls::exit(127)
    };
    let Err(error) = become_command(context, &job, [stdin, stdout, stderr], [&link, &started]);
    let _ = rustix::io::write(&started, &encode(&Report::Failed(error.into())));
    syscalls::exit(127)
}

/// What needs to know nothing of the command. Returns where the filter asks init, if it does.
fn prepare(context: &CommandContext<'_>, socket: &OwnedFd) -> Result<Option<OwnedFd>, StepError> {
    // The spawner has set them to their defaults; init blocks one.
    syscalls::unblock_signals().during(Step::Signals)?;
    limits::lower_priority();
    setsid().during(Step::Session)?;
    descriptors::silence().during(Step::Stdio)?;
    descriptors::close_all_but(&[socket.as_fd()]).during(Step::Descriptors)?;
    let connector = match (context.spawner.tier, context.spawner.settings.network) {
        (Tier::A, Network::Public) => Some(Connector::start()?),
        _ => None,
    };
    privileges::drop_capabilities().during(Step::Capabilities)?;
    rustix::thread::set_no_new_privs(true).during(Step::NoNewPrivileges)?;
    match context.spawner.tier {
        Tier::A => confine(context, connector),
        // The files of the machine's own tree may be others by the time that the command runs.
        Tier::B => {
            limits::prefer_for_oom_kill()?;
            Ok(None)
        }
    }
}

fn confine(context: &CommandContext<'_>, connector: Option<Connector>) -> Result<Option<OwnedFd>, StepError> {
    landlock_rules::confine(context.spawner, context.home)?;
    let filter = &context.spawner.filter;
    match connector {
        Some(connector) => connector.install(filter).map(|()| None),
        None if context.watches_network() => seccomp::install_asking(filter).map(Some).during(Step::Filter),
        None => seccomp::install(filter).map(|()| None).during(Step::Filter),
    }
}

/// Becomes the command; returns only if a step failed.
fn become_command(
    context: &CommandContext<'_>,
    job: &OwnedFd,
    [stdin, stdout, stderr]: [OwnedFd; 3],
    [link, started]: [&OwnedFd; 2],
) -> Result<Infallible, StepError> {
    let job: Job = read_file(job)?;
    if job.has_terminal() {
        terminal::enter(link)?;
    } else {
        if job.has_input() {
            dup2_stdin(&stdin).during(Step::Stdio)?;
        }
        dup2_stdout(&stdout).and_then(|()| dup2_stderr(&stderr)).during(Step::Stdio)?;
    }
    syscalls::close_range(3, u32::MAX, true).during(Step::Descriptors)?;
    if job.keeps_state() {
        give_state_pipe(link).during(Step::Stdio)?;
    }
    limits::apply(job.limits(), context.spawner.tier)?;
    if let Job::Execute(spec) = &job {
        // Not before: a directory that is covered meanwhile could be entered without its cover.
        chdir(&spec.workdir).during(Step::Workdir)?;
    }
    if context.spawner.tier == Tier::B {
        confine(context, None)?;
    }
    privileges::confirm().during(Step::LastCheck)?;
    let listens = context.spawner.tier == Tier::A && context.spawner.settings.network == Network::Listed;
    let port = if listens && job.has_listener() { Some(listen(link)?) } else { None };
    match &job {
        Job::Execute(spec) => Err(execute(context, spec, port, started)),
        Job::Trial(_) => {
            announce(started);
            syscalls::exit(0)
        }
        Job::Probe(plan) => {
            announce(started);
            let _ = syscalls::close_range(3, u32::MAX, false);
            probe::run(plan)
        }
    }
}

/// Gives the server the reading end of a pipe whose other end the command has. Neither waits for the other.
fn give_state_pipe(link: &OwnedFd) -> io::Result<()> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    fd_passing::send(link, [ours.as_fd()])?;
    syscalls::duplicate_to(theirs.as_fd(), STATE_DESCRIPTOR)
}

/// Listens in the command's network, which counts as touched by that, and gives the socket to the server. The
/// command itself does not have it.
fn listen(link: &OwnedFd) -> Result<u16, StepError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).during(Step::Listener)?;
    fd_passing::send(link, [listener.as_fd()]).during(Step::Listener)?;
    listener.local_addr().map(|address| address.port()).during(Step::Listener)
}

/// Says that all layers are in force. The program is executed when the pipe then closes without an error.
fn announce(started: &OwnedFd) {
    let _ = rustix::io::write(started, &[CONFINED]);
}

fn execute(
    context: &CommandContext<'_>,
    spec: &CommandSpec,
    port: Option<u16>,
    started: &OwnedFd,
) -> StepError {
    let strings = || {
        let program = CString::new(spec.program.as_os_str().as_bytes())?;
        let arguments = spec.arguments.iter().map(|argument| CString::new(argument.as_bytes()));
        let arguments = [Ok(program.clone())].into_iter().chain(arguments).collect::<Result<Vec<_>, _>>()?;
        Ok::<_, NulError>((program, arguments, environment(context, spec, port)?))
    };
    match strings() {
        Err(_) => StepError::new(Step::Exec, libc::EINVAL),
        Ok((program, arguments, environment)) => {
            announce(started);
            let error = syscalls::execute(&program, &arguments, &environment);
            StepError::new(Step::Exec, error.raw_os_error().unwrap_or(libc::EIO))
        }
    }
}

fn environment(
    context: &CommandContext<'_>,
    spec: &CommandSpec,
    port: Option<u16>,
) -> Result<Vec<CString>, NulError> {
    let mut own = match context.home {
        None => vec![("HOME", HOME.into())],
        Some(home) => vec![("HOME", home.home()), ("TMPDIR", home.tmp())],
    };
    if let Some(port) = port {
        let url = PathBuf::from(format!("http://127.0.0.1:{port}"));
        own.extend(spec.proxy_variables.iter().map(|name| (name.as_str(), url.clone())));
    }
    let is_own = |name: &OsStr| own.iter().any(|(own, _)| name == *own);
    let given = spec.environment.iter().filter(|(name, _)| !is_own(name));
    let given = given.map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let own = own.iter().map(|(name, value)| (OsStr::new(*name), value.as_os_str()));
    given
        .chain(own)
        .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()))
        .collect()
}
