//! What the kernel enforces here, in words for people.

use schemars::JsonSchema;
use serde::Serialize;

use crate::settings::{Network, Tier};
use crate::step::SandboxError;
use crate::syscalls;

/// The Landlock version that scopes signals and abstract sockets.
pub(crate) const LANDLOCK_WITH_SCOPES: i64 = 6;

const LOSSES_OF_TIER_B: &[&str] = &[
    "Commands can see, watch and change the metadata of this user's files outside the roots (stat, inotify, \
     chmod, timestamps), but not their content.",
    "Commands can see the names and command lines of other processes.",
    "Denied names (.env, keys) are hidden from the file tools but not from commands.",
    "Commands can change existing control files; what they changed is taken back only when they end.",
    "Commands cannot open sockets, so tests that listen on loopback do not run; there is no shared memory \
     either.",
    "Commands have no access to /tmp; TMPDIR names a private directory of unlimited size.",
];

const LOSSES_OF_TIER_A: &[&str] = &[
    "A command can move away and replace a git repository that is not itself a root; what the replacement \
     would execute is taken back when the command ends.",
    "A command can read a denied file by a second name (a hard link) that is not denied.",
    "A command can read what git has stored of a denied file (git show HEAD:.env).",
    "A denied file that appears or is replaced while a command runs is hidden from the next command only.",
];

const NO_COMMANDS: &str = "No commands run.";

const UNCOUNTED_MEMORY: &str = "Without a cgroup, a command can hold more memory than its limit between two \
    looks, and in shared memory that it wrote and released, in pipes and in small objects of the kernel.";

const NO_CGROUP: &str = "Memory is looked at ten times a second. A systemd unit with Delegate=memory, or a \
    server that runs as root, gives each command a cgroup.";

const REMEDY: &str = "Tier A needs unprivileged user namespaces: an AppArmor profile for the binary that \
    allows userns, kernel.unprivileged_userns_clone=1, or a container whose seccomp profile allows unshare \
    and mount and whose /proc is not covered (docs/containers.md). Tier B needs Linux 6.12 or newer with \
    Landlock, and a server that does not run as root.";

/// One layer of protection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Layer {
    /// Its name.
    pub name: &'static str,
    /// Whether it is active.
    pub in_force: bool,
    /// What it does, in words.
    pub meaning: &'static str,
}

/// The result of one attempt of the self-check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Verdict {
    /// It was stopped, or it worked if it is ordinary work.
    #[serde(rename = "holds")]
    Holds,
    /// It got through, as this tier states.
    #[serde(rename = "stated loss")]
    StatedLoss,
    /// It got through and must not.
    #[serde(rename = "ESCAPED")]
    Escaped,
    /// Ordinary work failed.
    #[serde(rename = "broken")]
    Broken,
}

/// One attempt of the self-check to get out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// What was tried.
    pub attempt: String,
    /// How it ended.
    pub verdict: Verdict,
    /// What was found.
    pub detail: String,
}

/// How commands are confined here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// The tier; none if commands cannot be confined, and then none may run.
    pub tier: Option<Tier>,
    /// The layers.
    pub layers: Vec<Layer>,
    /// What the sandbox cannot prevent.
    pub losses: Vec<&'static str>,
    /// What the self-check tried.
    pub findings: Vec<Finding>,
    /// Why there is no better tier, or why no commands run.
    pub reason: Option<String>,
    /// What would help.
    pub remedy: Option<&'static str>,
}

impl Capabilities {
    pub(crate) fn of(
        tier: Tier,
        network: Network,
        has_cgroups: bool,
        findings: Vec<Finding>,
        reason: Option<String>,
    ) -> Self {
        let losses = match tier {
            Tier::A => LOSSES_OF_TIER_A,
            Tier::B => LOSSES_OF_TIER_B,
        };
        let remedy = reason.is_some().then_some(REMEDY);
        let layers = layers(Some(tier), network, has_cgroups);
        let uncounted = (!has_cgroups).then_some(UNCOUNTED_MEMORY);
        let losses = losses.iter().copied().chain(uncounted).collect();
        Self { tier: Some(tier), layers, losses, findings, reason, remedy }
    }

    /// No commands run because the spawner could not be started.
    pub fn without_commands(error: &SandboxError) -> Self {
        let mut reason = error.to_string();
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            reason = format!("{reason}: {error}");
            cause = error.source();
        }
        let layers = layers(None, Network::Off, false);
        Self { layers, reason: Some(reason), remedy: Some(REMEDY), ..Self::default() }
    }

    /// No commands run because they are switched off on purpose.
    pub fn switched_off(reason: &str) -> Self {
        Self { reason: Some(reason.to_owned()), ..Self::default() }
    }

    /// The first attempt that got through and must not; if there is one, no command may run.
    pub fn escape(&self) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.verdict == Verdict::Escaped)
    }
}

/// A layer that means `yes` where it is in force, and else `no`.
fn layer(name: &'static str, in_force: bool, yes: &'static str, no: &'static str) -> Layer {
    Layer { name, in_force, meaning: if in_force { yes } else { no } }
}

fn layers(tier: Option<Tier>, network: Network, has_cgroups: bool) -> Vec<Layer> {
    let confined = tier.is_some();
    let [landlock_files, landlock_scopes] = landlock_layers(confined);
    vec![
        layer(
            "namespaces",
            tier == Some(Tier::A),
            "Commands see a file tree with only the system, the roots and private directories, and no other \
             processes.",
            "Commands see the machine's own file tree and process list.",
        ),
        network_layer(confined, network),
        landlock_files,
        landlock_scopes,
        layer(
            "system call filter",
            confined,
            "Mounts, namespaces, io_uring, kernel modules and the memory of other processes are denied.",
            NO_COMMANDS,
        ),
        layer(
            "memory cgroup",
            has_cgroups,
            "The kernel counts all memory of a command, also what no process maps.",
            if confined { NO_CGROUP } else { NO_COMMANDS },
        ),
        layer(
            "lifeline",
            confined,
            "A command ends with all its processes at its deadline, and when the server dies.",
            NO_COMMANDS,
        ),
    ]
}

fn network_layer(confined: bool, network: Network) -> Layer {
    layer(
        "network",
        confined && network != Network::All,
        match network {
            Network::Public => {
                "Commands reach public addresses over TCP, and nothing of this machine or of its networks."
            }
            Network::Listed => {
                "Commands reach the listed domains through a proxy, and no other network and no socket of \
                 this machine."
            }
            Network::Off | Network::All => "Commands reach no network and no socket of this machine.",
        },
        if confined { "Commands use the server's network." } else { NO_COMMANDS },
    )
}

/// What the kernel's Landlock holds: files, and then scopes.
fn landlock_layers(confined: bool) -> [Layer; 2] {
    let landlock = syscalls::landlock_version().unwrap_or(0);
    [
        layer(
            "Landlock files",
            confined && landlock > 0,
            "The kernel checks each file against the roots a second time.",
            "This kernel has no Landlock, or no commands run.",
        ),
        layer(
            "Landlock scopes",
            confined && landlock >= LANDLOCK_WITH_SCOPES,
            "Commands can signal only their own processes.",
            "Only the namespaces keep commands from signalling other processes.",
        ),
    ]
}
