//! Starts a command with everything covered that it must not see or not change in the roots.
//!
//! What to cover is looked up just before, and the sandbox covers exactly the files that were seen. If one of
//! them moved in between, nothing runs and we look again. A cover stays on its file wherever that moves.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use files::roots::{Roots, Workspaces};
use protocol::{ErrorCode, ToolError};
use sandbox::{CommandSpec, Cover, Running, SandboxError, Spawner, Tier};
use toolkit::{Call, locked};

use super::grouped::{Crowd, MOST_COVERS, grouped};
use super::{covers, error_chain, sandbox_failed};
use crate::control_files::{ControlGuard, Flood, GuardError, GuardedCall, Leaving, LeftBehind};
use crate::obstacle::Obstacle;
use crate::watch::{Entry, EntryKind, Rules, Snapshot, Watch, WatchError, WatchedRoot};

/// How often a command is tried whose files to cover moved in between.
const MAX_TRIES: u32 = 10;

/// How often we look again into directories that commands have closed, each of which may hide another one.
const MAX_OPENINGS: usize = 20;

/// How many hidden names are asked whether a command could not remove them.
const MOST_STRANDED: usize = 256;

/// The most git directories that commands may leave. To look through one takes some 20 µs, twice a command.
const MOST_GIT_DIRECTORIES: usize = 4096;

/// The ticks of the clocks of file systems.
const CLOCK_TICK: Duration = Duration::from_millis(10);

/// The spawner, and the index that says what to cover.
#[derive(Debug)]
pub struct GuardedSpawner {
    pub(super) spawner: Arc<Spawner>,
    workspaces: Arc<Workspaces>,
    watch: Watch,
    guard: ControlGuard,
    /// Why the last command could not start.
    obstacle: Mutex<Option<Obstacle>>,
}

/// Why a command was not started.
#[derive(Debug)]
pub(super) enum StartError {
    Watch(WatchError),
    Crowd(Crowd),
    Guard(GuardError),
    Sandbox(SandboxError),
}

impl GuardedSpawner {
    /// `readonly` are the directories that commands may read besides the roots.
    pub fn new(
        spawner: Arc<Spawner>,
        workspaces: Arc<Workspaces>,
        readonly: Vec<sandbox::Root>,
        guard: ControlGuard,
    ) -> std::io::Result<Self> {
        let as_watched =
            |root: sandbox::Root, writable| WatchedRoot { path: root.path, handle: root.handle, writable };
        let writable = workspaces.whole().for_sandbox()?.into_iter().map(|root| as_watched(root, true));
        let watched = writable.chain(readonly.into_iter().map(|root| as_watched(root, false))).collect();
        let watch = Watch::new(watched, rules(&workspaces));
        Ok(Self { spawner, workspaces, watch, guard, obstacle: Mutex::default() })
    }

    /// Why the last command could not start because of entries of the roots, if that still holds.
    pub(super) fn obstacle(&self) -> Option<Obstacle> {
        self.obstacle_of_last()?;
        let whole = self.workspaces.whole();
        let now = self.watch.refresh().map_err(StartError::Watch);
        let now = now.and_then(|snapshot| self.hidden(&snapshot, whole)).err();
        self.note(now.as_ref());
        self.obstacle_of_last()
    }

    fn obstacle_of_last(&self) -> Option<Obstacle> {
        locked(&self.obstacle).clone()
    }

    fn note(&self, error: Option<&StartError>) {
        let obstacle = error.and_then(StartError::obstacle);
        *locked(&self.obstacle) = obstacle;
    }

    /// What to hide from a command that sees these roots.
    fn hidden(&self, snapshot: &Snapshot, roots: &Roots) -> Result<Vec<Cover>, StartError> {
        let mut hidden = covers::hidden(snapshot);
        // The rest is not there.
        if roots.are_parts() {
            hidden.retain(|cover| self.is_seen(roots, &cover.path));
        }
        let tops: Vec<PathBuf> = snapshot.roots.iter().cloned().chain(roots.to_paths()).collect();
        grouped(hidden, &tops).map_err(StartError::Crowd)
    }

    pub(super) fn watch_roots(&self) -> std::io::Result<()> {
        self.watch.start_thread()
    }

    /// Checks what the commands of a killed server left; the first command waits for it.
    pub(super) fn recover(&self) {
        let recovered = self.look().map_err(|error| error_chain(&error)).and_then(|(snapshot, _)| {
            self.guard.recover(&snapshot.entries).map_err(|error| error_chain(&error))
        });
        if let Err(error) = recovered {
            tracing::error!(error, "could not check what the commands of a killed server left");
        }
    }

    /// Starts a command, which sees these roots.
    pub(super) fn start(
        &self,
        call: &Call,
        roots: &Roots,
        (call_to_guard, leaving): (GuardedCall, Leaving),
        command: &mut CommandSpec,
    ) -> Result<(Running, GuardedCommand<'_>), StartError> {
        let is_wanted = || call.check().is_ok();
        self.guard.admit(&call_to_guard, leaving, is_wanted).map_err(StartError::Guard)?;
        let (call, since) = (call_to_guard, SystemTime::now());
        let mut guarded = GuardedCommand { spawner: self, call, leaving, before: None, since };
        let started = self.start_guarded(roots, &mut guarded, command);
        self.note(started.as_ref().err());
        started.map(|running| (running, guarded))
    }

    fn start_guarded(
        &self,
        roots: &Roots,
        guarded: &mut GuardedCommand<'_>,
        command: &mut CommandSpec,
    ) -> Result<Running, StartError> {
        let leaving = guarded.leaving;
        let mut tries = 1;
        loop {
            let (snapshot, _) = self.look().map_err(StartError::Watch)?;
            let hidden = self.hidden(&snapshot, roots)?;
            // A directory that is hidden whole must still have what was found in it.
            if snapshot.entries.len() > MOST_COVERS
                && !Arc::ptr_eq(&snapshot, &self.watch.refresh().map_err(StartError::Watch)?)
            {
                tries += 1;
                if tries < MAX_TRIES {
                    continue;
                }
                return Err(StartError::Watch(WatchError::Restless));
            }
            let kept = self.guard.before(&guarded.call, &snapshot.entries).map_err(StartError::Guard)?;
            if self.spawner.tier() == Tier::B {
                self.guard.require_seen().map_err(StartError::Guard)?;
            }
            let kept = if leaving == Leaving::Kept { Vec::new() } else { kept };
            command.covers = covers::with_protection(hidden, kept);
            if roots.are_parts() {
                command.covers.retain(|cover| self.is_seen(roots, &cover.path));
            }
            guarded.before = Some(snapshot);
            match self.spawner.run(command) {
                Err(SandboxError::CoverMoved(_)) if tries < MAX_TRIES => tries += 1,
                Err(error) => return Err(StartError::Sandbox(error)),
                Ok(running) => return Ok(running),
            }
        }
    }

    /// The entries of the roots, also where commands have closed a directory to the server; and those
    /// directories, which are open again.
    fn look(&self) -> Result<(Arc<Snapshot>, Vec<PathBuf>), WatchError> {
        let mut opened = Vec::new();
        let mut snapshot = self.watch.refresh()?;
        for _ in 0..MAX_OPENINGS {
            let more = self.guard.open_up(&snapshot.entries);
            if more.is_empty() {
                break;
            }
            opened.extend(more);
            snapshot = self.watch.refresh()?;
        }
        Ok((snapshot, opened))
    }

    /// Whether a path is there for a command that sees these roots: in them, or in no root at all but in a
    /// directory that all commands may read.
    fn is_seen(&self, roots: &Roots, path: &Path) -> bool {
        let has = |roots: &Roots| roots.paths().any(|root| path.starts_with(root));
        has(roots) || !has(self.workspaces.whole())
    }
}

/// A command that runs. Whatever happens, what it leaves behind is checked before the next one starts.
#[derive(Debug)]
pub(super) struct GuardedCommand<'a> {
    spawner: &'a GuardedSpawner,
    call: GuardedCall,
    leaving: Leaving,
    /// What was in the roots when it started, and when that was.
    before: Option<Arc<Snapshot>>,
    since: SystemTime,
}

impl GuardedCommand<'_> {
    /// What it left behind for other programs to execute, and the directories that it had closed; or why
    /// that is not known yet.
    pub(super) fn left_behind(self) -> Result<(Vec<LeftBehind>, Vec<PathBuf>), String> {
        self.spawner.workspaces.whole().reopen();
        let (snapshot, opened) = self.spawner.look().map_err(|error| error_chain(&error))?;
        let mut left = match self.leaving {
            Leaving::TakenBack => self.spawner.guard.after(&self.call, &snapshot.entries),
            Leaving::Kept => self.spawner.guard.after_keeping(&self.call, &snapshot.entries),
        };
        left.extend(self.floods(&snapshot));
        Ok((left, opened))
    }

    /// What it has left so far, if no other command will end soon and have it found; or why that is not
    /// known.
    pub(super) fn left_so_far(&self) -> Result<Vec<LeftBehind>, String> {
        if !self.spawner.guard.is_left_alone() {
            return Ok(Vec::new());
        }
        let (snapshot, _) = self.spawner.look().map_err(|error| error_chain(&error))?;
        Ok(self.spawner.guard.meanwhile(&self.call, &snapshot.entries))
    }

    /// The hidden entries that are all that the command left of a directory: it could not remove that.
    pub(super) fn stranded(&self) -> Vec<PathBuf> {
        let whole = self.spawner.workspaces.whole();
        let is_own = self.spawner.workspaces.belongs_to(&self.call.session_id);
        let Some(before) = &self.before else { return Vec::new() };
        let is_denied = |path: &Path| whole.denied().may_cover_name(path.as_os_str().as_encoded_bytes());
        let hidden =
            before.entries.iter().filter(|entry| entry.kind == EntryKind::Denied && is_own(&entry.path));
        let paths = hidden.take(MOST_STRANDED).map(|entry| before.absolute(entry));
        paths
            .filter(|path| {
                path.parent().is_some_and(|parent| {
                    changed_since(parent, self.since)
                        && parent.read_dir().is_ok_and(|mut names| {
                            names.all(|name| name.is_ok_and(|name| is_denied(Path::new(&name.file_name()))))
                        })
                })
            })
            .filter(|path| path.symlink_metadata().is_ok())
            .collect()
    }

    /// What it left too much of: each name that must be hidden and each git directory costs every later
    /// command some time.
    fn floods(&self, now: &Snapshot) -> Vec<LeftBehind> {
        let is_hidden = |entry: &&Entry| {
            matches!(entry.kind, EntryKind::Denied | EntryKind::Socket) && !entry.file_type.is_symlink()
        };
        let is_git = |entry: &&Entry| matches!(entry.kind, EntryKind::DotGit | EntryKind::GitDirectory);
        let mut left = self.flood(now, Flood::Hidden, (MOST_COVERS, is_hidden));
        left.extend(self.flood(now, Flood::GitDirectories, (MOST_GIT_DIRECTORIES, is_git)));
        left
    }

    /// The new entries of one kind, if there are more than `most` of it.
    fn flood(
        &self,
        now: &Snapshot,
        flood: Flood,
        (most, is_counted): (usize, impl Fn(&&Entry) -> bool + Copy),
    ) -> Vec<LeftBehind> {
        if now.entries.iter().filter(is_counted).take(most + 1).count() <= most {
            return Vec::new();
        }
        let key = |entry: &Entry| (entry.root, entry.path.clone(), entry.inode);
        let before = self.before.iter().flat_map(|before| before.entries.iter().filter(is_counted));
        let before: HashSet<_> = before.map(key).collect();
        let is_writable = |entry: &&Entry| entry.root < self.spawner.workspaces.whole().paths().count();
        let new = now.entries.iter().filter(is_counted).filter(is_writable);
        let new: HashSet<_> = new
            .filter(|entry| !before.contains(&key(entry)))
            .map(|entry| (entry.root, entry.path.clone()))
            .collect();
        // What lies in another of them goes with it.
        let is_top = |(root, path): &&(usize, PathBuf)| {
            !path.ancestors().skip(1).any(|above| new.contains(&(*root, above.to_owned())))
        };
        let mut tops: Vec<_> = new.iter().filter(is_top).cloned().collect();
        tops.sort();
        if tops.is_empty() { Vec::new() } else { self.spawner.guard.take_flood(&self.call, flood, &tops) }
    }

    pub(super) fn leaving(&self) -> Leaving {
        self.leaving
    }

    /// Where what was taken back from it lies.
    pub(super) fn quarantine(&self) -> PathBuf {
        self.spawner.guard.quarantine_of(&self.call)
    }
}

/// Whether entries of a directory came or went since then; a file system's clock may be a little behind.
fn changed_since(directory: &Path, since: SystemTime) -> bool {
    let changed = directory.symlink_metadata().and_then(|facts| facts.modified());
    changed.is_ok_and(|changed| changed + CLOCK_TICK >= since)
}

impl Drop for GuardedCommand<'_> {
    fn drop(&mut self) {
        self.spawner.guard.dismiss(&self.call);
    }
}

fn rules(workspaces: &Arc<Workspaces>) -> Rules {
    let [a, b, c, d, e] = std::array::from_fn(|_| Arc::clone(workspaces));
    Rules {
        may_be_denied: Box::new(move |name| a.whole().denied().may_cover_name(name)),
        is_denied: Box::new(move |path| {
            b.ways_to_see(path).any(|path| b.whole().denied().covers_entry(path))
        }),
        naming_parents: Box::new(move |path| {
            c.ways_to_see(path).map(|path| c.whole().denied().naming_parents(path)).max().unwrap_or(0)
        }),
        may_be_control: Box::new(move |name| d.whole().control_files().may_be_name(name)),
        is_control: Box::new(move |path| e.whole().control_files().names_entry(path)),
    }
}

impl StartError {
    pub(super) fn into_tool_error(self, call: &Call) -> ToolError {
        match self {
            Self::Sandbox(SandboxError::CoverMoved(path)) => refused(
                call,
                &format!("{} must be covered and moved each time it was", path.display()),
                Some("Other programs keep renaming files. Try again."),
            ),
            Self::Sandbox(error) => sandbox_failed(call, &error),
            Self::Guard(GuardError::Busy) => {
                let message = "A command that may leave control files runs alone, and the other did not end \
                               in time; nothing was run.";
                let hint = "Try again when the other command has ended.";
                ToolError::new(ErrorCode::Overloaded, message).with_hint(hint).with_retry_after(10)
            }
            Self::Guard(error @ GuardError::Processes) => beside_processes(&error),
            Self::Guard(error @ GuardError::Unseen(_)) => {
                let hint = "Make the directory readable (`chmod u+rwx`), or move it out of the roots.";
                let message = format!("The command was not run: {error}.");
                ToolError::new(ErrorCode::SandboxFailed, message).with_hint(hint)
            }
            Self::Guard(error) => {
                let hint =
                    "The operator must look at the roots and at `control-files` in the output directory.";
                let reason = error_chain(&error);
                tracing::error!(call_id = %call.id, reason, "control files cannot be guarded");
                let message =
                    format!("Control files cannot be guarded, so the command was not run: {reason}.");
                ToolError::new(ErrorCode::SandboxFailed, message).with_hint(hint)
            }
            Self::Crowd(_) | Self::Watch(WatchError::Unreadable(_)) => {
                let Some(Obstacle { reason, remedy }) = self.obstacle() else {
                    return refused(call, "the roots cannot be looked through", None);
                };
                let mut error = refused(call, &reason, Some(remedy));
                error.retryable = false;
                error
            }
            Self::Watch(error) => {
                let hint = match &error {
                    WatchError::Restless => Some("Other programs keep renaming files. Try again."),
                    WatchError::Unreadable(_) | WatchError::Io(_) => None,
                };
                refused(call, &error_chain(&error), hint)
            }
        }
    }

    /// The entries of the roots that keep every command from running, if that is the reason.
    fn obstacle(&self) -> Option<Obstacle> {
        match self {
            Self::Crowd(Crowd { count, place }) => Some(Obstacle {
                reason: format!(
                    "{count} names in the roots must be hidden from commands (AUTONOUS_TOOL_DENY_PATHS), \
                     more than can be, and most of them are in {}",
                    place.display()
                ),
                remedy: "Call `delete` for what is not needed: it removes what is hidden unread. The \
                         operator can also move the files into one directory, which is then hidden whole, \
                         or out of the roots.",
            }),
            Self::Watch(error @ WatchError::Unreadable(_)) => Some(Obstacle {
                reason: error_chain(error),
                remedy: "The operator must give the server's user back the right to use the root: \
                         `chmod u+rwx` on it.",
            }),
            Self::Watch(_) | Self::Guard(_) | Self::Sandbox(_) => None,
        }
    }
}

fn beside_processes(error: &GuardError) -> ToolError {
    let hint = "End them with process_kill (process_list has yours), or wait until they have ended.";
    ToolError::new(ErrorCode::Conflict, format!("The command was not run: {error}.")).with_hint(hint)
}

/// What commands must not see is not known, so nothing runs.
fn refused(call: &Call, reason: &str, retry: Option<&str>) -> ToolError {
    tracing::error!(call_id = %call.id, reason, "could not find what to hide from a command");
    let message = format!("What the command must not see could not be hidden, so it was not run: {reason}.");
    let mut error = ToolError::new(ErrorCode::SandboxFailed, message);
    error.retryable = true;
    if let Some(hint) = retry { error.with_hint(hint) } else { error }
}
