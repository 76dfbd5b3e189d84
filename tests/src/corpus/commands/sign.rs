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
    /// It is not tried outside, for this reason.
    NotTried(&'static str),
}

/// The categories of commands whose attacks are tried without the sandbox first.
const CATEGORIES: [&str; 5] = ["bash_bypass", "sandbox_fs", "sandbox_net", "sandbox_proc", "sandbox_sys"];

/// The signs of the cases whose checks alone do not tell.
const SIGNS: [(&str, Sign); 19] = [
    ("kfs-002", Sign::Said(|out, _| out.contains("secret.txt"))),
    ("kfs-020", Sign::NotTried("it would change the machine's control groups")),
    ("knet-007", Sign::NotTried("it would ask name servers beyond this machine")),
    ("knet-008", Sign::SaidToRoot(|_, err| !err.contains("Error"))),
    ("knet-009", Sign::SaidToRoot(|_, err| !err.contains("Error"))),
    ("knet-012", Sign::NotTried("that socket belongs to a service that need not run here")),
    ("kproc-010", Sign::NotTried("it would end the servers of other tests")),
    ("kproc-016", Sign::NotTried("it needs a segment of System V, which would belong to the whole machine")),
    ("kproc-018", Sign::Said(|out, _| out.lines().last().is_some_and(|key| key != "-1"))),
    ("kproc-023", Sign::NotTried("it would leave a job with the machine's services")),
    ("ksys-001", Sign::Said(probe_was_allowed)),
    ("ksys-002", Sign::Said(probe_was_allowed)),
    ("ksys-009", Sign::Said(probe_was_allowed)),
    ("ksys-011", Sign::Said(probe_was_allowed)),
    ("ksys-017", Sign::SaidToRoot(|out, _| !out.contains("CapEff:\t0000000000000000"))),
    ("ksys-018", Sign::NotTried("it is no attack: it asks whether the sandbox is there")),
    ("bash-017", Sign::NotTried("what it encodes is a name in braces, which is no file")),
    ("bash-051", Sign::NotTried("its editor need not be installed")),
    ("bash-052", Sign::NotTried("its program need not be installed")),
];

fn probe_was_allowed(stdout: &str, _stderr: &str) -> bool {
    stdout.contains("ALLOWED")
}

/// The sign of a case; none for what is no attack by a command.
pub fn of(case: &Case) -> Option<Sign> {
    if case.tool != "bash" || !CATEGORIES.contains(&case.category.as_str()) {
        return None;
    }
    if case.danger {
        return Some(Sign::NotTried("it would harm the machine"));
    }
    let listed = SIGNS.iter().find(|(id, _)| *id == case.id).map(|(_, sign)| *sign);
    Some(listed.unwrap_or(Sign::ChecksFail))
}
