//! What the kernel grants, in words that a person understands.

use crate::calls;
use crate::settings::Tier;
use crate::step::SandboxError;

/// Landlock's version that scopes signals and abstract sockets.
const LANDLOCK_WITH_SCOPES: i64 = 6;

/// What tier B cannot keep from a command, each as a sentence.
const LOSSES_OF_TIER_B: &[&str] = &[
    "The metadata of this user's files outside the roots can be seen, watched and changed (stat, inotify, chmod, timestamps), their content cannot.",
    "The names and command lines of other processes can be seen.",
    "Denied names (.env, keys) are hidden from the file tools but not from commands.",
    "Control files that exist can be changed by commands; the change is reported, not prevented.",
    "No socket can be opened, so tests that listen on loopback do not run; there is no shared memory either.",
    "/tmp is out of reach; TMPDIR names a private directory, whose size is not bounded.",
];

/// What tier A cannot keep from a command.
const LOSSES_OF_TIER_A: &[&str] = &[
    "A git repository that is not itself a root can be moved away and replaced; what appears in its place is reported.",
    "A denied file that has a second name (a hard link) that is not denied can be read by that name.",
];

/// One layer of the sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// What it is called.
    pub name: &'static str,
    /// Whether it holds here.
    pub in_force: bool,
    /// What that means.
    pub meaning: &'static str,
}

/// What became of one attempt of the self-check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It was stopped, or, for honest work, it succeeded.
    Holds,
    /// It got through, as this tier says it can.
    StatedLoss,
    /// It got through and must not.
    Escaped,
    /// Honest work failed.
    Broken,
}

/// One attempt of the self-check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was tried.
    pub attempt: String,
    /// What became of it.
    pub verdict: Verdict,
    /// What the kernel answered.
    pub detail: String,
}

/// What holds commands here, and what does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The tier; none where commands cannot be held, and then none may run.
    pub tier: Option<Tier>,
    /// The layers.
    pub layers: Vec<Layer>,
    /// What a command can do all the same.
    pub losses: Vec<&'static str>,
    /// What the self-check tried.
    pub findings: Vec<Finding>,
    /// Why there is no better tier, or no commands at all.
    pub reason: Option<String>,
    /// What would help.
    pub remedy: Option<&'static str>,
}

impl Capabilities {
    pub(crate) fn of(tier: Tier, network: bool, findings: Vec<Finding>, reason: Option<String>) -> Self {
        let remedy = reason.is_some().then_some(REMEDY);
        Self {
            tier: Some(tier),
            layers: layers(Some(tier), network),
            losses: losses(tier),
            findings,
            reason,
            remedy,
        }
    }

    /// What there is where the spawner could not be started.
    pub fn without_commands(error: &SandboxError) -> Self {
        let mut reason = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            reason = format!("{reason}: {error}");
            cause = error.source();
        }
        Self {
            tier: None,
            layers: layers(None, false),
            losses: Vec::new(),
            findings: Vec::new(),
            reason: Some(reason),
            remedy: Some(REMEDY),
        }
    }

    /// What there is where commands are switched off on purpose.
    pub fn switched_off(reason: &str) -> Self {
        Self {
            tier: None,
            layers: Vec::new(),
            losses: Vec::new(),
            findings: Vec::new(),
            reason: Some(reason.to_owned()),
            remedy: None,
        }
    }

    /// The first attempt that got through and must not; then no command may run.
    pub fn escape(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.verdict == Verdict::Escaped)
    }
}

const REMEDY: &str = "Tier A needs unprivileged user namespaces: an AppArmor profile for the binary that allows \
     userns, kernel.unprivileged_userns_clone=1, or a container with a seccomp profile that lets unshare and mount \
     pass. Tier B needs Linux 6.12 or newer with Landlock, and a server that does not run as root.";

fn losses(tier: Tier) -> Vec<&'static str> {
    match tier {
        Tier::A => LOSSES_OF_TIER_A.to_vec(),
        Tier::B => LOSSES_OF_TIER_B.to_vec(),
    }
}

fn layers(tier: Option<Tier>, network: bool) -> Vec<Layer> {
    let landlock = calls::landlock_version().unwrap_or(0);
    let held = tier.is_some();
    let namespaces = tier == Some(Tier::A);
    let scoped = held && landlock >= LANDLOCK_WITH_SCOPES;
    let layer = |name, in_force, yes, no| Layer { name, in_force, meaning: if in_force { yes } else { no } };
    vec![
        layer(
            "namespaces",
            namespaces,
            "Commands see a file tree with nothing in it but the system, the roots and private directories, and no other processes.",
            "Commands see the machine's own file tree and process list.",
        ),
        layer(
            "network",
            held && !network,
            "Commands reach no network and no socket of this machine.",
            if held { "Commands reach the network as the server does." } else { "No commands run." },
        ),
        layer(
            "Landlock files",
            held && landlock > 0,
            "The kernel checks each file against the roots a second time.",
            "This kernel has no Landlock, or no commands run.",
        ),
        layer(
            "Landlock scopes",
            scoped,
            "Commands can signal only their own processes.",
            "Only the namespaces keep commands from signalling others.",
        ),
        layer(
            "system call filter",
            held,
            "Mounts, namespaces, io_uring, kernel modules and other processes' memory are denied.",
            "No commands run.",
        ),
        layer(
            "lifeline",
            held,
            "A command ends with all its processes at its deadline, and when the server dies.",
            "No commands run.",
        ),
    ]
}
