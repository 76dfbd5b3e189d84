//! The memory cgroup of a command, where this process may make one: the kernel then counts all that the
//! command has in memory, also what no process maps and what the kernel keeps for it.
//!
//! Moving a process into a cgroup takes the kernel up to 20 ms, so a command gets one only when it has run
//! for a moment. Init stays outside, so that it can always say what happened. At the bound the kernel kills
//! one process; init learns of it before that and ends all others.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, open, openat, unlinkat};
use rustix::process::getuid;

/// What the directory of a server is called, with its process ID.
const PREFIX: &str = "autonous-";

/// Where all other processes of a delegated cgroup go: one with children of its own may have none.
const REST: &str = "autonous-rest";

/// How often we look for processes that are not in there yet.
const MAX_PASSES: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// The directory in which each command gets a cgroup.
#[derive(Debug)]
pub(super) struct Cgroups {
    parent: OwnedFd,
    name: String,
    handle: OwnedFd,
    version: Version,
}

/// The cgroup of one command.
#[derive(Debug)]
pub(super) struct Cgroup {
    processes: File,
    kills: File,
    /// Readable once the bound is reached, before the kernel kills. Version 2 needs none: it kills all.
    reached: Option<OwnedFd>,
}

impl Cgroups {
    /// A new directory in the first place where one can be made; none on a machine that lets us nowhere.
    pub(super) fn make() -> Option<Self> {
        places().into_iter().find_map(|place| Self::make_in(&place).ok())
    }

    fn make_in(place: &Place) -> io::Result<Self> {
        if let Some(crowded) = &place.crowded {
            clear(crowded)?;
        }
        let parent = directory(&place.path)?;
        sweep(&place.path, parent.as_fd());
        let name = format!("{PREFIX}{}", std::process::id());
        mkdirat(&parent, &name, Mode::from_raw_mode(0o755))?;
        let handle = openat(&parent, &name, DIRECTORY, Mode::empty())?;
        let cgroups = Self { parent, name, handle, version: place.version };
        if place.version == Version::Two {
            write_at(cgroups.handle.as_fd(), "cgroup.subtree_control", "+memory")?;
        }
        // It is of no use unless commands can have one.
        let tried = Cgroup::make(&cgroups, "trial", 1 << 30).map(drop);
        cgroups.remove("trial");
        tried.map(|()| cgroups)
    }

    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Removes that of a command that has ended.
    pub(super) fn remove(&self, name: &str) {
        let _ = unlinkat(&self.handle, name, AtFlags::REMOVEDIR);
    }
}

impl Drop for Cgroups {
    fn drop(&mut self) {
        let _ = unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
    }
}

impl Cgroup {
    /// Makes one with this bound.
    pub(super) fn make(cgroups: &Cgroups, name: &str, most_bytes: u64) -> io::Result<Self> {
        mkdirat(&cgroups.handle, name, Mode::from_raw_mode(0o755))?;
        let handle = openat(&cgroups.handle, name, DIRECTORY, Mode::empty())?;
        let (bound, others, kills) = match cgroups.version {
            Version::One => (
                "memory.limit_in_bytes",
                [("memory.memsw.limit_in_bytes", most_bytes), ("memory.kmem.tcp.limit_in_bytes", most_bytes)],
                "memory.oom_control",
            ),
            Version::Two => {
                ("memory.max", [("memory.swap.max", 0), ("memory.oom.group", 1)], "memory.events")
            }
        };
        write_at(handle.as_fd(), bound, &most_bytes.to_string())?;
        for (file, value) in others {
            // Not every kernel has these.
            let _ = write_at(handle.as_fd(), file, &value.to_string());
        }
        let file = |name: &str, flags| openat(&handle, name, flags | OFlags::CLOEXEC, Mode::empty());
        let processes = file("cgroup.procs", OFlags::RDWR)?.into();
        let kills = file(kills, OFlags::RDONLY)?;
        let reached = match cgroups.version {
            Version::One => Some(notice(handle.as_fd(), &kills)?),
            Version::Two => None,
        };
        Ok(Self { processes, kills: kills.into(), reached })
    }

    /// Readable once the bound is reached.
    pub(super) fn reached(&self) -> Option<&OwnedFd> {
        self.reached.as_ref()
    }

    /// Moves the command in, whose processes `list` finds. What they fork afterwards is in there too.
    pub(super) fn admit(&mut self, list: impl Fn() -> Vec<u32>) -> io::Result<()> {
        let mut inside = Vec::new();
        for _ in 0..MAX_PASSES {
            let outside: Vec<u32> = list().into_iter().filter(|process| !inside.contains(process)).collect();
            if outside.is_empty() {
                break;
            }
            for process in outside {
                // It may have ended.
                let _ = self.processes.write_all(process.to_string().as_bytes());
            }
            self.processes.rewind()?;
            let mut text = String::new();
            self.processes.read_to_string(&mut text)?;
            inside = text.lines().filter_map(|line| line.parse().ok()).collect();
        }
        Ok(())
    }

    /// Whether the kernel kills, or killed, a process because of the bound.
    pub(super) fn has_killed(&mut self) -> bool {
        if self.reached.as_ref().is_some_and(|reached| rustix::io::read(reached, &mut [0_u8; 8]).is_ok()) {
            return true;
        }
        let mut text = String::new();
        let read = self.kills.rewind().and_then(|()| self.kills.read_to_string(&mut text));
        read.is_ok()
            && text.lines().filter_map(|line| line.strip_prefix("oom_kill ")).any(|count| count != "0")
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A descriptor that the kernel makes readable when a cgroup of the first version reaches its bound.
fn notice(cgroup: BorrowedFd<'_>, control: &OwnedFd) -> io::Result<OwnedFd> {
    let reached = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let order = format!("{} {}", reached.as_raw_fd(), control.as_raw_fd());
    write_at(cgroup, "cgroup.event_control", &order)?;
    Ok(reached)
}

fn directory(path: &Path) -> io::Result<OwnedFd> {
    Ok(open(path, DIRECTORY, Mode::empty())?)
}

fn write_at(directory: BorrowedFd<'_>, name: &str, value: &str) -> io::Result<()> {
    let file = openat(directory, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    File::from(file).write_all(value.as_bytes())
}

/// A directory in which a server's may be made.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    path: PathBuf,
    version: Version,
    /// The cgroup whose processes must make room first.
    crowded: Option<PathBuf>,
}

fn places() -> Vec<Place> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let is_root = getuid().is_root();
    let is_delegated = |path: &Path| {
        let marks = ["user.delegate", "trusted.delegate"];
        marks.iter().any(|mark| {
            let mut value = [0_u8; 8];
            rustix::fs::getxattr(path, *mark, &mut value).is_ok_and(|length| value[..length] == *b"1")
        })
    };
    places_of(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"), is_root, &is_delegated)
}

/// The cgroup that was delegated to us; for root also the top of the second version, and its own of the
/// first.
fn places_of(mounts: &str, own: &str, is_root: bool, is_delegated: &dyn Fn(&Path) -> bool) -> Vec<Place> {
    let mut places = Vec::new();
    for mount in mounts.lines().filter_map(Mount::parse) {
        let Some(own) = own.lines().find_map(|line| mount.own(line)) else { continue };
        if mount.version == Version::One {
            places.extend(is_root.then_some(Place { path: own, version: Version::One, crowded: None }));
            continue;
        }
        // A server that was started again finds itself where the first one put it.
        let rest = own.file_name() == Some(OsStr::new(REST));
        let base = if rest { own.parent().unwrap_or(&own).to_owned() } else { own };
        if is_delegated(&base) {
            places.push(Place { crowded: Some(base.clone()), path: base, version: Version::Two });
        }
        let top = Place { path: mount.point, version: Version::Two, crowded: None };
        places.extend(is_root.then_some(top));
    }
    places
}

struct Mount {
    root: PathBuf,
    point: PathBuf,
    version: Version,
}

impl Mount {
    fn parse(line: &str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let left: Vec<&str> = left.split(' ').collect();
        let right: Vec<&str> = right.split(' ').collect();
        let version = match *right.first()? {
            "cgroup2" => Version::Two,
            "cgroup" if right.last()?.split(',').any(|option| option == "memory") => Version::One,
            _ => return None,
        };
        Some(Self { root: left.get(3)?.into(), point: left.get(4)?.into(), version })
    }

    /// Our own cgroup in it, from a line of `/proc/self/cgroup`.
    fn own(&self, line: &str) -> Option<PathBuf> {
        let [_, controllers, path] = *line.splitn(3, ':').collect::<Vec<_>>() else { return None };
        let is_this = match self.version {
            Version::One => controllers.split(',').any(|controller| controller == "memory"),
            Version::Two => controllers.is_empty(),
        };
        let beneath = Path::new(path).strip_prefix(&self.root).ok()?;
        is_this.then(|| self.point.join(beneath).components().collect())
    }
}

/// Moves the processes of a cgroup into one below, so that it can have cgroups for commands.
fn clear(crowded: &Path) -> io::Result<()> {
    let handle = directory(crowded)?;
    let _ = mkdirat(&handle, REST, Mode::from_raw_mode(0o755));
    let rest = openat(&handle, REST, DIRECTORY, Mode::empty())?;
    let mut enabled = Ok(());
    for _ in 0..MAX_PASSES {
        for process in fs::read_to_string(crowded.join("cgroup.procs"))?.lines() {
            write_at(rest.as_fd(), "cgroup.procs", process)?;
        }
        enabled = write_at(handle.as_fd(), "cgroup.subtree_control", "+memory");
        if enabled.is_ok() {
            break;
        }
    }
    enabled
}

/// Removes what servers left that are gone.
fn sweep(path: &Path, parent: BorrowedFd<'_>) {
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        let is_gone = |process: u32| !Path::new("/proc").join(process.to_string()).exists();
        if process.is_some_and(is_gone) {
            for command in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
                let _ = fs::remove_dir(command.path());
            }
            let _ = unlinkat(parent, &name, AtFlags::REMOVEDIR);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory";
    const SECOND: &str = "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate";

    fn check(mounts: &str, own: &str, is_root: bool, delegated: &str, expected: &[(&str, Version, bool)]) {
        let is_delegated = |path: &Path| path == Path::new(delegated);
        let places = places_of(mounts, own, is_root, &is_delegated);
        let found: Vec<_> = places
            .iter()
            .map(|place| (place.path.to_str().unwrap(), place.version, place.crowded.is_some()))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_place_is_found_where_one_may_be_made() {
        let unit = "0::/system.slice/autonous.service";
        let of_unit = "/sys/fs/cgroup/system.slice/autonous.service";
        check(SECOND, unit, false, "", &[]);
        check(SECOND, unit, false, of_unit, &[(of_unit, Version::Two, true)]);
        check(SECOND, &format!("{unit}/autonous-rest"), false, of_unit, &[(of_unit, Version::Two, true)]);
        check(SECOND, unit, true, "", &[("/sys/fs/cgroup", Version::Two, false)]);
        let both = format!("{FIRST}\n{}", SECOND.replace("/sys/fs/cgroup ", "/sys/fs/cgroup/unified "));
        let own = "4:memory:/a\n3:cpu:/b\n0::/";
        let first = ("/sys/fs/cgroup/memory/a", Version::One, false);
        check(&both, own, true, "", &[first, ("/sys/fs/cgroup/unified", Version::Two, false)]);
        check(&both, own, false, "", &[]);
        // In a container, a part of the hierarchy is mounted.
        let part = FIRST.replace("0:32 / ", "0:32 /docker/1 ");
        check(&part, "4:memory:/docker/1", true, "", &[("/sys/fs/cgroup/memory", Version::One, false)]);
    }
}
