//! One hash of all programs and scripts below the roots, by what the kernel says about each: any write to a
//! file changes the time of its last change, which no command can set.

use std::ffi::OsStr;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use files::roots::{Roots, names, open_child_directory, open_child_file};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use protocol::hash::in_hex;
use protocol::{ErrorCode, ToolError};
use rustix::fs::{AtFlags, Stat, readlinkat, statat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::names_in;
use crate::entry_type::EntryType;

/// How long reading all of the roots may take.
const WITHIN: Duration = Duration::from_secs(30);

/// How deep directories may lie within one another.
const MAX_DEPTH: usize = 1000;

/// Within so short a time, the kernel may give two changes the same time.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// Files with these extensions hold no code, unless their first bytes or their mode say so.
const DATA: [&str; 22] = [
    "csv", "gif", "gz", "ico", "jpeg", "jpg", "log", "md", "mp3", "mp4", "ogg", "pdf", "png", "rst", "svg",
    "tar", "tsv", "txt", "wav", "webp", "xz", "zip",
];

/// Names that are read by programs, whatever their extension says.
const CODE: [&str; 2] = ["CMakeLists.txt", "requirements.txt"];

/// The state of all programs and scripts, and of all files whose names match a pattern.
///
/// # Errors
/// If not all of them can be looked at; then nothing can be bound to them.
pub(crate) fn tree_state(roots: &Roots, patterns: &[String]) -> Result<String, ToolError> {
    let patterns = glob_set(patterns);
    let deadline = Instant::now() + WITHIN;
    loop {
        let mut walk = Walk { patterns: &patterns, deadline, hash: Sha256::new(), newest: UNIX_EPOCH };
        for root in roots.paths() {
            let opened = roots.open_directory(&names::path_to_text(root))?;
            walk.root(opened.handle, root)?;
        }
        // A file that has only just changed could change once more unnoticed.
        let Ok(age) = SystemTime::now().duration_since(walk.newest) else { return Ok(walk.end()) };
        match CLOCK_TICK.checked_sub(age) {
            Some(left) if !left.is_zero() => std::thread::sleep(left),
            _ => return Ok(walk.end()),
        }
    }
}

fn glob_set(patterns: &[String]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        if let Ok(glob) = GlobBuilder::new(pattern).build() {
            set.add(glob);
        }
    }
    set.build().unwrap_or_default()
}

struct Walk<'p> {
    patterns: &'p GlobSet,
    deadline: Instant,
    hash: Sha256,
    /// The time of the newest change.
    newest: SystemTime,
}

/// A directory that is still to be read.
struct Open {
    parent: Arc<OwnedFd>,
    name: Vec<u8>,
    path: Vec<u8>,
    depth: usize,
}

impl Walk<'_> {
    fn root(&mut self, handle: OwnedFd, path: &Path) -> Result<(), ToolError> {
        let path = [path.as_os_str().as_bytes(), b"/"].concat();
        let mut open = Vec::new();
        self.directory(handle, &path, 0, &mut open)?;
        while let Some(Open { parent, name, path, depth }) = open.pop() {
            if Instant::now() >= self.deadline || depth > MAX_DEPTH {
                return Err(not_looked_at(&path, "there is too much below it"));
            }
            match open_child_directory(parent.as_fd(), OsStr::from_bytes(&name)) {
                Ok(handle) => self.directory(handle, &path, depth, &mut open)?,
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => self.note(&path, "gone"),
                // Nor can a command look into it, or change its content, if another user has closed it.
                Err(Errno::ACCESS) if !is_ours(&parent, &name) => self.note(&path, "closed"),
                Err(errno) => return Err(not_looked_at(&path, &errno.to_string())),
            }
        }
        Ok(())
    }

    fn directory(
        &mut self,
        handle: OwnedFd,
        path: &[u8],
        depth: usize,
        open: &mut Vec<Open>,
    ) -> Result<(), ToolError> {
        let handle = Arc::new(handle);
        let all = names_in(&handle).map_err(|errno| not_looked_at(path, &errno.to_string()))?;
        for name in all {
            let entry_path = [path, &name].concat();
            let Ok(stat) = statat(&handle, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) else {
                self.note(&entry_path, "gone");
                continue;
            };
            match EntryType::of(&stat) {
                // What git keeps there is only ever read as data.
                EntryType::Dir if name == b"objects" && path.ends_with(b".git/") => {}
                EntryType::Dir => {
                    let path = [entry_path.as_slice(), b"/"].concat();
                    open.push(Open { parent: Arc::clone(&handle), name, path, depth: depth + 1 });
                }
                EntryType::Symlink => {
                    let target = readlinkat(&handle, name.as_slice(), Vec::new()).unwrap_or_default();
                    self.note(&entry_path, &format!("link {:?}", target.as_bytes()));
                }
                EntryType::File if self.is_code(&handle, &name, &stat) => self.file(&entry_path, &stat),
                EntryType::File | EntryType::Other => {}
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &[u8], stat: &Stat) {
        let Stat { st_mode, st_ino, st_size, st_ctime, st_ctime_nsec, .. } = stat;
        self.note(path, &format!("{st_mode} {st_ino} {st_size} {st_ctime} {st_ctime_nsec}"));
        let seconds = Duration::from_secs(u64::try_from(*st_ctime).unwrap_or_default());
        let more = Duration::from_nanos(*st_ctime_nsec);
        self.newest = self.newest.max(UNIX_EPOCH + seconds + more);
    }

    fn note(&mut self, path: &[u8], what: &str) {
        for part in [path, b"\0", what.as_bytes(), b"\n"] {
            self.hash.update(part);
        }
    }

    /// Whether a program could run what a file holds.
    fn is_code(&self, directory: &OwnedFd, name: &[u8], stat: &Stat) -> bool {
        let path = Path::new(OsStr::from_bytes(name));
        let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
        stat.st_mode & 0o111 != 0
            || !DATA.contains(&extension.as_str())
            || CODE.iter().any(|code| code.as_bytes() == name)
            || self.patterns.is_match(path)
            || begins_as_script(directory, path)
    }

    fn end(self) -> String {
        in_hex(&self.hash.finalize())
    }
}

fn begins_as_script(directory: &OwnedFd, name: &Path) -> bool {
    let mut first = [0; 2];
    let opened = open_child_file(directory.as_fd(), name).map(std::fs::File::from);
    opened.is_ok_and(|mut file| file.read_exact(&mut first).is_ok()) && first == *b"#!"
}

fn is_ours(parent: &OwnedFd, name: &[u8]) -> bool {
    let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| stat.st_uid == rustix::process::geteuid().as_raw())
}

fn not_looked_at(path: &[u8], why: &str) -> ToolError {
    let path = names::quoted(&names::to_text(path));
    let message = format!(
        "A person cannot be asked: which files the command line runs cannot be known from it, and {path} \
         cannot be looked at ({why})."
    );
    ToolError::new(ErrorCode::IoError, message)
        .with_hint("Name the files that the line uses, or make the directory readable.")
}
