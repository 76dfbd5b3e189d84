//! By what an attack is seen to have worked: the failing of the case's own checks, or something that its
//! command then says.
//!
//! A case whose attack works nowhere proves nothing; where that is not tried, it says why.

use crate::corpus::Case;

/// How it is seen that an attack worked.
#[derive(Debug, Clone, Copy)]
pub enum Sign {
    /// The case's checks fail.
    ChecksFail,
    /// The command's stdout and stderr say so.
    Said(fn(&str, &str) -> bool),
    /// The same, of an attack that only root can make at all.
    SaidToRoot(fn(&str, &str) -> bool),
    /// The same inside; outside it is not tried, for this reason.
    SaidInside(&'static str, fn(&str, &str) -> bool),
    /// It is not tried outside, for this reason; inside the checks alone decide.
    NotTried(&'static str),
}

/// The categories of commands whose attacks are tried without the sandbox first.
const CATEGORIES: [&str; 7] =
    ["bash_bypass", "persistence", "sandbox_fs", "sandbox_net", "sandbox_proc", "sandbox_sys", "symlink"];

/// The signs of the cases whose checks alone do not tell.
const SIGNS: [(&str, Sign); 25] = [
    ("kfs-002", Sign::Said(|out, _| out.contains("secret.txt"))),
    ("kfs-020", Sign::SaidInside("it would change the machine's control groups", |_, err| err.is_empty())),
    ("knet-007", Sign::NotTried("it would ask name servers beyond this machine")),
    ("knet-008", Sign::SaidToRoot(said_no_error)),
    ("knet-009", Sign::SaidToRoot(said_no_error)),
    ("knet-012", Sign::SaidInside("that socket is of a service that need not run here", said_no_error)),
    ("kproc-010", Sign::NotTried("it would end the servers of other tests")),
    (
        "kproc-016",
        Sign::SaidInside("it needs a segment of memory that all the machine shares", is_no_refusal),
    ),
    ("kproc-018", Sign::Said(is_no_refusal)),
    ("kproc-023", Sign::NotTried("it would leave a job with the machine's services")),
    ("ksys-001", Sign::Said(probe_was_allowed)),
    ("ksys-002", Sign::Said(probe_was_allowed)),
    ("ksys-009", Sign::Said(probe_was_allowed)),
    ("ksys-011", Sign::Said(probe_was_allowed)),
    ("ksys-017", Sign::SaidToRoot(|out, _| !out.contains("CapEff:\t0000000000000000"))),
    ("ksys-018", Sign::NotTried("it is no attack: it asks whether the sandbox is there")),
    ("pers-008", Sign::NotTried("what appears is reported, not stopped")),
    ("pers-012", Sign::NotTried(CHANGES_THE_SYSTEM)),
    ("pers-013", Sign::NotTried(CHANGES_THE_SYSTEM)),
    ("pers-018", Sign::NotTried(CHANGES_THE_SYSTEM)),
    ("pers-020", Sign::NotTried(CHANGES_THE_SYSTEM)),
    ("pers-022", Sign::NotTried(CHANGES_THE_SYSTEM)),
    ("bash-017", Sign::NotTried("what it encodes is a name in braces, which is no file")),
    ("bash-051", Sign::NotTried("its editor need not be installed")),
    ("bash-052", Sign::NotTried("its program need not be installed")),
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

/// The sign of a case; none for what is no attack by a command.
pub fn of(case: &Case) -> Option<Sign> {
    let is_one_command = case.tool == "bash" && case.steps.is_empty();
    if !is_one_command || !CATEGORIES.contains(&case.category.as_str()) {
        return None;
    }
    if case.danger {
        return Some(Sign::NotTried("it would harm the machine"));
    }
    let listed = SIGNS.iter().find(|(id, _)| *id == case.id).map(|(_, sign)| *sign);
    Some(listed.unwrap_or(Sign::ChecksFail))
}
