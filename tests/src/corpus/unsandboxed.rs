//! Runs each attack by a command without the sandbox, where it must work: a case whose attack never works
//! proves nothing. If that is not tried, the list says why.
//!
//! It runs next to a real server, with the canary in the environment of its parent, as a server without a
//! sandbox would run it. It can harm only the run's own directory.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::before::Before;
use super::canary::{CANARY, CANARY_NAME};
use super::check::{self, Observed};
use super::evidence::Evidence::{
    ChecksFail, ChecksFailAsRoot, NotTried, Output, OutputAsRoot, OutputInSandbox,
};
use super::evidence::evidence_of;
use super::{Case, CaseRun, Mode, require};
use crate::Answer;
use crate::leftovers::processes_with;
use crate::signals;

/// How many seconds a command may take. Only the command is killed then, not what it started.
const SECONDS: &str = "4";

/// Whether an attack is run without the sandbox first: none if the case is not an attack by a command, an
/// error with the reason if it is one but is not run.
pub fn runs_unsandboxed(case: &Case) -> Option<Result<(), &'static str>> {
    match evidence_of(case)? {
        NotTried(why) | OutputInSandbox(why, _) => Some(Err(why)),
        ChecksFailAsRoot | OutputAsRoot(_) if !rustix::process::geteuid().is_root() => {
            Some(Err("only root could do it at all"))
        }
        ChecksFail | ChecksFailAsRoot | Output(_) | OutputAsRoot(_) => Some(Ok(())),
    }
}

/// Runs an attack without the sandbox; it is an error if it does not work, because its case proves nothing
/// then.
pub fn works_unsandboxed(case: &Case) -> Result<(), String> {
    let evidence = evidence_of(case).ok_or("not an attack by a command")?;
    let run = CaseRun::prepare(case, Mode::TierA)?;
    let before = Before::remember(case, &run.placeholders)?;
    let (stdout, stderr) = output_of(&run)?;
    let worked = match evidence {
        ChecksFail | ChecksFailAsRoot => {
            let body = format!("{stdout}{stderr}").into_bytes();
            let answer = Answer { status: 200, headers: Vec::new(), body };
            let (took, surroundings) = (Duration::ZERO, &run.surroundings);
            let observed = Observed { answer: &answer, took, before: &before, records: "", surroundings };
            check::all(run.case, &run.placeholders, &observed).is_err()
        }
        Output(worked) | OutputAsRoot(worked) => worked(&stdout, &stderr),
        NotTried(_) | OutputInSandbox(..) => false,
    };
    for left in processes_with(&run.surroundings.left_behind()) {
        signals::send(left.pid, rustix::process::Signal::KILL);
    }
    require(worked, || format!("does not work without the sandbox either: {stdout}{stderr}"))
}

/// The command's output. It goes to files, because processes that it leaves behind may keep a pipe open.
fn output_of(run: &CaseRun<'_>) -> Result<(String, String), String> {
    let command = run.case.args.get("cmd").and_then(|cmd| cmd.as_str()).ok_or("the case has no command")?;
    let command = run.placeholders.fill(command)?;
    let workdir = run.case.args.get("workdir").and_then(|workdir| workdir.as_str()).unwrap_or("{ROOT}");
    let (out, err) = (run.surroundings.dir.join("control.out"), run.surroundings.dir.join("control.err"));
    let failed = |error: std::io::Error| error.to_string();
    Command::new("timeout")
        .args(["--foreground", "--signal=KILL", SECONDS, "bash", "-c", &command])
        .env(CANARY_NAME, CANARY)
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
