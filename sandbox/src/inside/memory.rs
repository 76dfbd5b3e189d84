//! The bound on the memory of a whole command: of its processes together, and of what no process maps.
//!
//! Kernel limits are per process, so init looks every so often. The first look is cheap and counts shared
//! pages too often; only if it finds too much does an exact one follow. Between two looks a command may
//! exceed the bound for a moment. From its first look on it also has a cgroup, where one can be had; without
//! one the filter refuses what no look finds.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::statvfs;

use super::cgroup::{Cgroup, Cgroups};
use super::context::CommandContext;
use super::socket_memory;
use crate::command::HOME;
use crate::settings::Tier;

/// How soon after its start a command is looked at, and how often then.
const FIRST_LOOK: Duration = Duration::from_millis(50);
const INTERVAL: Duration = Duration::from_millis(100);

/// Looking takes at most one part in this many of a processor.
const SHARE: u32 = 20;

/// The file systems in memory that belong to one command.
const PRIVATE_FILES: [&str; 3] = ["/tmp", HOME, "/dev/shm"];

/// How `/proc` names files in memory that are in no directory, and sockets.
const MEMFD: &str = "/memfd:";
const SOCKET: &str = "socket:[";
const SHARED_ANONYMOUS: &str = "/dev/zero (deleted)";

/// A file by device and inode, with the bytes of memory that it takes.
type MemoryFiles = HashMap<(u64, u64), u64>;

pub(super) struct MemoryWatch<'a> {
    tier: Tier,
    /// Whether all sockets of its network namespace are the command's.
    has_own_network: bool,
    most_bytes: u64,
    next: Instant,
    /// Where it can get a cgroup, under which name, until it has one.
    place: Option<(&'a Cgroups, &'a str)>,
    cgroup: Option<Cgroup>,
}

impl<'a> MemoryWatch<'a> {
    pub(super) fn new(context: &'a CommandContext<'a>, most_bytes: u64) -> Self {
        Self {
            tier: context.spawner.tier,
            has_own_network: context.watches_network(),
            most_bytes,
            next: Instant::now() + FIRST_LOOK,
            place: context.spawner.cgroups.as_ref().map(|cgroups| (cgroups, context.name.as_str())),
            cgroup: None,
        }
    }

    /// In a cgroup, whether the kernel killed something is asked more often than all processes are.
    pub(super) fn next_look(&self) -> Duration {
        let left = self.next.saturating_duration_since(Instant::now());
        if self.cgroup.is_some() { left.min(INTERVAL) } else { left }
    }

    /// Whether the command has more memory than it may. Looks only when it is time to.
    pub(super) fn is_exceeded(&mut self) -> bool {
        if Instant::now() < self.next {
            return self.was_bounded_by_kernel();
        }
        // It waits for the kernel, which takes no processor.
        self.enter_cgroup();
        let began = Instant::now();
        let processes = directories(&processes(self.tier));
        let Open { files, sockets } = open_files(&processes);
        let files_bytes = files.values().sum::<u64>()
            + private_files(self.tier)
            + system_v(self.tier)
            + self.socket_bytes(&sockets);
        let mapped: u64 = processes.iter().map(|process| mapped_at_most(process)).sum();
        let exceeded = files_bytes + mapped > self.most_bytes && {
            let mapped: u64 = processes.iter().map(|process| mapped_exactly(process, &files)).sum();
            files_bytes + mapped > self.most_bytes
        };
        self.next = Instant::now() + INTERVAL.max(began.elapsed() * SHARE);
        exceeded || self.was_bounded_by_kernel()
    }

    /// Readable once the kernel finds that the command has more memory than it may.
    pub(super) fn reached(&self) -> Option<&OwnedFd> {
        self.cgroup.as_ref().and_then(Cgroup::reached)
    }

    /// Whether the kernel killed a process of the command because it had more memory than it may.
    pub(super) fn was_bounded_by_kernel(&mut self) -> bool {
        self.cgroup.as_mut().is_some_and(Cgroup::has_killed)
    }

    /// If there is none after all, the looks remain.
    fn enter_cgroup(&mut self) {
        let Some((cgroups, name)) = self.place.take() else { return };
        let entered = Cgroup::make(cgroups, name, self.most_bytes).and_then(|mut cgroup| {
            cgroup.admit(|| processes(self.tier))?;
            Ok(cgroup)
        });
        self.cgroup = entered.ok();
    }

    fn socket_bytes(&self, open: &HashSet<u64>) -> u64 {
        if open.is_empty() {
            return 0;
        }
        socket_memory::bytes_of(if self.has_own_network { None } else { Some(open) })
    }
}

fn directories(processes: &[u32]) -> Vec<PathBuf> {
    processes.iter().copied().map(directory).collect()
}

/// The command's processes.
fn processes(tier: Tier) -> Vec<u32> {
    match tier {
        Tier::A => {
            let names = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.file_name());
            let numbers = names.filter_map(|name| name.to_str()?.parse().ok());
            numbers.filter(|process: &u32| *process != 1).collect()
        }
        Tier::B => {
            let mut found = children(std::process::id());
            let mut next = 0;
            while let Some(process) = found.get(next) {
                found.extend(children(*process));
                next += 1;
            }
            found
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
    sum_of_kib(&process.join("status"), &["RssAnon:", "RssShmem:", "VmSwap:", PAGE_TABLES])
}

/// What the kernel needs to find a process's pages: as much as they are where only one in each table is used.
const PAGE_TABLES: &str = "VmPTE:";

/// The process's own part of what it shares with others, except for memory that was counted as a file.
fn mapped_exactly(process: &Path, counted: &MemoryFiles) -> u64 {
    let own = sum_of_kib(&process.join("smaps_rollup"), &["Pss_Anon:", "SwapPss:"])
        + sum_of_kib(&process.join("status"), &[PAGE_TABLES]);
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

/// The open files in memory, whether or not a process maps them, and sockets by inode.
#[derive(Default)]
struct Open {
    files: MemoryFiles,
    sockets: HashSet<u64>,
}

fn open_files(processes: &[PathBuf]) -> Open {
    let mut found = Open::default();
    for process in processes {
        for descriptor in fs::read_dir(process.join("fd")).into_iter().flatten().flatten() {
            let path = descriptor.path();
            let Ok(target) = fs::read_link(&path) else { continue };
            let target = target.to_string_lossy();
            if let Some(inode) = target.strip_prefix(SOCKET) {
                found.sockets.extend(inode.trim_end_matches(']').parse::<u64>());
            } else if target.starts_with(MEMFD)
                && let Ok(file) = path.metadata()
            {
                found.files.insert((file.dev(), file.ino()), file.blocks() * 512);
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

/// What exists of System V without a process: shared memory, semaphores and messages; tier B has none.
fn system_v(tier: Tier) -> u64 {
    if tier == Tier::B {
        return 0;
    }
    // Of shared memory, the last two columns are the bytes in memory and in swap.
    table("shm", |columns| columns.iter().skip(14).sum())
        + table("sem", |columns| columns.get(3).unwrap_or(&0) * BYTES_PER_ITEM)
        + table("msg", |columns| columns.get(3).unwrap_or(&0) + columns.get(4).unwrap_or(&0) * BYTES_PER_ITEM)
}

/// What the kernel takes for a semaphore, and for a message besides its content.
const BYTES_PER_ITEM: u64 = 64;

fn table(name: &str, bytes: impl Fn(&[u64]) -> u64) -> u64 {
    let table = fs::read_to_string(Path::new("/proc/sysvipc").join(name)).unwrap_or_default();
    let columns = |line: &str| -> Vec<u64> {
        line.split_ascii_whitespace().map(|column| column.parse().unwrap_or(0)).collect()
    };
    table.lines().skip(1).map(|line| bytes(&columns(line))).sum()
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
