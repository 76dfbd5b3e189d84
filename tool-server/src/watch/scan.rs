//! Scans the roots for denied names and control files, before a command and after it.
//!
//! A scan is bounded, breadth first, follows no link and opens everything below the roots' handles. The
//! difference between the two scans is what the command left for other programs to run. Each directory is
//! remembered, and only changed ones are read again.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, openat2, statat};
use sandbox::{Cover, CoverKind};

use crate::control_files::ControlFiles;
use crate::roots::{DeniedPaths, Roots};

/// How many entries of the roots are read; about 100 ms with an empty cache.
const MAX_ENTRIES: usize = 100_000;

/// How many created control files are reported.
const MAX_REPORTED: usize = 64;

/// A directory that changed this recently may change again within the same tick of the file system's
/// clock, which its change time would not show.
const CLOCK_TICK: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Hidden from commands.
    Denied,
    /// A git repository's `.git` directory, or the file that points to it.
    Repository,
    /// A control file, or a directory of them.
    Control,
    /// A file in a directory of control files.
    InsideControl,
}

/// Device, inode and change time: tells a file from another one at the same path.
type Identity = (u64, u64, i64, u64);

#[derive(Debug)]
struct Match {
    /// The index of its root.
    root: usize,
    /// Below the root.
    path: PathBuf,
    kind: Kind,
    identity: Identity,
    /// A link has no content to protect.
    is_link: bool,
}

/// What one scan found.
#[derive(Debug)]
pub(crate) struct Scan {
    /// Shallow ones first.
    matches: Vec<Match>,
    /// Whether everything was read.
    pub(crate) complete: bool,
}

/// Scans the roots, and remembers their directories as they were last read.
#[derive(Debug)]
pub(crate) struct Scanner {
    roots: Arc<Roots>,
    cache: Mutex<Cache>,
}

type Cache = HashMap<(usize, PathBuf), Directory>;

#[derive(Debug)]
struct Directory {
    /// None if it may have changed unnoticed while it was read.
    identity: Option<Identity>,
    entries: usize,
    subdirectories: Vec<PathBuf>,
    matches: Vec<(PathBuf, Kind)>,
}

impl Scanner {
    pub(crate) fn new(roots: Arc<Roots>) -> Self {
        Self { roots, cache: Mutex::default() }
    }

    pub(crate) fn scan(&self) -> Scan {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scan = Scan { matches: Vec::new(), complete: true };
        let mut left = MAX_ENTRIES;
        let mut seen = HashMap::with_capacity(cache.len());
        let handles: Vec<BorrowedFd<'_>> = self.roots.handles().map(|(_, handle)| handle).collect();
        let mut queue: VecDeque<(usize, PathBuf)> =
            (0..handles.len()).map(|root| (root, PathBuf::from("."))).collect();
        while let Some((root, path)) = queue.pop_front() {
            let key = (root, path);
            let Some(directory) = self.directory(&mut cache, handles[root], &key, left) else { continue };
            if directory.entries > left {
                scan.complete = false;
                break;
            }
            left -= directory.entries;
            for (path, kind) in &directory.matches {
                scan.add(handles[root], root, path, *kind);
            }
            queue.extend(directory.subdirectories.iter().map(|path| (root, path.clone())));
            seen.insert(key, directory);
        }
        *cache = seen;
        scan
    }

    /// A directory, read again only if it changed; none if it cannot be read.
    fn directory(
        &self,
        cache: &mut Cache,
        handle: BorrowedFd<'_>,
        key: &(usize, PathBuf),
        left: usize,
    ) -> Option<Directory> {
        let identity = identity(&statat(handle, &key.1, AtFlags::SYMLINK_NOFOLLOW).ok()?);
        match cache.remove(key) {
            Some(directory) if directory.identity == Some(identity) => Some(directory),
            _ => {
                let mut directory = read(&self.roots, handle, &key.1, left)?;
                directory.identity = has_settled(identity).then_some(identity);
                Some(directory)
            }
        }
    }

    /// What to hide from a command, and what to protect.
    pub(crate) fn covers(&self, scan: &Scan) -> Vec<Cover> {
        let paths: Vec<&Path> = self.roots.paths().collect();
        let cover = |item: &Match| {
            let kind = match item.kind {
                Kind::Denied => CoverKind::Hide,
                Kind::Repository => CoverKind::Pin,
                Kind::Control => CoverKind::ReadOnly,
                Kind::InsideControl => return None,
            };
            let (device, inode, ..) = item.identity;
            Some(Cover { path: paths[item.root].join(&item.path), device, inode, kind })
        };
        scan.matches.iter().filter(|item| !item.is_link).filter_map(cover).collect()
    }

    /// Absolute paths of the control files that the second scan found and the first did not.
    ///
    /// A repository that did not exist before is the command's own work, with everything in it.
    pub(crate) fn created(&self, before: &Scan, after: &Scan) -> Vec<PathBuf> {
        let known: HashMap<(usize, &Path), Identity> =
            before.matches.iter().map(|item| ((item.root, item.path.as_path()), item.identity)).collect();
        let is_new = |item: &Match| known.get(&(item.root, &item.path)) != Some(&item.identity);
        let in_own_repository = |item: &Match| {
            item.path.ancestors().any(|ancestor| {
                ancestor.file_name().is_some_and(is_repository) && !known.contains_key(&(item.root, ancestor))
            })
        };
        let paths: Vec<&Path> = self.roots.paths().collect();
        let mut created: Vec<PathBuf> = after
            .matches
            .iter()
            .filter(|item| item.kind != Kind::Denied && is_new(item) && !in_own_repository(item))
            .map(|item| paths[item.root].join(&item.path))
            .collect();
        created.sort();
        created.dedup_by(|later, earlier| later.starts_with(&*earlier));
        created.truncate(MAX_REPORTED);
        created
    }
}

/// Reads a directory, up to one entry more than `left`.
fn read(roots: &Roots, root: BorrowedFd<'_>, path: &Path, left: usize) -> Option<Directory> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let opened = openat2(root, path, flags, Mode::empty(), beneath).ok()?;
    let path = path.strip_prefix(".").unwrap_or(path);
    let inside_control = roots.control_files().covers(path);
    let mut directory =
        Directory { identity: None, entries: 0, subdirectories: Vec::new(), matches: Vec::new() };
    for entry in Dir::read_from(&opened).ok()?.flatten() {
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        directory.entries += 1;
        if directory.entries > left {
            break;
        }
        let path = path.join(OsStr::from_bytes(name));
        let kind = kind(roots.denied(), roots.control_files(), &path, inside_control);
        if is_directory(entry.file_type(), &opened, name) && worth_entering(&path, kind) {
            directory.subdirectories.push(path.clone());
        }
        directory.matches.extend(kind.map(|kind| (path, kind)));
    }
    Some(directory)
}

/// Whether and why a path matches, by its name and its directory.
fn kind(
    denied: &DeniedPaths,
    control_files: &ControlFiles,
    path: &Path,
    inside_control: bool,
) -> Option<Kind> {
    if denied.covers_entry(path) {
        Some(Kind::Denied)
    } else if control_files.names_entry(path) {
        Some(Kind::Control)
    } else if inside_control {
        Some(Kind::InsideControl)
    } else if path.file_name().is_some_and(is_repository) {
        Some(Kind::Repository)
    } else {
        None
    }
}

fn is_repository(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Inside a repository we enter only the submodules' repositories: there are many objects and references.
fn worth_entering(path: &Path, kind: Option<Kind>) -> bool {
    let mut parts = path.components().map(std::path::Component::as_os_str);
    match kind {
        Some(Kind::Denied) => false,
        Some(Kind::Repository | Kind::Control | Kind::InsideControl) => true,
        None => match parts.by_ref().find(|part| is_repository(part)) {
            None => true,
            Some(_) => {
                let last = path.file_name().unwrap_or_default();
                parts.next().is_some_and(|part| part == "modules")
                    && !["objects", "refs", "logs"].iter().any(|name| last == *name)
            }
        },
    }
}

fn is_directory(known: FileType, directory: &impl AsFd, name: &[u8]) -> bool {
    match known {
        FileType::Unknown => statat(directory, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir()),
        known => known.is_dir(),
    }
}

fn identity(stat: &Stat) -> Identity {
    (stat.st_dev, stat.st_ino, stat.st_ctime, stat.st_ctime_nsec)
}

fn has_settled(identity: Identity) -> bool {
    let (_, _, seconds, nanoseconds) = identity;
    let changed = Duration::from_secs(seconds.try_into().unwrap_or(0)) + Duration::from_nanos(nanoseconds);
    SystemTime::now().duration_since(UNIX_EPOCH + changed).is_ok_and(|age| age > CLOCK_TICK)
}

impl Scan {
    fn add(&mut self, handle: BorrowedFd<'_>, root: usize, path: &Path, kind: Kind) {
        let Ok(stat) = statat(handle, path, AtFlags::SYMLINK_NOFOLLOW) else { return };
        let whole = identity(&stat);
        let file_type = FileType::from_raw_mode(stat.st_mode);
        // A directory changes with every entry; its entries match by themselves.
        let identity = if file_type.is_dir() { (whole.0, whole.1, 0, 0) } else { whole };
        let is_link = file_type.is_symlink();
        self.matches.push(Match { root, path: path.to_owned(), kind, identity, is_link });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPOSITORY: &str =
        "git init -q . && git -c user.email=a@b.c -c user.name=n commit -q --allow-empty -m m";

    struct Fixture {
        directory: tempfile::TempDir,
        scanner: Scanner,
    }

    impl Fixture {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let denied = DeniedPaths::new([".env", ".ssh/"]).unwrap();
            let control_files =
                ControlFiles::new([".git/hooks", ".git/config", ".envrc", ".vscode", ".claude", ".codex"]);
            let roots = Roots::open(&[directory.path().to_owned()], denied, control_files, |_| None).unwrap();
            Self { directory, scanner: Scanner::new(Arc::new(roots)) }
        }

        fn shell(&self, script: &str) {
            let mut shell = std::process::Command::new("bash");
            shell.args(["-c", script]).current_dir(&self.directory).env("HOME", self.directory.path());
            assert!(shell.status().unwrap().success(), "{script}");
        }

        /// The control files that this script creates, relative to the root.
        fn created_by(&self, script: &str) -> Vec<String> {
            let before = self.scanner.scan();
            self.shell(script);
            let after = self.scanner.scan();
            assert!(before.complete && after.complete);
            self.relative(self.scanner.created(&before, &after).iter())
        }

        fn relative<'a>(&self, paths: impl Iterator<Item = &'a PathBuf>) -> Vec<String> {
            let root = self.directory.path().canonicalize().unwrap();
            paths.map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect()
        }

        fn covers(&self, kind: CoverKind) -> Vec<String> {
            let covers = self.scanner.covers(&self.scanner.scan());
            let mut paths =
                self.relative(covers.iter().filter(|cover| cover.kind == kind).map(|cover| &cover.path));
            paths.sort();
            paths
        }
    }

    #[test]
    fn a_new_control_file_is_found() {
        for (script, expected) in [
            ("mkdir a && echo x > a/.envrc", &["a/.envrc"][..]),
            ("ln -s decoy .codex && mkdir decoy && echo x > .codex/config.toml", &[".codex"]),
            ("mkdir -p .Claude && echo x > .Claude/settings.json", &[".Claude"]),
            ("git init -q new && git -C new config core.fsmonitor x && touch new/.git/hooks/pre-commit", &[]),
            ("echo x > ordinary", &[]),
        ] {
            assert_eq!(Fixture::new().created_by(script), expected, "{script}");
        }
    }

    #[test]
    fn a_replaced_redirected_or_changed_repository_is_found() {
        let fixture = Fixture::new();
        fixture.shell(&format!("{REPOSITORY}; mkdir sub && cd sub && {REPOSITORY}"));
        let found = fixture.created_by("mv sub old; cp -r old sub; echo x > sub/.git/hooks/pre-commit");
        assert!(found.iter().any(|path| path.starts_with("sub/.git")), "{found:?}");
        assert_eq!(fixture.created_by("cp -r .git evil; echo ../evil > .git/commondir"), [".git/commondir"]);
        let changed = "echo x > .git/hooks/pre-commit; echo >> .git/config";
        assert_eq!(fixture.created_by(changed), [".git/config", ".git/hooks/pre-commit"]);
        let work = "echo x > f && git add f && git gc -q && \
             git -c user.email=a@b.c -c user.name=n commit -qm two";
        assert_eq!(fixture.created_by(work), [""; 0]);
    }

    #[test]
    fn denied_names_are_hidden_and_control_files_are_protected() {
        let fixture = Fixture::new();
        fixture.shell(&format!(
            "{REPOSITORY}; mkdir -p sub/.ssh .git/modules/lib/hooks link; \
             echo KEY | tee sub/.ssh/id sub/.env; echo x > .envrc; ln -s elsewhere link/.env"
        ));
        assert_eq!(fixture.covers(CoverKind::Hide), ["sub/.env", "sub/.ssh"]);
        assert_eq!(fixture.covers(CoverKind::Pin), [".git"]);
        let protected = [".envrc", ".git/config", ".git/hooks", ".git/modules/lib/hooks"];
        assert_eq!(fixture.covers(CoverKind::ReadOnly), protected);
    }
}
