//! The last steps: the process that will be the command drops everything, in this order, confirms that it
//! is gone, and executes the program.
//!
//! Every step can fail, and a failed step ends the process with the step's name; no step is skipped.

use std::convert::Infallible;
use std::ffi::{CString, NulError, OsStr};
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;

use process::seccomp;
use rustix::process::{chdir, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::context::CommandContext;
use super::{landlock_rules, limits, privileges, probe};
use crate::command::{CommandSpec, HOME};
use crate::messages::Job;
use crate::step::{During as _, Step, StepError};
use crate::syscalls;

/// Becomes the command; returns only if a step failed.
pub(super) fn become_command(context: &CommandContext<'_>, job: &Job) -> Result<Infallible, StepError> {
    syscalls::default_signals().during(Step::Signals)?;
    setsid().during(Step::Session)?;
    connect_stdio(context).during(Step::Stdio)?;
    syscalls::close_range(3, u32::MAX, true).during(Step::Descriptors)?;
    limits::apply(job.limits(), context.spawner.tier)?;
    privileges::drop_capabilities().during(Step::Capabilities)?;
    if let Job::Execute(spec) = job {
        chdir(&spec.workdir).during(Step::Workdir)?;
    }
    rustix::thread::set_no_new_privs(true).during(Step::NoNewPrivileges)?;
    landlock_rules::confine(context.spawner, context.home)?;
    seccomp::install(&context.spawner.filter).during(Step::Filter)?;
    privileges::confirm().during(Step::LastCheck)?;
    match job {
        Job::Execute(spec) => Err(execute(context, spec)),
        Job::Trial(_) => syscalls::exit(0),
        Job::Probe(plan) => probe::run(plan),
    }
}

fn connect_stdio(context: &CommandContext<'_>) -> std::io::Result<()> {
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(&context.stdout)?;
    Ok(dup2_stderr(&context.stderr)?)
}

fn execute(context: &CommandContext<'_>, spec: &CommandSpec) -> StepError {
    let strings = || {
        let program = CString::new(spec.program.as_os_str().as_bytes())?;
        let arguments = spec.arguments.iter().map(|argument| CString::new(argument.as_bytes()));
        let arguments = [Ok(program.clone())].into_iter().chain(arguments).collect::<Result<Vec<_>, _>>()?;
        Ok::<_, NulError>((program, arguments, environment(context, spec)?))
    };
    match strings() {
        Err(_) => StepError::new(Step::Exec, libc::EINVAL),
        Ok((program, arguments, environment)) => {
            let error = syscalls::execute(&program, &arguments, &environment);
            StepError::new(Step::Exec, error.raw_os_error().unwrap_or(libc::EIO))
        }
    }
}

fn environment(context: &CommandContext<'_>, spec: &CommandSpec) -> Result<Vec<CString>, NulError> {
    let given = spec.environment.iter().filter(|(name, _)| name != "HOME" && name != "TMPDIR");
    let own = match context.home {
        None => vec![("HOME", HOME.into())],
        Some(home) => vec![("HOME", home.home()), ("TMPDIR", home.tmp())],
    };
    let given = given.map(|(name, value)| (name.as_os_str(), value.as_os_str()));
    let own = own.iter().map(|(name, value)| (OsStr::new(*name), value.as_os_str()));
    given
        .chain(own)
        .map(|(name, value)| CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()))
        .collect()
}
