//! Attacks by commands: how to tell that each of them worked.

use protocol::Envelope;

use self::Evidence::{ChecksFail, ChecksFailAsRoot, NotTried, Output, OutputAsRoot, OutputInSandbox};
use super::{Case, require};

/// The categories whose commands are run without the sandbox first.
const CATEGORIES: [&str; 7] =
    ["bash_bypass", "persistence", "sandbox_fs", "sandbox_net", "sandbox_proc", "sandbox_sys", "symlink"];

/// How to tell that an attack worked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Evidence {
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

/// None if the case is not an attack by a command.
pub(super) fn evidence_of(case: &Case) -> Option<Evidence> {
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
