//! The resource limits of each process, and the command's lower priority.

use rustix::process::{Resource, Rlimit, getrlimit, getuid, setpriority_process, setrlimit};

use super::namespaces;
use crate::command::Limits;
use crate::settings::Tier;
use crate::step::{During as _, Step, StepError};

/// A little behind everything that serves people.
const NICENESS: i32 = 5;

const LOCKED_MEMORY_BYTES: u64 = 64 << 10;

pub(super) fn apply(limits: &Limits, tier: Tier) -> Result<(), StepError> {
    let processes = match tier {
        Tier::A => limits.processes,
        Tier::B => limits.processes + threads_of_this_user(),
    };
    let limits = [
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::As, limits.address_space_bytes),
        (Resource::Fsize, limits.file_size_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Nproc, processes),
        (Resource::Core, 0),
        (Resource::Memlock, LOCKED_MEMORY_BYTES),
    ];
    for (resource, limit) in limits {
        // Soft and hard limit, never above the one in force.
        let limit = Some(getrlimit(resource).maximum.map_or(limit, |maximum| maximum.min(limit)));
        setrlimit(resource, Rlimit { current: limit, maximum: limit }).during(Step::ResourceLimits)?;
    }
    Ok(())
}

/// For the command and all its processes.
pub(super) fn lower_priority() {
    let _ = setpriority_process(None, NICENESS);
}

/// Makes the kernel kill this process and its descendants first when memory runs out.
pub(super) fn prefer_for_oom_kill() -> Result<(), StepError> {
    namespaces::writing_to_itself(|| {
        // Where the kernel does not let us, the bounds of the command still hold.
        let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
        Ok(())
    })
}

/// Without a namespace the kernel counts all processes of the user, so we add those that already run.
fn threads_of_this_user() -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let user = getuid().as_raw();
    let Ok(processes) = std::fs::read_dir("/proc") else { return 0 };
    processes
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|entry| std::fs::metadata(entry.path().join("task")).ok())
        .filter(|task| task.uid() == user)
        .map(|task| task.nlink().saturating_sub(2))
        .sum()
}
