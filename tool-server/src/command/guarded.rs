//! Starts a command with everything covered that it must not see or not change in the roots.
//!
//! What to cover is looked up just before, and the sandbox covers exactly the files that were seen. If one of
//! them moved in between, nothing runs and we look again. A cover stays on its file wherever that moves.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use protocol::{ErrorCode, ToolError};
use sandbox::{CommandSpec, Running, SandboxError, Spawner};
use toolkit::Call;

use super::{covers, error_chain, sandbox_failed};
use crate::control_files::{ControlGuard, Found, FoundKind, GuardError, GuardedCall, Leaving, LeftBehind};
use crate::roots::{Roots, Workspaces};
use crate::watch::{EntryKind, Rules, Snapshot, Watch, WatchError, WatchedRoot};

/// How often a command is tried whose files to cover moved in between.
const MAX_TRIES: u32 = 10;

/// The spawner, and the index that says what to cover.
#[derive(Debug)]
pub(crate) struct GuardedSpawner {
    pub(super) spawner: Arc<Spawner>,
    workspaces: Arc<Workspaces>,
    watch: Watch,
    guard: ControlGuard,
}

/// Why a command was not started.
#[derive(Debug)]
pub(super) enum StartError {
    Watch(WatchError),
    Guard(GuardError),
    Sandbox(SandboxError),
}

impl GuardedSpawner {
    /// `readonly` are the directories that commands may read besides the roots.
    pub(crate) fn new(
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
        Ok(Self { spawner, workspaces, watch, guard })
    }

    pub(super) fn watch_roots(&self) -> std::io::Result<()> {
        self.watch.start_thread()
    }

    /// Checks what the commands of a killed server left; the first command waits for it.
    pub(super) fn recover(&self) {
        let recovered =
            self.watch.refresh().map_err(|error| error_chain(&error)).and_then(|snapshot| {
                self.guard.recover(found(&snapshot)).map_err(|error| error_chain(&error))
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
        (tool, leaving): (&str, Leaving),
        command: &mut CommandSpec,
    ) -> Result<(Running, GuardedCommand<'_>), StartError> {
        let is_wanted = || call.check().is_ok();
        let call =
            GuardedCall { call_id: call.id.clone(), session_id: call.session.clone(), tool: tool.to_owned() };
        self.guard.admit(&call, leaving, is_wanted).map_err(StartError::Guard)?;
        let guarded = GuardedCommand { spawner: self, call, leaving };
        let mut tries = 1;
        loop {
            let snapshot = self.watch.refresh().map_err(StartError::Watch)?;
            let kept = self.guard.before(&guarded.call, found(&snapshot)).map_err(StartError::Guard)?;
            let kept = if leaving == Leaving::Kept { Vec::new() } else { kept };
            command.covers = covers::of(&snapshot, kept);
            // The rest is not there.
            if self.workspaces.are_divided() {
                command.covers.retain(|cover| self.is_seen(roots, &cover.path));
            }
            match self.spawner.run(command) {
                Err(SandboxError::CoverMoved(_)) if tries < MAX_TRIES => tries += 1,
                Err(error) => return Err(StartError::Sandbox(error)),
                Ok(running) => return Ok((running, guarded)),
            }
        }
    }
}

impl GuardedSpawner {
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
}

impl GuardedCommand<'_> {
    /// What it left behind for other programs to execute; or why nobody knows yet.
    pub(super) fn left_behind(self) -> Result<Vec<LeftBehind>, String> {
        let snapshot = self.spawner.watch.refresh().map_err(|error| error_chain(&error))?;
        Ok(match self.leaving {
            Leaving::TakenBack => self.spawner.guard.after(&self.call, found(&snapshot)),
            Leaving::Kept => self.spawner.guard.after_keeping(&self.call, found(&snapshot)),
        })
    }

    pub(super) fn leaving(&self) -> Leaving {
        self.leaving
    }

    /// Where what was taken back from it lies.
    pub(super) fn quarantine(&self) -> PathBuf {
        self.spawner.guard.quarantine_of(&self.call)
    }
}

impl Drop for GuardedCommand<'_> {
    fn drop(&mut self) {
        self.spawner.guard.dismiss(&self.call);
    }
}

/// What the index found, for the guard of control files.
fn found(snapshot: &Snapshot) -> impl Iterator<Item = Found<'_>> + Clone {
    snapshot.entries.iter().filter_map(|entry| {
        let kind = match entry.kind {
            EntryKind::Control => FoundKind::Control,
            EntryKind::DotGit => FoundKind::DotGit,
            EntryKind::GitDirectory => FoundKind::GitDirectory,
            EntryKind::Denied => FoundKind::Denied,
            EntryKind::NamesDenied | EntryKind::Socket | EntryKind::Unreadable => return None,
        };
        Some(Found { root: entry.root, path: &entry.path, kind })
    })
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
            Self::Guard(error) => {
                let hint =
                    "The operator must look at the roots and at `control-files` in the output directory.";
                let reason = error_chain(&error);
                tracing::error!(call_id = %call.id, reason, "control files cannot be guarded");
                let message =
                    format!("Control files cannot be guarded, so the command was not run: {reason}.");
                ToolError::new(ErrorCode::SandboxFailed, message).with_hint(hint)
            }
            Self::Watch(error) => {
                let hint = match &error {
                    WatchError::Restless => Some("Other programs keep renaming files. Try again."),
                    WatchError::Unreadable(_) => Some("The operator must let the server read its roots."),
                    WatchError::Io(_) => None,
                };
                refused(call, &error_chain(&error), hint)
            }
        }
    }
}

/// What commands must not see is not known, so nothing runs.
fn refused(call: &Call, reason: &str, retry: Option<&str>) -> ToolError {
    tracing::error!(call_id = %call.id, reason, "could not find what to hide from a command");
    let message = format!("What the command must not see could not be hidden, so it was not run: {reason}.");
    let mut error = ToolError::new(ErrorCode::SandboxFailed, message);
    error.retryable = true;
    if let Some(hint) = retry { error.with_hint(hint) } else { error }
}
