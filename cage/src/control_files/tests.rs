//! The guard against several commands, a killed server, and what people do beside commands. The attacks
//! themselves are end-to-end tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use files::roots::{ControlFiles, DEFAULT_PROTECTED, DeniedPaths, Roots};
use protocol::{EventId, SessionId};

use rustix::fs::FileType;
use sandbox::{Cover, CoverKind};

use super::{ControlGuard, GuardedCall, LeftBehind};
use crate::watch::{Entry, EntryKind};

/// A root with an ordinary repository `repo`, and the operator's own place beside it.
struct Fixture {
    directory: tempfile::TempDir,
    guard: ControlGuard,
}

type Recoveries = Arc<Mutex<Vec<(GuardedCall, Vec<LeftBehind>)>>>;

fn guard_of(root: &Path, output: &Path) -> (ControlGuard, Recoveries) {
    let denied = DeniedPaths::new([]).unwrap();
    let protected = ControlFiles::new(DEFAULT_PROTECTED.split(','));
    let roots = Roots::open(&[root.to_owned()], denied, protected, |_| None).unwrap();
    let recoveries = Recoveries::default();
    let noted = Arc::clone(&recoveries);
    let note = move |call: &GuardedCall, left: &[LeftBehind]| {
        noted.lock().unwrap().push((call.clone(), left.to_vec()));
    };
    (ControlGuard::open(roots.into(), output, Box::new(note)).unwrap(), recoveries)
}

fn call() -> GuardedCall {
    let session_id = SessionId::default_session();
    GuardedCall { call_id: EventId::new(), session_id, token: None, tool: "bash".to_owned(), process: None }
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["root", "output", "home"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        let (guard, _) = guard_of(&directory.path().join("root"), &directory.path().join("output"));
        let fixture = Self { directory, guard };
        fs::write(fixture.root().join("evil.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(fixture.root().join("evil.sh"), PermissionsExt::from_mode(0o755)).unwrap();
        fixture.shell("git init -q repo && cd repo && echo x > f && git add f && git commit -qm one");
        fixture
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("root").canonicalize().unwrap()
    }

    /// Runs a script in the root as somebody who has configured nothing but a name.
    fn shell(&self, script: &str) -> String {
        let output = Command::new("bash")
            .args(["-c", script])
            .current_dir(self.root())
            .env("HOME", self.directory.path().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .envs([("GIT_AUTHOR_NAME", "h"), ("GIT_COMMITTER_NAME", "h"), ("EMAIL", "h@localhost")])
            .output()
            .unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// What the index would find.
    fn look(&self) -> Vec<Entry> {
        fn walk(root: &Path, path: &Path, names: &ControlFiles, found: &mut Vec<Entry>) {
            let entries = fs::read_dir(root.join(path)).into_iter().flatten().flatten();
            let entries: Vec<_> = entries.map(|entry| (entry.file_name(), entry.file_type())).collect();
            let has = |name: &str| entries.iter().any(|(entry, _)| entry == name);
            if has("HEAD") && (has("commondir") || has("objects") && has("refs")) {
                found.push(entry(path, EntryKind::GitDirectory));
            }
            for (name, file_type) in entries {
                let path = path.join(&name);
                if names.names_entry(&path) {
                    found.push(entry(&path, EntryKind::Control));
                } else if name.eq_ignore_ascii_case(".git") {
                    found.push(entry(&path, EntryKind::DotGit));
                }
                if file_type.is_ok_and(|kind| kind.is_dir()) {
                    walk(root, &path, names, found);
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.root(), Path::new(""), &ControlFiles::new(DEFAULT_PROTECTED.split(',')), &mut found);
        found.sort_by(|a, b| a.path.cmp(&b.path));
        found
    }

    fn before(&self, call: &GuardedCall) -> Vec<Cover> {
        let found = self.look();
        self.guard.before(call, &found).unwrap()
    }

    fn after(&self, call: &GuardedCall) -> Vec<LeftBehind> {
        let found = self.look();
        self.guard.after(call, &found)
    }

    /// Runs a script as a command: guarded, but not sandboxed, as in tier B.
    fn command(&self, script: &str) -> Vec<LeftBehind> {
        let call = call();
        self.before(&call);
        self.shell(script);
        self.after(&call)
    }

    fn left_by(&self, script: &str) -> Vec<String> {
        let root = self.root();
        let left = self.command(script);
        assert!(left.iter().all(|left| left.taken_back), "{script}: {left:?}");
        left.iter().map(|left| left.path.strip_prefix(&root).unwrap().display().to_string()).collect()
    }
}

fn entry(path: &Path, kind: EntryKind) -> Entry {
    let (path, file_type) = (path.to_owned(), FileType::Unknown);
    Entry { root: 0, path, kind, device: 0, inode: 0, file_type, seen: 0 }
}

#[test]
fn honest_settings_stay_byte_for_byte_and_only_the_dangerous_one_goes() {
    let fixture = Fixture::new();
    let script = "cd repo; git config user.name me; git remote add origin https://example.org/x; \
                  git config alias.st status; git config core.pager less; git config branch.x.rebase true";
    let expected = fixture.shell(&format!("cp -r repo other; cd other; {}; cat .git/config", &script[8..]));
    assert_eq!(fixture.left_by(script), ["repo/.git/config"]);
    let config = fs::read_to_string(fixture.root().join("repo/.git/config")).unwrap();
    assert_eq!(config, expected.replace("\tpager = less\n", ""));
}

#[test]
fn what_was_there_before_stays_and_is_kept_from_commands() {
    let fixture = Fixture::new();
    fixture.shell(
        "cd repo; git config core.pager less; git config core.hooksPath .husky; mkdir .husky .vscode; \
         cp ../evil.sh .husky/pre-push; cp ../evil.sh .git/hooks/pre-commit; echo x > .vscode/tasks.json; \
         echo '[diff \"x\"] textconv = y' > ../more; git config include.path ../../more",
    );
    let call = call();
    let root = fixture.root();
    let kept = fixture.before(&call);
    let kept: Vec<_> = kept.iter().map(|kept| (kept.path.strip_prefix(&root).unwrap(), kept.kind)).collect();
    let expected = [
        (Path::new("repo/.git"), CoverKind::Pin),
        (Path::new("repo/.git/hooks/pre-commit"), CoverKind::ReadOnly),
        (Path::new("repo/.husky/pre-push"), CoverKind::ReadOnly),
        (Path::new("repo/.vscode"), CoverKind::ReadOnly),
    ];
    assert_eq!(kept, expected);
    assert_eq!(fixture.after(&call), []);
    assert_eq!(fixture.left_by("cd repo; git commit -q --no-verify --allow-empty -m x"), [""; 0]);
    let script = "cd repo; echo >> .git/hooks/pre-commit; echo >> .husky/pre-push; cp ../evil.sh .husky/new; \
                  echo > .vscode/x; git config core.pager more; \
                  printf '\\n[core]\\neditor = x\\n' >> ../more";
    let mut left = fixture.left_by(script);
    left.sort();
    let expected = [
        "more", "repo/.git/config", "repo/.git/hooks/pre-commit", "repo/.husky/new", "repo/.husky/pre-push",
        "repo/.vscode/x",
    ];
    assert_eq!(left, expected);
    assert_eq!(fixture.shell("cat more"), "[diff \"x\"] textconv = y\n\n[core]\n");
}

#[test]
fn control_files_by_name_are_taken_back_whole() {
    let fixture = Fixture::new();
    assert_eq!(fixture.left_by("mkdir -p a; echo x > a/.envrc"), ["a/.envrc"]);
    assert_eq!(fixture.left_by("ln -s decoy .codex; mkdir decoy; echo x > .codex/config"), [".codex"]);
    assert_eq!(fixture.left_by("mkdir -p .Claude/x/y; echo x > .Claude/x/y/z"), [".Claude"]);
    let call = call();
    fixture.before(&call);
    fixture.shell("mkdir -p .idea/a; echo x > .idea/a/b; echo y > .envrc");
    fixture.after(&call);
    let kept = fixture.guard.quarantine_of(&call);
    assert_eq!(fs::read_to_string(kept.join(".idea/a/b")).unwrap(), "x\n");
    assert_eq!(fs::read_to_string(kept.join(".envrc")).unwrap(), "y\n");
}

#[test]
fn what_people_do_between_commands_is_their_own() {
    let fixture = Fixture::new();
    assert_eq!(fixture.left_by("true"), [""; 0]);
    fixture
        .shell("cp evil.sh repo/.git/hooks/pre-commit; echo x > .envrc; git -C repo config core.pager less");
    assert_eq!(fixture.left_by("echo y > file"), [""; 0]);
    assert_eq!(fixture.shell("git -C repo config core.pager"), "less\n");
}

#[test]
fn of_several_commands_the_first_to_end_takes_back_what_is_there() {
    let fixture = Fixture::new();
    let (first, second) = (call(), call());
    fixture.before(&first);
    fixture.shell("git -C repo config core.pager x");
    fixture.before(&second);
    assert_eq!(fixture.after(&second).len(), 1);
    fixture.shell("git -C repo config core.pager y");
    assert_eq!(fixture.after(&first).len(), 1);
    assert_eq!(fixture.left_by("true"), [""; 0]);
}

#[test]
fn a_killed_server_checks_at_its_next_start() {
    let mut fixture = Fixture::new();
    fixture.shell("git -C repo config core.editor mine; echo mine > .envrc");
    let call = call();
    fixture.before(&call);
    fixture.shell("git -C repo config core.pager x; mkdir .vscode");
    let (guard, recoveries) = guard_of(&fixture.root(), &fixture.directory.path().join("output"));
    fixture.guard = guard;
    let found = fixture.look();
    fixture.guard.recover(&found).unwrap();
    let recovered = std::mem::take(&mut *recoveries.lock().unwrap());
    assert_eq!(recovered.len(), 1);
    assert_eq!(recovered[0].0, call);
    assert_eq!(recovered[0].1.len(), 2, "{recovered:?}");
    assert_eq!(
        fixture
            .shell("git -C repo config core.editor; cat .envrc; ls -d .vscode repo/.git/config")
            .replace("ls: cannot access '.vscode': No such file or directory\n", ""),
        "mine\nmine\nrepo/.git/config\n"
    );
    fixture.guard.recover(&found).unwrap();
    assert_eq!(*recoveries.lock().unwrap(), []);
}

#[test]
fn a_command_that_was_not_checked_is_checked_before_the_next() {
    let fixture = Fixture::new();
    let call = call();
    fixture.before(&call);
    fixture.shell("echo x > .envrc");
    fixture.guard.dismiss(&call);
    assert_eq!(fixture.left_by("true"), [""; 0]);
    assert!(!fixture.root().join(".envrc").exists());
}
