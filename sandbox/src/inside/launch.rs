//! The last stretch: the process that will be the command drops everything, in this order, confirms that
//! it is gone, and becomes the program.
//!
//! Every step can fail, and a failed step ends the process with the step's name; there is no way past one.

use std::convert::Infallible;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;

use rustix::process::{chdir, setsid};

use super::keeper::Inside;
use super::{limits, privileges, probe, rights};
use crate::calls;
use crate::command::{CommandSpec, HOME};
use crate::messages::Job;
use crate::step::{During as _, Step, StepError};

/// Becomes the command; returns only the step that failed.
pub fn become_command(inside: &Inside<'_>, job: &Job) -> StepError {
    let Err(error) = drop_all_and_become(inside, job);
    error
}

fn drop_all_and_become(inside: &Inside<'_>, job: &Job) -> Result<Infallible, StepError> {
    let Inside { prepared, home, .. } = inside;
    calls::default_signals().during(Step::Signals)?;
    setsid().during(Step::Session)?;
    connect(inside).during(Step::Stdio)?;
    calls::close_range(3, u32::MAX, true).during(Step::Descriptors)?;
    limits::apply(job.limits(), prepared.tier)?;
    privileges::drop_capabilities().during(Step::Capabilities)?;
    if let Job::Execute(spec) = job {
        chdir(&spec.workdir).during(Step::Workdir)?;
    }
    rustix::thread::set_no_new_privs(true).during(Step::NoNewPrivileges)?;
    rights::confine(prepared, *home)?;
    calls::install_filter(&prepared.filter).during(Step::Filter)?;
    privileges::confirm().during(Step::LastCheck)?;
    match job {
        Job::Execute(spec) => Err(execute(inside, spec)),
        Job::Trial(_) => calls::exit(0),
        Job::Probe(plan) => probe::carry_out(plan),
    }
}

fn connect(inside: &Inside<'_>) -> std::io::Result<()> {
    calls::put_at(File::open("/dev/null")?.as_fd(), 0)?;
    calls::put_at(inside.stdout.as_fd(), 1)?;
    calls::put_at(inside.stderr.as_fd(), 2)
}

fn execute(inside: &Inside<'_>, spec: &CommandSpec) -> StepError {
    let mut environment: Vec<_> = spec
        .environment
        .iter()
        .filter(|(name, _)| name != "HOME" && name != "TMPDIR")
        .map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat())
        .collect();
    match inside.home {
        None => environment.push(format!("HOME={HOME}").into_bytes()),
        Some(home) => {
            environment.push([b"HOME=", home.home().as_os_str().as_bytes()].concat());
            environment.push([b"TMPDIR=", home.temporary().as_os_str().as_bytes()].concat());
        }
    }
    let program = spec.program.as_os_str().as_bytes().to_vec();
    let arguments = spec.arguments.iter().map(|argument| argument.as_bytes().to_vec());
    let arguments = std::iter::once(program.clone()).chain(arguments);
    let texts = || {
        let arguments: Vec<CString> = arguments.map(CString::new).collect::<Result<_, _>>()?;
        let environment: Vec<CString> =
            environment.into_iter().map(CString::new).collect::<Result<_, _>>()?;
        Ok::<_, std::ffi::NulError>((CString::new(program)?, arguments, environment))
    };
    match texts() {
        Err(_) => StepError::from_errno(Step::Exec, libc::EINVAL),
        Ok((program, arguments, environment)) => {
            StepError { step: Step::Exec, answer: calls::execute(&program, &arguments, &environment) }
        }
    }
}
