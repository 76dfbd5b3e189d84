//! The bound on the memory of a whole command: of its processes together, and of what no process maps.
//!
//! Kernel limits are per process, so init looks every so often. The first look is cheap and counts shared
//! pages too often; only if it finds too much does an exact one follow. Between two looks a command may
//! exceed the bound for a moment, and what it holds only in messages between its sockets is not found.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::statvfs;

use crate::command::HOME;
use crate::settings::Tier;

/// How soon after its start a command is looked at, and how often then.
const FIRST_LOOK: Duration = Duration::from_millis(50);
const INTERVAL: Duration = Duration::from_millis(100);

/// Looking takes at most one part in this many of a processor.
const SHARE: u32 = 20;

/// The file systems in memory that belong to one command.
const PRIVATE_FILES: [&str; 3] = ["/tmp", HOME, "/dev/shm"];

/// How `/proc` names files in memory that are in no directory.
const MEMFD: &str = "/memfd:";
const SHARED_ANONYMOUS: &str = "/dev/zero (deleted)";

/// A file by device and inode, with the bytes of memory that it takes.
type MemoryFiles = HashMap<(u64, u64), u64>;

pub(super) struct MemoryWatch {
    tier: Tier,
    most_bytes: u64,
    next: Instant,
}

impl MemoryWatch {
    pub(super) fn new(tier: Tier, most_bytes: u64) -> Self {
        Self { tier, most_bytes, next: Instant::now() + FIRST_LOOK }
    }

    pub(super) fn next_look(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Whether the command has more memory than it may. Looks only when it is time to.
    pub(super) fn is_exceeded(&mut self) -> bool {
        let began = Instant::now();
        if began < self.next {
            return false;
        }
        let processes = processes(self.tier);
        let files = open_memory_files(&processes);
        let files_bytes = files.values().sum::<u64>() + private_files(self.tier) + system_v(self.tier);
        let mapped: u64 = processes.iter().map(|process| mapped_at_most(process)).sum();
        let exceeded = files_bytes + mapped > self.most_bytes && {
            let mapped: u64 = processes.iter().map(|process| mapped_exactly(process, &files)).sum();
            files_bytes + mapped > self.most_bytes
        };
        self.next = Instant::now() + INTERVAL.max(began.elapsed() * SHARE);
        exceeded
    }
}

/// The directories in `/proc` of the command's processes.
fn processes(tier: Tier) -> Vec<PathBuf> {
    match tier {
        Tier::A => {
            let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
            let numbers = names.filter_map(|name| name.to_str()?.parse().ok());
            numbers.filter(|process: &u32| *process != 1).map(directory).collect()
        }
        Tier::B => {
            let mut found = children(std::process::id());
            let mut next = 0;
            while let Some(process) = found.get(next) {
                found.extend(children(*process));
                next += 1;
            }
            found.into_iter().map(directory).collect()
        }
    }
}

fn directory(process: u32) -> PathBuf {
    Path::new("/proc").join(process.to_string())
}

fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(directory(process).join("task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split(' ').filter_map(|id| id.parse().ok()).collect::<Vec<u32>>()).collect()
}

/// What a process has in memory and in swap, without its programs' files. Each process counts shared pages.
fn mapped_at_most(process: &Path) -> u64 {
    sum_of_kib(&process.join("status"), &["RssAnon:", "RssShmem:", "VmSwap:"])
}

/// The process's own part of what it shares with others, except for memory that was counted as a file.
fn mapped_exactly(process: &Path, counted: &MemoryFiles) -> u64 {
    let own = sum_of_kib(&process.join("smaps_rollup"), &["Pss_Anon:", "SwapPss:"]);
    own + files_only_mapped(&fs::read_to_string(process.join("smaps")).unwrap_or_default(), counted)
}

fn sum_of_kib(file: &Path, names: &[&str]) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    let kib = text.lines().filter_map(|line| {
        let rest = names.iter().find_map(|name| line.strip_prefix(name))?;
        rest.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    });
    kib.sum::<u64>() * 1024
}

/// The memory of shared mappings whose file is in no directory and not open any more.
fn files_only_mapped(smaps: &str, counted: &MemoryFiles) -> u64 {
    let inodes: HashSet<u64> = counted.keys().map(|(_, inode)| *inode).collect();
    let mut counts = false;
    let mut kib = 0;
    for line in smaps.lines() {
        if let Some(rest) = line.strip_prefix("Pss:") {
            let size = rest.trim().strip_suffix(" kB").and_then(|size| size.parse().ok());
            kib += if counts { size.unwrap_or(0) } else { 0_u64 };
        } else if let [_, _, _, _, inode, name @ ..] = &*line.split_ascii_whitespace().collect::<Vec<_>>() {
            let name = name.join(" ");
            counts = (name.starts_with(MEMFD) || name == SHARED_ANONYMOUS)
                && inode.parse().is_ok_and(|inode| !inodes.contains(&inode));
        }
    }
    kib * 1024
}

/// Files in memory that are open, whether or not a process maps them.
fn open_memory_files(processes: &[PathBuf]) -> MemoryFiles {
    let mut found = MemoryFiles::new();
    for process in processes {
        for descriptor in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
            let path = descriptor.path();
            if fs::read_link(&path).is_ok_and(|target| target.to_string_lossy().starts_with(MEMFD))
                && let Ok(file) = path.metadata()
            {
                found.insert((file.dev(), file.ino()), file.blocks() * 512);
            }
        }
    }
    found
}

/// What the private directories hold; in tier B they are on disk.
fn private_files(tier: Tier) -> u64 {
    let used = |path| statvfs(path).map_or(0, |disk| (disk.f_blocks - disk.f_bfree) * disk.f_frsize);
    match tier {
        Tier::A => PRIVATE_FILES.into_iter().map(used).sum(),
        Tier::B => 0,
    }
}

/// Segments of System V shared memory, which exist without a process; tier B has none.
fn system_v(tier: Tier) -> u64 {
    if tier == Tier::B {
        return 0;
    }
    let table = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    // The last two of its columns are the bytes in memory and in swap.
    let bytes = |line: &str| {
        line.split_ascii_whitespace().skip(14).filter_map(|n| n.parse::<u64>().ok()).sum::<u64>()
    };
    table.lines().skip(1).map(bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mappings_of_files_that_nobody_has_open_are_added() {
        let smaps = "7f00-7f01 rw-s 00000000 00:01 11 /memfd:open (deleted)\nSize: 8 kB\nPss: 4 kB\n\
                     7f01-7f02 rw-s 00000000 00:01 12 /memfd:closed (deleted)\nPss: 8 kB\nPss_Dirty: 8 kB\n\
                     7f02-7f03 rw-s 00000000 00:01 13 /dev/zero (deleted)\nPss: 16 kB\nVmFlags: rd wr sh\n\
                     7f03-7f04 rw-p 00000000 00:00 0 [heap]\nPss: 32 kB\n";
        let counted = MemoryFiles::from([((1, 11), 4096)]);
        assert_eq!(files_only_mapped(smaps, &counted), (8 + 16) << 10);
    }

    #[test]
    fn this_process_uses_memory() {
        let this = directory(std::process::id());
        assert!(mapped_at_most(&this) >= 64 << 10);
        assert!(mapped_exactly(&this, &MemoryFiles::new()) >= 64 << 10);
    }
}
