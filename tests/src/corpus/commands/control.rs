//! The control of the attacks: the same command without the sandbox, where it must do its harm.
//!
//! It runs beside a real server, as that server's user, as a child of a process that has the canary in its
//! environment, as a server without a sandbox would run it. What it may harm is the trial's own place.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::Duration;

use protocol::Envelope;

use super::sign::{self, Sign};
use super::{Mode, scene};
use crate::Answer;
use crate::corpus::before::Before;
use crate::corpus::check::{self, Observed};
use crate::corpus::{Case, Trial};
use crate::leftovers::processes_with;
use crate::program::signal;

/// How many seconds a command gets; then it alone is killed, and what it started goes on.
const SECONDS: &str = "4";

/// Whether an attack is tried without the sandbox first: none where the case is no attack by a command, an
/// error with the reason where it is one and yet is not tried.
pub fn is_tried_unheld(case: &Case) -> Option<Result<(), &'static str>> {
    match sign::of(case)? {
        Sign::NotTried(why) | Sign::SaidInside(why, _) => Some(Err(why)),
        Sign::SaidToRoot(_) if !rustix::process::geteuid().is_root() => {
            Some(Err("only root could do it at all"))
        }
        Sign::ChecksFail | Sign::Said(_) | Sign::SaidToRoot(_) => Some(Ok(())),
    }
}

/// Tries an attack without the sandbox; an error says that it did not work, so that its case proves nothing.
pub fn works_unheld(case: &Case) -> Result<(), String> {
    let sign = sign::of(case).ok_or("it is no attack by a command")?;
    let trial = Trial::prepare(case, Mode::TierA)?;
    let before = Before::remember(case, &trial.placeholders)?;
    let (stdout, stderr) = run(&trial)?;
    let worked = has_worked(&trial, sign, &before, &stdout, &stderr);
    for left in processes_with(&trial.scene.left_behind()) {
        signal(left.pid, rustix::process::Signal::KILL);
    }
    if worked {
        Ok(())
    } else {
        Err(format!("without the sandbox it does not work either: {stdout}{stderr}"))
    }
}

/// An attack must not have worked in the sandbox by its sign either.
pub fn is_held(case: &Case, envelope: &Envelope) -> Result<(), String> {
    let ran = envelope.meta.data.get("sandbox_tier").is_some();
    match sign::of(case) {
        Some(Sign::Said(worked) | Sign::SaidToRoot(worked) | Sign::SaidInside(_, worked))
            if ran && worked(&envelope.stdout, &envelope.stderr) =>
        {
            Err(format!("the attack worked: {:?} {:?}", envelope.stdout, envelope.stderr))
        }
        Some(_) | None => Ok(()),
    }
}

fn has_worked(trial: &Trial<'_>, sign: Sign, before: &Before, stdout: &str, stderr: &str) -> bool {
    let answer = Answer { status: 200, headers: Vec::new(), body: format!("{stdout}{stderr}").into_bytes() };
    let (took, scene) = (Duration::ZERO, &trial.scene);
    let observed = Observed { answer: &answer, took, before, records: "", scene };
    match sign {
        Sign::ChecksFail => check::all(trial.case, &trial.placeholders, &observed).is_err(),
        Sign::Said(worked) | Sign::SaidToRoot(worked) => worked(stdout, stderr),
        Sign::NotTried(_) | Sign::SaidInside(..) => false,
    }
}

/// What the command says. Its output goes to files: what it leaves behind may hold a pipe.
fn run(trial: &Trial<'_>) -> Result<(String, String), String> {
    let command = trial.case.args.get("cmd").and_then(|cmd| cmd.as_str()).ok_or("the case has no command")?;
    let command = trial.placeholders.fill(command)?;
    let workdir = trial.case.args.get("workdir").and_then(|workdir| workdir.as_str()).unwrap_or("{ROOT}");
    let (out, err) = (trial.scene.dir.join("control.out"), trial.scene.dir.join("control.err"));
    let failed = |error: std::io::Error| error.to_string();
    Command::new("timeout")
        .args(["--foreground", "--signal=KILL", SECONDS, "bash", "-c", &command])
        .env(scene::CANARY_NAME, scene::CANARY)
        .current_dir(trial.placeholders.fill(workdir)?)
        .stdin(Stdio::null())
        .stdout(File::create(&out).map_err(failed)?)
        .stderr(File::create(&err).map_err(failed)?)
        .status()
        .map_err(failed)?;
    let text =
        |path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(failed);
    Ok((text(&out)?, text(&err)?))
}
