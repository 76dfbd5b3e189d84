//! Each attack by a command without the sandbox, where it must do its harm.
//!
//! It runs beside a real server, as that server's user, as a child of a process that has the canary in its
//! environment, as a server without a sandbox would run it. What it may harm is the run's own place.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::Duration;

use protocol::Envelope;

use super::evidence::{self, Evidence};
use super::{Mode, surroundings};
use crate::Answer;
use crate::corpus::before::Before;
use crate::corpus::check::{self, Observed};
use crate::corpus::{Case, CaseRun};
use crate::leftovers::processes_with;
use crate::program::signal;

/// How many seconds a command gets; then it alone is killed, and what it started goes on.
const SECONDS: &str = "4";

/// Whether an attack is tried without the sandbox first: none where the case is no attack by a command, an
/// error with the reason where it is one and yet is not tried.
pub fn runs_unsandboxed(case: &Case) -> Option<Result<(), &'static str>> {
    match evidence::of(case)? {
        Evidence::NotTried(why) | Evidence::OutputInSandbox(why, _) => Some(Err(why)),
        Evidence::OutputAsRoot(_) if !rustix::process::geteuid().is_root() => {
            Some(Err("only root could do it at all"))
        }
        Evidence::ChecksFail | Evidence::Output(_) | Evidence::OutputAsRoot(_) => Some(Ok(())),
    }
}

/// Tries an attack without the sandbox; an error says that it did not work, so that its case proves nothing.
pub fn works_unsandboxed(case: &Case) -> Result<(), String> {
    let evidence = evidence::of(case).ok_or("it is no attack by a command")?;
    let run = CaseRun::prepare(case, Mode::TierA)?;
    let before = Before::remember(case, &run.placeholders)?;
    let (stdout, stderr) = output_of(&run)?;
    let worked = has_worked(&run, evidence, &before, &stdout, &stderr);
    for left in processes_with(&run.surroundings.left_behind()) {
        signal(left.pid, rustix::process::Signal::KILL);
    }
    if worked {
        Ok(())
    } else {
        Err(format!("without the sandbox it does not work either: {stdout}{stderr}"))
    }
}

/// An attack must not have worked in the sandbox by its own evidence either.
pub(crate) fn did_not_work(case: &Case, envelope: &Envelope) -> Result<(), String> {
    let ran = envelope.meta.data.get("sandbox_tier").is_some();
    match evidence::of(case) {
        Some(
            Evidence::Output(worked) | Evidence::OutputAsRoot(worked) | Evidence::OutputInSandbox(_, worked),
        ) if ran && worked(&envelope.stdout, &envelope.stderr) => {
            Err(format!("the attack worked: {:?} {:?}", envelope.stdout, envelope.stderr))
        }
        Some(_) | None => Ok(()),
    }
}

fn has_worked(run: &CaseRun<'_>, evidence: Evidence, before: &Before, stdout: &str, stderr: &str) -> bool {
    let answer = Answer { status: 200, headers: Vec::new(), body: format!("{stdout}{stderr}").into_bytes() };
    let (took, surroundings) = (Duration::ZERO, &run.surroundings);
    let observed = Observed { answer: &answer, took, before, records: "", surroundings };
    match evidence {
        Evidence::ChecksFail => check::all(run.case, &run.placeholders, &observed).is_err(),
        Evidence::Output(worked) | Evidence::OutputAsRoot(worked) => worked(stdout, stderr),
        Evidence::NotTried(_) | Evidence::OutputInSandbox(..) => false,
    }
}

/// What the command says. Its output goes to files: what it leaves behind may hold a pipe.
fn output_of(run: &CaseRun<'_>) -> Result<(String, String), String> {
    let command = run.case.args.get("cmd").and_then(|cmd| cmd.as_str()).ok_or("the case has no command")?;
    let command = run.placeholders.fill(command)?;
    let workdir = run.case.args.get("workdir").and_then(|workdir| workdir.as_str()).unwrap_or("{ROOT}");
    let (out, err) = (run.surroundings.dir.join("control.out"), run.surroundings.dir.join("control.err"));
    let failed = |error: std::io::Error| error.to_string();
    Command::new("timeout")
        .args(["--foreground", "--signal=KILL", SECONDS, "bash", "-c", &command])
        .env(surroundings::CANARY_NAME, surroundings::CANARY)
        .current_dir(run.placeholders.fill(workdir)?)
        .stdin(Stdio::null())
        .stdout(File::create(&out).map_err(failed)?)
        .stderr(File::create(&err).map_err(failed)?)
        .status()
        .map_err(failed)?;
    let text =
        |path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(failed);
    Ok((text(&out)?, text(&err)?))
}
