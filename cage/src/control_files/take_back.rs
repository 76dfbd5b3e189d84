//! Takes hazards back: moves them to the quarantine, or cuts them out of the file that they are a part of.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Gid, Mode, OFlags, Stat, Uid, fchmod, fchown, fstat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::git_config::{GitConfig, Setting};
use super::hazard::{Hazard, What};
use super::packed_refs;
use super::quarantine::Quarantine;
use super::rebase;
use super::tree::{Tree, allow_owner};

/// Something that a command left behind for other programs to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBehind {
    /// The absolute path where it was.
    pub(crate) path: PathBuf,
    /// What runs it, in words.
    pub(crate) why: String,
    /// Whether it is gone from there.
    pub(crate) taken_back: bool,
}

/// Takes these hazards back, each with its reason. The second list is what could not be taken back.
pub(super) fn take_back(
    tree: &Tree,
    quarantine: &Quarantine,
    call: &str,
    hazards: &BTreeMap<Hazard, String>,
) -> (Vec<LeftBehind>, Vec<Hazard>) {
    let (mut left, mut stuck) = (Vec::new(), Vec::new());
    let mut moved: Option<(usize, PathBuf)> = None;
    let mut rewritten: BTreeMap<(usize, &Path), bool> = BTreeMap::new();
    // In this order a directory comes before its entries.
    for (hazard, why) in hazards {
        let place = (hazard.root, hazard.path.as_path());
        if moved.as_ref().is_some_and(|(root, path)| *root == hazard.root && hazard.path.starts_with(path)) {
            continue;
        }
        let taken_back = if hazard.is_part_of_file() {
            *rewritten.entry(place).or_insert_with(|| {
                let all: Vec<&Hazard> =
                    hazards.keys().filter(|other| (other.root, other.path.as_path()) == place).collect();
                report(tree, hazard, rewrite(tree, quarantine, call, hazard, &all))
            })
        } else {
            let done = report(tree, hazard, take(tree, quarantine, call, hazard));
            if done {
                moved = Some((hazard.root, hazard.path.clone()));
            }
            done
        };
        if !taken_back {
            stuck.push(hazard.clone());
        }
        let path = tree.absolute(hazard.root, &hazard.path);
        left.push(LeftBehind { path, why: why.clone(), taken_back });
    }
    (left, stuck)
}

fn report(tree: &Tree, hazard: &Hazard, taken: io::Result<()>) -> bool {
    match taken {
        Ok(()) => true,
        // It is gone already.
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => {
            let path = tree.absolute(hazard.root, &hazard.path);
            tracing::error!(path = %path.display(), %error, "could not take back a control file");
            false
        }
    }
}

fn take(tree: &Tree, quarantine: &Quarantine, call: &str, hazard: &Hazard) -> io::Result<()> {
    let (parent, name) = parent_of(tree, hazard)?;
    match quarantine.take(call, &hazard.path, parent.as_fd(), &name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            allow_owner(&parent);
            // Moving a directory writes to it, too.
            if let Ok(entry) = tree.open_entry(hazard.root, &hazard.path, OFlags::PATH) {
                allow_owner(&entry);
            }
            quarantine.take(call, &hazard.path, parent.as_fd(), &name)
        }
        taken => taken,
    }
}

fn parent_of(tree: &Tree, hazard: &Hazard) -> Result<(OwnedFd, OsString), Errno> {
    let name = hazard.path.file_name().ok_or(Errno::INVAL)?.to_owned();
    let parent = tree.open_directory(hazard.root, hazard.path.parent().unwrap_or(Path::new("")))?;
    Ok((parent, name))
}

/// Replaces a file by its harmless part, and keeps the original.
fn rewrite(
    tree: &Tree,
    quarantine: &Quarantine,
    call: &str,
    hazard: &Hazard,
    unwanted: &[&Hazard],
) -> io::Result<()> {
    let file = tree.open_entry(hazard.root, &hazard.path, OFlags::RDONLY)?;
    let stat = fstat(&file)?;
    let bytes = tree.read(hazard.root, &hazard.path)?;
    let harmless = match hazard.what {
        What::RebaseCommands(_) => rebase::harmless(&bytes),
        What::ForbiddenRefs(_) => packed_refs::harmless(&bytes),
        _ => harmless_config(&bytes, unwanted),
    };
    quarantine.keep(call, &hazard.path, &bytes)?;
    let (parent, name) = parent_of(tree, hazard)?;
    let temporary = OsString::from(format!("autonous-{call}"));
    match replace(&parent, &temporary, &name, &harmless, &stat) {
        Err(Errno::ACCESS | Errno::PERM) => {
            allow_owner(&parent);
            Ok(replace(&parent, &temporary, &name, &harmless, &stat)?)
        }
        replaced => Ok(replaced?),
    }
}

/// The config without these settings; empty if the rest is something else then.
fn harmless_config(bytes: &[u8], unwanted: &[&Hazard]) -> Vec<u8> {
    let is_unwanted = |setting: &Setting| {
        unwanted.iter().any(|hazard| matches!(&hazard.what, What::Setting(other) if other == setting))
    };
    let config = GitConfig::parse(bytes);
    let kept = config.without(bytes, is_unwanted);
    let left = GitConfig::parse(&kept);
    let wanted = config.settings.iter().map(|(setting, _)| setting).filter(|setting| !is_unwanted(setting));
    if left.broken_at.is_none() && left.settings.iter().map(|(setting, _)| setting).eq(wanted) {
        kept
    } else {
        Vec::new()
    }
}

fn replace(
    parent: &OwnedFd,
    temporary: &OsString,
    name: &OsString,
    content: &[u8],
    stat: &Stat,
) -> Result<(), Errno> {
    let _ = unlinkat(parent, temporary, rustix::fs::AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(parent, temporary, flags, Mode::from_raw_mode(0o600))?;
    // Only root can give a file away, and only root needs to.
    let _ = fchown(&file, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
    fchmod(&file, Mode::from_raw_mode(stat.st_mode & 0o777))?;
    let mut file = File::from(file);
    file.write_all(content).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    renameat(parent, temporary, parent, name)
}
