//! The bounds of each process, and the command's place behind the server's on the processor.

use rustix::process::{Resource, Rlimit, getrlimit, getuid, setpriority_process, setrlimit};

use crate::command::Limits;
use crate::settings::Tier;
use crate::step::{During as _, Step, StepError};

/// A little behind everything that answers people.
const NICENESS: i32 = 5;

const LOCKED_MEMORY_BYTES: u64 = 64 << 10;

/// Puts the bounds in force.
pub fn apply(limits: &Limits, tier: Tier) -> Result<(), StepError> {
    let _ = setpriority_process(None, NICENESS);
    let processes = match tier {
        Tier::A => limits.processes,
        Tier::B => {
            be_ended_first();
            limits.processes + threads_of_this_user()
        }
    };
    let bounds = [
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::As, limits.address_space_bytes),
        (Resource::Fsize, limits.file_size_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Nproc, processes),
        (Resource::Core, 0),
        (Resource::Memlock, LOCKED_MEMORY_BYTES),
    ];
    for (resource, bound) in bounds {
        lower(resource, bound).during(Step::ResourceLimits)?;
    }
    Ok(())
}

/// Lets the kernel choose this process and its descendants first when memory runs out.
pub fn be_ended_first() {
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

/// Sets both the soft and the hard bound, never above what is in force.
fn lower(resource: Resource, bound: u64) -> rustix::io::Result<()> {
    let bound = getrlimit(resource).maximum.map_or(bound, |maximum| maximum.min(bound));
    setrlimit(resource, Rlimit { current: Some(bound), maximum: Some(bound) })
}

/// Without a namespace the kernel counts all processes of the user, so those that run already are added.
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
