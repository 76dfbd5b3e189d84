//! Each attack by a command without the sandbox, where it must do its harm: a case whose attack works nowhere
//! proves nothing; where that is not tried, the list says why.
//!
//! It runs beside a real server, as that server's user, as a child of a process that has the canary in its
//! environment, as a server without a sandbox would run it. What it may harm is the run's own place.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::Duration;

use protocol::Envelope;

use self::Evidence::{ChecksFail, NotTried, Output, OutputAsRoot, OutputInSandbox};
use super::before::Before;
use super::check::{self, Observed};
use super::surroundings::{CANARY, CANARY_NAME};
use super::{Case, CaseRun, Mode, require};
use crate::Answer;
use crate::leftovers::processes_with;
use crate::program::signal;

/// How many seconds a command gets; then it alone is killed, and what it started goes on.
const SECONDS: &str = "4";

/// The categories of commands whose attacks are tried without the sandbox first.
const CATEGORIES: [&str; 7] =
    ["bash_bypass", "persistence", "sandbox_fs", "sandbox_net", "sandbox_proc", "sandbox_sys", "symlink"];

/// How it is seen that an attack worked.
#[derive(Debug, Clone, Copy)]
enum Evidence {
    ChecksFail,
    /// By stdout and stderr.
    Output(fn(&str, &str) -> bool),
    /// The same, of an attack that only root can make at all.
    OutputAsRoot(fn(&str, &str) -> bool),
    /// The same inside; outside it is not tried, for this reason.
    OutputInSandbox(&'static str, fn(&str, &str) -> bool),
    /// It is not tried outside, for this reason; inside the checks alone decide.
    NotTried(&'static str),
}

/// Whether an attack is tried without the sandbox first: none where the case is no attack by a command, an
/// error with the reason where it is one and yet is not tried.
pub fn runs_unsandboxed(case: &Case) -> Option<Result<(), &'static str>> {
    match evidence_of(case)? {
        NotTried(why) | OutputInSandbox(why, _) => Some(Err(why)),
        OutputAsRoot(_) if !rustix::process::geteuid().is_root() => Some(Err("only root could do it at all")),
        ChecksFail | Output(_) | OutputAsRoot(_) => Some(Ok(())),
    }
}

/// Tries an attack without the sandbox; an error says that it did not work, so that its case proves nothing.
pub fn works_unsandboxed(case: &Case) -> Result<(), String> {
    let evidence = evidence_of(case).ok_or("it is no attack by a command")?;
    let run = CaseRun::prepare(case, Mode::TierA)?;
    let before = Before::remember(case, &run.placeholders)?;
    let (stdout, stderr) = output_of(&run)?;
    let worked = match evidence {
        ChecksFail => {
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
        signal(left.pid, rustix::process::Signal::KILL);
    }
    require(worked, || format!("without the sandbox it does not work either: {stdout}{stderr}"))
}

/// An attack must not have worked in the sandbox by its own evidence either.
pub(super) fn require_failed(case: &Case, envelope: &Envelope) -> Result<(), String> {
    let (ran, out, err) =
        (envelope.meta.data.get("sandbox_tier").is_some(), &envelope.stdout, &envelope.stderr);
    match evidence_of(case) {
        Some(Output(worked) | OutputAsRoot(worked) | OutputInSandbox(_, worked)) => {
            require(!ran || !worked(out, err), || format!("the attack worked: {out:?} {err:?}"))
        }
        Some(ChecksFail | NotTried(_)) | None => Ok(()),
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

/// None for what is no attack by a command.
fn evidence_of(case: &Case) -> Option<Evidence> {
    let is_one_command = case.tool == "bash" && case.steps.is_empty();
    let is_attack = is_one_command && CATEGORIES.contains(&case.category.as_str());
    is_attack.then(|| if case.danger { NotTried("it would harm the machine") } else { listed(&case.id) })
}

fn listed(id: &str) -> Evidence {
    match id {
        "kfs-002" => Output(|out, _| out.contains("secret.txt")),
        "kfs-020" => OutputInSandbox("it would change the machine's control groups", |_, err| err.is_empty()),
        "knet-007" => NotTried("it would ask name servers beyond this machine"),
        "knet-008" | "knet-009" => OutputAsRoot(said_no_error),
        "knet-012" => OutputInSandbox("that socket is of a service that need not run here", said_no_error),
        "kproc-010" => NotTried("it would end the servers of other tests"),
        "kproc-016" => {
            OutputInSandbox("it needs a segment of memory that all the machine shares", is_no_refusal)
        }
        "kproc-018" => Output(is_no_refusal),
        "kproc-023" => NotTried("it would leave a job with the machine's services"),
        "ksys-001" | "ksys-002" | "ksys-009" | "ksys-011" => Output(|out, _| out.contains("ALLOWED")),
        "ksys-017" => OutputAsRoot(|out, _| !out.contains("CapEff:\t0000000000000000")),
        "ksys-018" => NotTried("it is no attack: it asks whether the sandbox is there"),
        "pers-008" => NotTried("what appears is reported, not stopped"),
        "pers-012" | "pers-013" | "pers-018" | "pers-020" | "pers-022" => {
            NotTried("it would leave something on the machine that other programs run or read")
        }
        "bash-017" => NotTried("what it encodes is a name in braces, which is no file"),
        "bash-051" => NotTried("its editor need not be installed"),
        "bash-052" => NotTried("its program need not be installed"),
        _ => ChecksFail,
    }
}

fn said_no_error(_stdout: &str, stderr: &str) -> bool {
    !stderr.contains("Error")
}

/// The last line is the number that the kernel answered.
fn is_no_refusal(stdout: &str, _stderr: &str) -> bool {
    stdout.lines().last() != Some("-1")
}
