//! What a command left for other programs to run: the control files that are new or changed after it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, statat};

use crate::roots::Roots;
use crate::watch::{EntryKind, Snapshot};

/// How many created control files are reported.
const MAX_REPORTED: usize = 64;

/// Device, inode and change time: tells a file from another one at the same path.
type Identity = (u64, u64, i64, u64);

/// The control files at one moment, by root and path.
#[derive(Debug)]
pub(super) struct ControlState(HashMap<(usize, PathBuf), Identity>);

impl ControlState {
    pub(super) fn now(roots: &Roots, snapshot: &Snapshot) -> Self {
        let handles: Vec<_> = roots.handles().map(|(_, handle)| handle).collect();
        let mut found = HashMap::new();
        for entry in &snapshot.entries {
            let is_control = match entry.kind {
                EntryKind::Control | EntryKind::InsideControl | EntryKind::DotGit => true,
                EntryKind::Denied
                | EntryKind::NamesDenied
                | EntryKind::Unreadable
                | EntryKind::GitDirectory => false,
            };
            let Some(handle) = handles.get(entry.root).filter(|_| is_control) else { continue };
            let Ok(stat) = statat(handle, &entry.path, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            // A directory changes with every entry; its entries are compared by themselves.
            let changed = if entry.file_type.is_dir() { (0, 0) } else { (stat.st_ctime, stat.st_ctime_nsec) };
            let identity = (stat.st_dev, stat.st_ino, changed.0, changed.1);
            found.insert((entry.root, entry.path.clone()), identity);
        }
        Self(found)
    }

    /// Absolute paths of what is there now and was not before.
    ///
    /// A repository that did not exist before is the command's own work, with everything in it.
    pub(super) fn created_since(&self, before: &Self, roots: &Roots) -> Vec<PathBuf> {
        let in_own_repository = |root: usize, path: &Path| {
            path.ancestors().any(|ancestor| {
                ancestor.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"))
                    && !before.0.contains_key(&(root, ancestor.to_owned()))
            })
        };
        let paths: Vec<&Path> = roots.paths().collect();
        let mut created: Vec<PathBuf> = self
            .0
            .iter()
            .filter(|(place, identity)| before.0.get(place) != Some(identity))
            .filter(|((root, path), _)| !in_own_repository(*root, path))
            .map(|((root, path), _)| paths[*root].join(path))
            .collect();
        created.sort();
        created.dedup_by(|later, earlier| later.starts_with(&*earlier));
        created.truncate(MAX_REPORTED);
        created
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sandbox::CoverKind;

    use super::*;
    use crate::command::covers;
    use crate::command::guarded::rules;
    use crate::control_files::ControlFiles;
    use crate::roots::DeniedPaths;
    use crate::watch::{Watch, WatchedRoot};

    const REPOSITORY: &str =
        "git init -q . && git -c user.email=a@b.c -c user.name=n commit -q --allow-empty -m m";

    struct Fixture {
        directory: tempfile::TempDir,
        roots: Arc<Roots>,
        watch: Watch,
    }

    impl Fixture {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let denied = DeniedPaths::new([".env", ".ssh/"]).unwrap();
            let control_files =
                ControlFiles::new([".git/hooks", ".git/config", ".envrc", ".vscode", ".claude", ".codex"]);
            let roots = Roots::open(&[directory.path().to_owned()], denied, control_files, |_| None).unwrap();
            let roots = Arc::new(roots);
            let watched = roots.for_sandbox().unwrap().into_iter().map(|root| WatchedRoot {
                path: root.path,
                handle: root.handle,
                writable: true,
            });
            let watch = Watch::new(watched.collect(), rules(&roots));
            Self { directory, roots, watch }
        }

        fn shell(&self, script: &str) {
            let mut shell = std::process::Command::new("bash");
            shell.args(["-c", script]).current_dir(&self.directory).env("HOME", self.directory.path());
            assert!(shell.status().unwrap().success(), "{script}");
        }

        /// The control files that this script creates, relative to the root.
        fn created_by(&self, script: &str) -> Vec<String> {
            let before = self.state();
            self.shell(script);
            self.relative(self.state().created_since(&before, &self.roots).iter())
        }

        fn state(&self) -> ControlState {
            ControlState::now(&self.roots, &self.watch.refresh().unwrap())
        }

        fn relative<'a>(&self, paths: impl Iterator<Item = &'a PathBuf>) -> Vec<String> {
            let root = self.directory.path().canonicalize().unwrap();
            paths.map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect()
        }

        fn covers(&self, kind: CoverKind) -> Vec<String> {
            let covers = covers::of(&self.watch.refresh().unwrap());
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
