//! Runs each attack by a command without the sandbox, where it must work: a case whose attack never works
//! proves nothing. If that is not tried, the list says why.
//!
//! It runs next to a real server, with the canary in the environment of its parent, as a server without a
//! sandbox would run it. It can harm only the run's own directory.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::Duration;

use protocol::Envelope;

use self::Evidence::{ChecksFail, ChecksFailAsRoot, NotTried, Output, OutputAsRoot, OutputInSandbox};
use super::before::Before;
use super::check::{self, Observed};
use super::surroundings::{CANARY, CANARY_NAME};
use super::{Case, CaseRun, Mode, require};
use crate::Answer;
use crate::leftovers::processes_with;
use crate::program::signal;

/// How many seconds a command may take. Only the command is killed then, not what it started.
const SECONDS: &str = "4";

/// The categories whose commands are run without the sandbox first.
const CATEGORIES: [&str; 7] =
    ["bash_bypass", "persistence", "sandbox_fs", "sandbox_net", "sandbox_proc", "sandbox_sys", "symlink"];

/// How to tell that an attack worked.
#[derive(Debug, Clone, Copy)]
enum Evidence {
    ChecksFail,
    /// The same, for an attack that needs root.
    ChecksFailAsRoot,
    /// By stdout and stderr.
    Output(fn(&str, &str) -> bool),
    /// The same, for an attack that needs root.
    OutputAsRoot(fn(&str, &str) -> bool),
    /// The same inside the sandbox; not run outside, for this reason.
    OutputInSandbox(&'static str, fn(&str, &str) -> bool),
    /// Not run outside, for this reason; inside, only the checks decide.
    NotTried(&'static str),
}

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
        signal(left.pid, rustix::process::Signal::KILL);
    }
    require(worked, || format!("does not work without the sandbox either: {stdout}{stderr}"))
}

/// Checks that an attack did not work in the sandbox, by its own evidence.
pub(super) fn require_failed(case: &Case, envelope: &Envelope) -> Result<(), String> {
    let (ran, out, err) =
        (envelope.meta.data.get("sandbox_tier").is_some(), &envelope.stdout, &envelope.stderr);
    match evidence_of(case) {
        Some(Output(worked) | OutputAsRoot(worked) | OutputInSandbox(_, worked)) => {
            require(!ran || !worked(out, err), || format!("the attack worked: {out:?} {err:?}"))
        }
        Some(ChecksFail | ChecksFailAsRoot | NotTried(_)) | None => Ok(()),
    }
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

/// None if the case is not an attack by a command.
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
        // The kernel gives the files in /proc of a process that is not dumpable to root.
        "kproc-014" => ChecksFailAsRoot,
        "kproc-016" => {
            OutputInSandbox("it needs a segment of memory that all the machine shares", is_no_refusal)
        }
        "kproc-018" => Output(is_no_refusal),
        "kproc-023" => NotTried("it would leave a job with the machine's services"),
        "ksys-001" | "ksys-002" | "ksys-009" | "ksys-011" => Output(|out, _| out.contains("ALLOWED")),
        "ksys-017" => OutputAsRoot(|out, _| !out.contains("CapEff:\t0000000000000000")),
        "ksys-018" => NotTried("it is no attack: it asks whether the sandbox is there"),
        "pers-008" => NotTried("what appears is reported, not stopped"),
        "ctrl-007" => ChecksFail,
        id if id.starts_with("ctrl-") => NotTried("what it leaves is taken back; the tests of git plant it"),
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

/// The last line is the result of the system call.
fn is_no_refusal(stdout: &str, _stderr: &str) -> bool {
    stdout.lines().last() != Some("-1")
}
