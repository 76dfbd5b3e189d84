//! By what an attack is seen to have worked: the failing of the case's own checks, or something that its
//! command then says.
//!
//! A case whose attack works nowhere proves nothing; where that is not tried, it says why.

use crate::corpus::Case;

/// How it is seen that an attack worked.
#[derive(Debug, Clone, Copy)]
pub(super) enum Evidence {
    ChecksFail,
    Output(fn(&str, &str) -> bool),
    /// The same, of an attack that only root can make at all.
    OutputAsRoot(fn(&str, &str) -> bool),
    /// The same inside; outside it is not tried, for this reason.
    OutputInSandbox(&'static str, fn(&str, &str) -> bool),
    /// It is not tried outside, for this reason; inside the checks alone decide.
    NotTried(&'static str),
}

/// The categories of commands whose attacks are tried without the sandbox first.
const CATEGORIES: [&str; 7] =
    ["bash_bypass", "persistence", "sandbox_fs", "sandbox_net", "sandbox_proc", "sandbox_sys", "symlink"];

/// The evidence of the cases whose checks alone do not tell.
const EVIDENCE: [(&str, Evidence); 25] = [
    ("kfs-002", Evidence::Output(|out, _| out.contains("secret.txt"))),
    (
        "kfs-020",
        Evidence::OutputInSandbox("it would change the machine's control groups", |_, err| err.is_empty()),
    ),
    ("knet-007", Evidence::NotTried("it would ask name servers beyond this machine")),
    ("knet-008", Evidence::OutputAsRoot(said_no_error)),
    ("knet-009", Evidence::OutputAsRoot(said_no_error)),
    (
        "knet-012",
        Evidence::OutputInSandbox("that socket is of a service that need not run here", said_no_error),
    ),
    ("kproc-010", Evidence::NotTried("it would end the servers of other tests")),
    (
        "kproc-016",
        Evidence::OutputInSandbox("it needs a segment of memory that all the machine shares", is_no_refusal),
    ),
    ("kproc-018", Evidence::Output(is_no_refusal)),
    ("kproc-023", Evidence::NotTried("it would leave a job with the machine's services")),
    ("ksys-001", Evidence::Output(probe_was_allowed)),
    ("ksys-002", Evidence::Output(probe_was_allowed)),
    ("ksys-009", Evidence::Output(probe_was_allowed)),
    ("ksys-011", Evidence::Output(probe_was_allowed)),
    ("ksys-017", Evidence::OutputAsRoot(|out, _| !out.contains("CapEff:\t0000000000000000"))),
    ("ksys-018", Evidence::NotTried("it is no attack: it asks whether the sandbox is there")),
    ("pers-008", Evidence::NotTried("what appears is reported, not stopped")),
    ("pers-012", Evidence::NotTried(CHANGES_THE_SYSTEM)),
    ("pers-013", Evidence::NotTried(CHANGES_THE_SYSTEM)),
    ("pers-018", Evidence::NotTried(CHANGES_THE_SYSTEM)),
    ("pers-020", Evidence::NotTried(CHANGES_THE_SYSTEM)),
    ("pers-022", Evidence::NotTried(CHANGES_THE_SYSTEM)),
    ("bash-017", Evidence::NotTried("what it encodes is a name in braces, which is no file")),
    ("bash-051", Evidence::NotTried("its editor need not be installed")),
    ("bash-052", Evidence::NotTried("its program need not be installed")),
];

const CHANGES_THE_SYSTEM: &str = "it would leave something on the machine that other programs run or read";

fn said_no_error(_stdout: &str, stderr: &str) -> bool {
    !stderr.contains("Error")
}

/// The last line is the number that the kernel answered.
fn is_no_refusal(stdout: &str, _stderr: &str) -> bool {
    stdout.lines().last() != Some("-1")
}

fn probe_was_allowed(stdout: &str, _stderr: &str) -> bool {
    stdout.contains("ALLOWED")
}

/// The evidence of a case; none for what is no attack by a command.
pub(super) fn of(case: &Case) -> Option<Evidence> {
    let is_one_command = case.tool == "bash" && case.steps.is_empty();
    if !is_one_command || !CATEGORIES.contains(&case.category.as_str()) {
        return None;
    }
    if case.danger {
        return Some(Evidence::NotTried("it would harm the machine"));
    }
    let listed = EVIDENCE.iter().find(|(id, _)| *id == case.id).map(|(_, evidence)| *evidence);
    Some(listed.unwrap_or(Evidence::ChecksFail))
}
