//! The index against the real entries of a directory tree, after all that can happen to one.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tempfile::TempDir;

use super::queue::Queue;
use super::{EntryKind, Rules, Snapshot, Watch, WatchedRoot};

struct Tree {
    directory: TempDir,
    watch: Watch,
}

impl Tree {
    fn new(prepare: impl FnOnce(&Path)) -> Self {
        let directory = TempDir::new().unwrap();
        prepare(directory.path());
        let watch = watch(&[(directory.path(), true)]);
        Self { directory, watch }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn write(&self, path: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }

    fn rename(&self, from: &str, to: &str) {
        fs::rename(self.path(from), self.path(to)).unwrap();
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        self.watch.refresh().unwrap()
    }

    /// Compares the denied entries.
    fn denies(&self, expected: &[&str]) {
        assert_eq!(of_kind(&self.snapshot(), EntryKind::Denied), expected);
    }
}

fn watch(roots: &[(&Path, bool)]) -> Watch {
    let watch = Watch::new(watched(roots), rules());
    watch.start_thread().unwrap();
    watch
}

fn watched(roots: &[(&Path, bool)]) -> Vec<WatchedRoot> {
    let root = |(path, writable): &(&Path, bool)| WatchedRoot {
        path: path.to_path_buf(),
        handle: File::open(path).unwrap().into(),
        writable: *writable,
    };
    roots.iter().map(root).collect()
}

fn is_denied(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".env"))
        || path.ends_with(".docker/config.json")
}

fn is_control(path: &Path) -> bool {
    path.ends_with(".git/hooks") || path.ends_with(".envrc")
}

fn rules() -> Rules {
    Rules {
        may_be_denied: Box::new(|name| name.eq_ignore_ascii_case(b".env") || name == b"config.json"),
        is_denied: Box::new(is_denied),
        naming_parents: Box::new(|path| usize::from(path.ends_with("config.json"))),
        may_be_control: Box::new(|name| name == b"hooks" || name == b".envrc"),
        is_control: Box::new(is_control),
    }
}

fn of_kind(snapshot: &Snapshot, kind: EntryKind) -> Vec<&str> {
    let entries = snapshot.entries.iter().filter(|entry| entry.kind == kind);
    entries.map(|entry| entry.path.to_str().unwrap()).collect()
}

#[test]
fn an_unchanged_tree_has_the_same_snapshot() {
    let tree = Tree::new(|root| fs::write(root.join(".env"), "x").unwrap());
    let first = tree.snapshot();
    tree.write("ordinary.txt");
    assert!(Arc::ptr_eq(&first, &tree.snapshot()));
    tree.write("a/.env");
    assert!(!Arc::ptr_eq(&first, &tree.snapshot()));
}

#[test]
fn entries_are_found_at_any_depth_and_in_any_place() {
    let tree = Tree::new(|root| fs::create_dir_all(root.join("a/.git/objects/0a/node_modules")).unwrap());
    tree.write("a/.git/objects/0a/node_modules/.ENV");
    tree.write("a/.git/hooks/pre-commit");
    tree.write("a/.git/HEAD");
    tree.write("a/.git/refs/x");
    tree.write("a/sub/.git");
    tree.write("bare/HEAD");
    tree.write("bare/objects/x");
    tree.write("home/.docker/config.json");
    tree.write("home/docker/config.json");
    let snapshot = tree.snapshot();
    let denied = ["a/.git/objects/0a/node_modules/.ENV", "home/.docker/config.json"];
    assert_eq!(of_kind(&snapshot, EntryKind::Denied), denied);
    assert_eq!(of_kind(&snapshot, EntryKind::NamesDenied), ["home/.docker"]);
    assert_eq!(of_kind(&snapshot, EntryKind::Control), ["a/.git/hooks"]);
    assert_eq!(of_kind(&snapshot, EntryKind::DotGit), ["a/.git", "a/sub/.git"]);
    assert_eq!(of_kind(&snapshot, EntryKind::GitDirectory), ["a/.git"]);
    tree.write("bare/refs/x");
    assert_eq!(of_kind(&tree.snapshot(), EntryKind::GitDirectory), ["a/.git", "bare"]);
    fs::remove_file(tree.path("bare/HEAD")).unwrap();
    assert_eq!(of_kind(&tree.snapshot(), EntryKind::GitDirectory), ["a/.git"]);
}

#[test]
fn a_directory_that_moves_takes_its_entries_along() {
    let tree = Tree::new(|root| fs::create_dir_all(root.join("a/b/c")).unwrap());
    tree.write("a/b/c/.env");
    tree.denies(&["a/b/c/.env"]);
    tree.rename("a/b", "moved");
    tree.denies(&["moved/c/.env"]);
    // What happens in it is still seen.
    tree.write("moved/c/d/.env");
    tree.denies(&["moved/c/.env", "moved/c/d/.env"]);
    tree.rename("moved", "a/b");
    tree.rename("a/b", "moved");
    tree.rename("moved/c", "c");
    tree.write("c/e/.env");
    tree.denies(&["c/.env", "c/d/.env", "c/e/.env"]);
    // Its name decides which names in it are denied.
    tree.write("x/config.json");
    tree.denies(&["c/.env", "c/d/.env", "c/e/.env"]);
    tree.rename("x", ".docker");
    tree.denies(&[".docker/config.json", "c/.env", "c/d/.env", "c/e/.env"]);
    tree.rename(".docker", "x");
    fs::remove_dir_all(tree.path("c")).unwrap();
    tree.denies(&[]);
}

#[test]
fn a_directory_that_is_replaced_is_another_one() {
    let tree = Tree::new(|root| fs::create_dir_all(root.join("a/b")).unwrap());
    tree.denies(&[]);
    let elsewhere = TempDir::new_in(tree.directory.path().parent().unwrap()).unwrap();
    fs::create_dir_all(elsewhere.path().join("b/c")).unwrap();
    fs::write(elsewhere.path().join("b/c/.env"), "x").unwrap();
    fs::remove_dir(tree.path("a/b")).unwrap();
    fs::rename(elsewhere.path().join("b"), tree.path("a/b")).unwrap();
    tree.denies(&["a/b/c/.env"]);
    // Removed and made again, most file systems give it the same inode number.
    for _ in 0..20 {
        fs::remove_dir_all(tree.path("a")).unwrap();
        fs::create_dir_all(tree.path("a/b")).unwrap();
        tree.denies(&[]);
        tree.write("a/b/.env");
        tree.denies(&["a/b/.env"]);
    }
}

#[test]
fn an_entry_that_may_be_another_one_differs() {
    let tree = Tree::new(|root| fs::write(root.join(".env"), "x").unwrap());
    let before = tree.snapshot();
    fs::remove_file(tree.path(".env")).unwrap();
    tree.write(".env");
    assert_ne!(before.entries, tree.snapshot().entries);
}

#[test]
fn hard_links_and_links_are_found_and_links_are_not_followed() {
    let tree = Tree::new(|root| fs::write(root.join("secret"), "x").unwrap());
    fs::hard_link(tree.path("secret"), tree.path(".env")).unwrap();
    std::os::unix::fs::symlink(tree.directory.path(), tree.path("round")).unwrap();
    fs::create_dir(tree.path("a")).unwrap();
    std::os::unix::fs::symlink("../secret", tree.path("a/.env")).unwrap();
    tree.denies(&[".env", "a/.env"]);
    assert!(tree.snapshot().entries[1].file_type.is_symlink());
}

#[test]
fn more_changes_than_the_queue_holds_are_found() {
    let tree = Tree::new(|root| fs::create_dir_all(root.join("old/deep")).unwrap());
    tree.write("old/deep/.env");
    tree.denies(&["old/deep/.env"]);
    // The queue is not emptied meanwhile.
    let index = tree.watch.index.lock().unwrap();
    tree.rename("old/deep", "new");
    tree.write("b/c/.env");
    let full: usize =
        fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    // Two names in turn, since the same report twice in a row counts once.
    for _ in 0..=full / 4 {
        for name in ["x", "y"] {
            fs::write(tree.path(name), "").unwrap();
            fs::remove_file(tree.path(name)).unwrap();
        }
    }
    tree.write("d/e/.env");
    drop(index);
    tree.denies(&["b/c/.env", "d/e/.env", "new/.env"]);
    tree.write("d/e/f/.env");
    tree.denies(&["b/c/.env", "d/e/.env", "d/e/f/.env", "new/.env"]);
}

#[test]
fn directories_that_report_nothing_are_asked() {
    let directory = TempDir::new().unwrap();
    let watch = Watch::with_queue(watched(&[(directory.path(), true)]), rules(), None);
    let denied = || of_kind(&watch.refresh().unwrap(), EntryKind::Denied).join(" ");
    assert_eq!(denied(), "");
    fs::create_dir_all(directory.path().join("a/b")).unwrap();
    fs::write(directory.path().join("a/b/.env"), "x").unwrap();
    assert_eq!(denied(), "a/b/.env");
    fs::rename(directory.path().join("a/b"), directory.path().join("c")).unwrap();
    assert_eq!(denied(), "c/.env");
    fs::remove_file(directory.path().join("c/.env")).unwrap();
    assert_eq!(denied(), "");
}

#[test]
fn roots_may_lie_in_each_other_and_readonly_ones_show_denied_names_alone() {
    let directory = TempDir::new().unwrap();
    let inner = directory.path().join("inner");
    fs::create_dir_all(inner.join(".git/hooks")).unwrap();
    let watch = watch(&[(directory.path(), true), (&inner, false)]);
    watch.refresh().unwrap();
    fs::write(inner.join(".env"), "x").unwrap();
    let snapshot = watch.refresh().unwrap();
    let found: Vec<_> =
        snapshot.entries.iter().map(|it| (it.root, it.path.to_str().unwrap(), it.kind)).collect();
    let expected = [
        (0, "inner/.env", EntryKind::Denied),
        (0, "inner/.git", EntryKind::DotGit),
        (0, "inner/.git/hooks", EntryKind::Control),
        (1, ".env", EntryKind::Denied),
    ];
    assert_eq!(found, expected);
    assert_eq!(snapshot.absolute(&snapshot.entries[3]), inner.join(".env"));
}

#[test]
fn a_directory_that_cannot_be_searched_is_an_entry_of_its_own() {
    let tree = Tree::new(|root| fs::create_dir_all(root.join("a/closed")).unwrap());
    tree.snapshot();
    // A path too deep for a mount is hidden, and looked into; one that is deeper still is not looked into.
    let long = format!("{}/", "n".repeat(200)).repeat(25);
    make_deep(&tree.path("a"), &format!("{long}.git/{}", long.repeat(2)));
    let snapshot = tree.snapshot();
    let lengths = |kind| of_kind(&snapshot, kind).iter().map(|path| path.len()).collect::<Vec<_>>();
    let (deep, unreadable) = (lengths(EntryKind::TooDeep), lengths(EntryKind::Unreadable));
    assert!(deep.len() == 1 && (3500..3800).contains(&deep[0]), "{deep:?}");
    assert!(unreadable.len() == 1 && (8192..8500).contains(&unreadable[0]), "{unreadable:?}");
    assert_eq!(lengths(EntryKind::DotGit), [2 + long.len() + 4]);
    assert!(Arc::ptr_eq(&snapshot, &tree.snapshot()));
    if rustix::process::geteuid().is_root() {
        return;
    }
    tree.write("a/closed/.env");
    let mode = |mode| fs::set_permissions(tree.path("a/closed"), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o300);
    fs::write(tree.path("a/closed/.env2"), "").unwrap();
    fs::create_dir(tree.path("a/closed/x")).unwrap();
    assert!(of_kind(&tree.snapshot(), EntryKind::Unreadable).contains(&"a/closed"));
    mode(0o700);
    tree.denies(&["a/closed/.env"]);
    // Nothing in it changed, only the right to look into it.
    mode(0o300);
    assert!(of_kind(&tree.snapshot(), EntryKind::Unreadable).contains(&"a/closed"));
}

/// Makes nested directories whose whole path no call accepts.
fn make_deep(start: &Path, path: &str) {
    let mut directory = File::open(start).unwrap();
    for name in path.split('/').filter(|name| !name.is_empty()) {
        rustix::fs::mkdirat(&directory, name, rustix::fs::Mode::RWXU).unwrap();
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
        directory = rustix::fs::openat(&directory, name, flags, rustix::fs::Mode::empty()).unwrap().into();
    }
}

#[test]
fn entries_are_not_lost_while_their_directory_moves() {
    let tree = Tree::new(|root| fs::create_dir_all(root.join("a")).unwrap());
    tree.write("a/.env");
    tree.snapshot();
    let (a, b) = (tree.path("a"), tree.path("b"));
    let until = Instant::now() + Duration::from_millis(300);
    let mover = std::thread::spawn(move || {
        while Instant::now() < until {
            fs::rename(&a, &b).unwrap();
            fs::rename(&b, &a).unwrap();
        }
    });
    let mut answers = 0;
    while Instant::now() < until {
        // It is found in one place or the other, or we say that we do not know.
        if let Ok(snapshot) = tree.watch.refresh() {
            assert_eq!(of_kind(&snapshot, EntryKind::Denied).len(), 1);
            answers += 1;
        }
    }
    mover.join().unwrap();
    println!("{answers} answers");
    tree.denies(&["a/.env"]);
}

/// One thing that happens to the tree; paths are chosen by number among a few.
#[derive(Debug, Clone)]
enum Step {
    File(usize),
    Directory(usize),
    Remove(usize),
    Rename(usize, usize),
    Link(usize, usize),
    Refresh,
}

const NAMES: [&str; 9] = ["a", "b", ".env", ".git", "HEAD", "objects", "refs", ".docker", "config.json"];

/// Paths of one to three names.
fn place(number: usize) -> PathBuf {
    let mut left = number;
    let mut path = PathBuf::new();
    loop {
        path.push(NAMES[left % NAMES.len()]);
        left /= NAMES.len();
        if left == 0 {
            return path;
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let place = || 0..NAMES.len().pow(3);
    prop_oneof![
        3 => place().prop_map(Step::File),
        4 => place().prop_map(Step::Directory),
        2 => place().prop_map(Step::Remove),
        5 => (place(), place()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (place(), place()).prop_map(|(from, to)| Step::Link(from, to)),
        2 => Just(Step::Refresh),
    ]
}

/// Most steps fail, since their place is taken or has no directory; that is as it should be.
fn take(root: &Path, watch: &Watch, step: &Step) {
    match step {
        Step::File(at) => drop(fs::write(root.join(place(*at)), "x")),
        Step::Directory(at) => drop(fs::create_dir_all(root.join(place(*at)))),
        Step::Remove(at) => {
            let path = root.join(place(*at));
            drop(fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)));
        }
        Step::Rename(from, to) => drop(fs::rename(root.join(place(*from)), root.join(place(*to)))),
        Step::Link(from, to) => drop(std::os::unix::fs::symlink(place(*from), root.join(place(*to)))),
        Step::Refresh => drop(watch.refresh().unwrap()),
    }
}

/// The denied paths, by a plain walk.
fn walk(root: &Path, beneath: &Path, found: &mut BTreeSet<(PathBuf, EntryKind)>) {
    let has = |name: &str| root.join(beneath).join(name).symlink_metadata().is_ok();
    if has("HEAD") && has("objects") && has("refs") {
        found.insert((beneath.to_owned(), EntryKind::GitDirectory));
    }
    for entry in fs::read_dir(root.join(beneath)).unwrap() {
        let entry = entry.unwrap();
        let path = beneath.join(entry.file_name());
        if is_denied(&path) {
            found.insert((path, EntryKind::Denied));
            continue;
        }
        if path.ends_with(".git") {
            found.insert((path.clone(), EntryKind::DotGit));
        }
        if entry.file_type().unwrap().is_dir() {
            walk(root, &path, found);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_index_is_what_a_walk_finds(
        steps in prop::collection::vec(step(), 1..60),
        // Without reports of the kernel, each directory is asked for its change time.
        reports in any::<bool>(),
    ) {
        let directory = TempDir::new().unwrap();
        let queue = reports.then(|| Queue::open().unwrap());
        let watch = Watch::with_queue(watched(&[(directory.path(), true)]), rules(), queue);
        for step in &steps {
            take(directory.path(), &watch, step);
        }
        let mut expected = BTreeSet::new();
        walk(directory.path(), Path::new(""), &mut expected);
        let snapshot = watch.refresh().unwrap();
        let found = snapshot.entries.iter().filter(|entry| entry.kind != EntryKind::NamesDenied);
        let found: BTreeSet<_> = found.map(|entry| (entry.path.clone(), entry.kind)).collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_socket_is_found_whatever_its_name_is() {
    let tree = Tree::new(|root| {
        fs::create_dir(root.join("run")).unwrap();
        std::os::unix::net::UnixListener::bind(root.join("run/first")).unwrap();
    });
    assert_eq!(of_kind(&tree.snapshot(), EntryKind::Socket), ["run/first"]);
    std::os::unix::net::UnixListener::bind(tree.path("second")).unwrap();
    assert_eq!(of_kind(&tree.snapshot(), EntryKind::Socket), ["run/first", "second"]);
    fs::remove_file(tree.path("run/first")).unwrap();
    assert_eq!(of_kind(&tree.snapshot(), EntryKind::Socket), ["second"]);
}
