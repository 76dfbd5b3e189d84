//! The guard: remembers the hazards before a command, and takes away those that came with it.
//!
//! The content of the roots while no command runs is the operator's own. From the first command that starts
//! to the last that ends, everything new is the commands': the first that ends takes away what is there, of
//! what its session may use. What counts is the state that is left, not the way it came.
//!
//! A command that may leave control files runs while no other does, because nothing else shows which are its
//! own; what it leaves is then taken for the operator's.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use files::roots::Workspaces;
use rustix::time::{ClockId, clock_gettime};
use sandbox::{Cover, CoverKind};
use toolkit::locked;

use super::flood::{self, Flood};
use super::guard_error::GuardError;
use super::hazard::{Hazard, What};
use super::inspect::{Allowed, Before, Inspection, Inspector, Place};
use super::quarantine::Quarantine;
use super::records::Records;
use super::running::GuardedCall;
use super::take_back::{LeftBehind, take_back};
use super::tree::Tree;
use crate::watch::{Entry, EntryKind};

/// How often we look again after taking something back, since it may have hidden something else.
const MAX_PASSES: usize = 4;

/// How often a command that waits for others looks whether it is still wanted.
const LOOK_UP: Duration = Duration::from_millis(100);

impl std::fmt::Debug for ControlGuard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ControlGuard")
    }
}

/// What becomes of the control files that a command leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// They are taken back.
    TakenBack,
    /// They stay: a person or a rule has allowed it.
    Kept,
}

/// Called with what the command of a killed server left, and its call.
pub type Recovered = Box<dyn Fn(&GuardedCall, &[LeftBehind]) + Send + Sync>;

/// Reverts the control files that commands add.
pub struct ControlGuard {
    workspaces: Arc<Workspaces>,
    recovered: Recovered,
    quarantine: Quarantine,
    records: Records,
    state: Mutex<State>,
    /// A command ended.
    ended: Condvar,
}

#[derive(Debug)]
struct State {
    tree: Tree,
    /// What was there before the running commands; none before the first.
    known: Option<BTreeSet<Hazard>>,
    running: BTreeSet<GuardedCall>,
    /// When the first of the running commands began, or a little before; none for those of a killed server.
    since: Option<SystemTime>,
    /// Control files that commands brought along: they stay, and are not kept from commands.
    brought: BTreeSet<Place>,
    /// Commands that ended, or whose server was killed, without a check.
    unchecked: BTreeSet<GuardedCall>,
    /// What could not be taken back.
    stuck: BTreeMap<Hazard, GuardedCall>,
    /// The commands that may start or have.
    admitted: BTreeSet<GuardedCall>,
    /// The command that runs alone, or waits until it does.
    alone: Option<GuardedCall>,
}

impl ControlGuard {
    /// `output` is the directory of the quarantine and of the guard's records, outside the roots.
    pub fn open(workspaces: Arc<Workspaces>, output: &Path, recovered: Recovered) -> io::Result<Self> {
        let records = Records::open(output)?;
        let quarantine = Quarantine::open(output)?;
        quarantine.sweep(SystemTime::now())?;
        let state = State {
            tree: Tree::open(Arc::clone(workspaces.whole()))?,
            known: None,
            running: BTreeSet::new(),
            since: None,
            brought: BTreeSet::new(),
            unchecked: records.unchecked(),
            stuck: BTreeMap::new(),
            admitted: BTreeSet::new(),
            alone: None,
        };
        let state = Mutex::new(state);
        Ok(Self { workspaces, recovered, quarantine, records, state, ended: Condvar::new() })
    }

    /// Checks what commands left that were not checked when they ended, such as those of a killed server.
    /// Without this, the next command does it.
    pub(crate) fn recover(&self, found: &[Entry]) -> Result<(), GuardError> {
        let mut state = self.state();
        let state = &mut *state;
        if !state.unchecked.is_empty() && state.known.is_none() {
            state.known = Some(self.records.load_known(&state.tree).map_err(GuardError::Unknown)?);
        }
        for call in state.unchecked.clone() {
            let left = self.check(state, &call, found);
            for left in &left {
                let LeftBehind { path, why, taken_back } = left;
                tracing::warn!(
                    call_id = %call.call_id, path = %path.display(), why, taken_back,
                    "a command that was not checked left a control file"
                );
            }
            state.unchecked.remove(&call);
            if !left.is_empty() || call.process.is_some() {
                (self.recovered)(&call, &left);
            }
        }
        if state.running.is_empty() {
            let known = state.known.clone().unwrap_or_default();
            let before = Before { known: &known, since: None, brought: &state.brought };
            let allowed = if state.known.is_some() { Allowed::Only(before) } else { Allowed::All };
            let inspection = Inspector::inspect(&mut state.tree, allowed, found);
            self.protect(state, &inspection);
        }
        Ok(())
    }

    /// Gives the server back the right to look into the directories that commands have left without it. The
    /// index must look again into those that it names. What people have closed stays closed.
    pub(crate) fn open_up(&self, found: &[Entry]) -> Vec<PathBuf> {
        let mut state = self.state();
        let state = &mut *state;
        if state.running.is_empty() && state.unchecked.is_empty() {
            return Vec::new();
        }
        if state.known.is_none() {
            // Without it, the check that follows says why it cannot be made.
            let Ok(known) = self.records.load_known(&state.tree) else { return Vec::new() };
            state.known = Some(known);
        }
        let closed = |entry: &&Entry| entry.kind == EntryKind::Unreadable && state.tree.has_root(entry.root);
        let new = found.iter().filter(closed).filter(|entry| {
            let hazard = Hazard::new(entry.root, &entry.path, What::Unseen);
            state.known.as_ref().is_none_or(|known| !known.contains(&hazard))
        });
        let opened = new.filter(|entry| state.tree.allow(entry.root, &entry.path));
        opened.map(|entry| state.tree.absolute(entry.root, &entry.path)).collect()
    }

    /// Refuses a command from which closed directories cannot be hidden, if it could get into one.
    pub(crate) fn require_seen(&self) -> Result<(), GuardError> {
        let state = self.state();
        let closed =
            state.known.iter().flatten().find(|hazard| {
                hazard.what == What::Unseen && state.tree.may_enter(hazard.root, &hazard.path)
            });
        closed.map_or(Ok(()), |hazard| {
            Err(GuardError::Unseen(format!("{:?}", state.tree.absolute(hazard.root, &hazard.path))))
        })
    }

    /// Waits until a command may run beside those that do; then [`Self::dismiss`] must follow.
    pub(crate) fn admit(
        &self,
        call: &GuardedCall,
        leaving: Leaving,
        is_wanted: impl Fn() -> bool,
    ) -> Result<(), GuardError> {
        let mut state = self.state();
        loop {
            if leaving == Leaving::Kept && state.admitted.iter().any(|other| other.process.is_some()) {
                self.give_up(&mut state, call);
                return Err(GuardError::Processes);
            }
            let is_free = state.alone.as_ref().is_none_or(|alone| alone == call);
            if is_free && leaving == Leaving::Kept {
                state.alone = Some(call.clone());
            }
            if is_free && (leaving == Leaving::TakenBack || state.admitted.is_empty()) {
                state.admitted.insert(call.clone());
                return Ok(());
            }
            if !is_wanted() {
                self.give_up(&mut state, call);
                return Err(GuardError::Busy);
            }
            let waited = self.ended.wait_timeout(state, LOOK_UP);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A command that was to run alone will not run.
    fn give_up(&self, state: &mut State, call: &GuardedCall) {
        if state.alone.as_ref() == Some(call) {
            state.alone = None;
            self.ended.notify_all();
        }
    }

    /// Notes the hazards before a command, and says which files it must not change.
    ///
    /// Every call of this is followed by one of [`Self::after`], whether or not the command ran.
    pub(crate) fn before(&self, call: &GuardedCall, found: &[Entry]) -> Result<Vec<Cover>, GuardError> {
        if !self.state().unchecked.is_empty() {
            self.recover(found)?;
        }
        let mut state = self.state();
        let state = &mut *state;
        self.retry_stuck(state, call, found)?;
        let inspection = if state.running.iter().all(|other| other == call) {
            let inspection = Inspector::inspect(&mut state.tree, Allowed::All, found);
            state.tree.forget_unused();
            state.since = Some(file_time());
            if state.known.as_ref().is_none_or(|known| !known.iter().eq(inspection.hazards.keys())) {
                let known = self.of_people(state, &inspection);
                self.records.save_known(&state.tree, &known).map_err(GuardError::Note)?;
                state.known = Some(known);
            }
            inspection
        } else {
            let known = state.known.get_or_insert_default();
            let before = Before { known, since: state.since, brought: &state.brought };
            Inspector::inspect(&mut state.tree, Allowed::Only(before), found)
        };
        self.records.begin(call).map_err(GuardError::Note)?;
        state.running.insert(call.clone());
        self.protect(state, &inspection);
        Ok(kept(state, &inspection))
    }

    /// Takes back what came since the first of the running commands started, as far as the command could
    /// reach.
    pub(crate) fn after(&self, call: &GuardedCall, found: &[Entry]) -> Vec<LeftBehind> {
        let mut state = self.state();
        let left = self.take_new(&mut state, call, found);
        state.running.remove(call);
        self.end_record(&state, call);
        left
    }

    /// Whether no command runs but background processes: all others end soon, and have what is left looked
    /// for.
    pub(crate) fn is_left_alone(&self) -> bool {
        self.state().running.iter().all(|call| call.process.is_some())
    }

    /// The same as [`Self::after`] for a background process that still runs.
    pub(crate) fn meanwhile(&self, call: &GuardedCall, found: &[Entry]) -> Vec<LeftBehind> {
        let mut state = self.state();
        if state.running.contains(call) { self.take_new(&mut state, call, found) } else { Vec::new() }
    }

    /// Takes back what a command left too much of, by root and path.
    pub(crate) fn take_flood(
        &self,
        call: &GuardedCall,
        flood: Flood,
        entries: &[(usize, PathBuf)],
    ) -> Vec<LeftBehind> {
        let state = self.state();
        let is_own = self.workspaces.belongs_to(&call.session_id);
        let own: Vec<_> = entries.iter().filter(|(_, path)| is_own(path)).cloned().collect();
        flood::take(&state.tree, &self.quarantine, &self.output_name(call), (flood, &own))
    }

    /// The same for a command that ran alone and may leave what it has: from now on it was there before.
    pub(crate) fn after_keeping(&self, call: &GuardedCall, found: &[Entry]) -> Vec<LeftBehind> {
        let mut state = self.state();
        let inspection = Inspector::inspect(&mut state.tree, Allowed::All, found);
        let before = state.known.take().unwrap_or_default();
        let is_own = self.workspaces.belongs_to(&call.session_id);
        let new = inspection.hazards.iter().filter(|(hazard, _)| !before.contains(hazard));
        let left = new
            .filter(|(hazard, _)| is_own(&hazard.path))
            .map(|(hazard, why)| LeftBehind {
                path: state.tree.absolute(hazard.root, &hazard.path),
                why: why.clone(),
                taken_back: false,
            })
            .collect();
        let known = inspection.hazards.keys().cloned().collect();
        state.known = match self.records.save_known(&state.tree, &known) {
            Ok(()) => Some(known),
            // The next command tries again.
            Err(error) => {
                tracing::error!(%error, "could not note what a command may leave");
                Some(before)
            }
        };
        self.protect(&state, &inspection);
        self.records.end(call);
        state.running.remove(call);
        left
    }

    /// A command has ended, or was not started. If its check was not made, the next command makes it.
    pub(crate) fn dismiss(&self, call: &GuardedCall) {
        let mut state = self.state();
        if state.running.remove(call) {
            state.unchecked.insert(call.clone());
        }
        state.admitted.remove(call);
        if state.alone.as_ref() == Some(call) {
            state.alone = None;
        }
        self.ended.notify_all();
    }

    /// Where the things of a call lie.
    pub(crate) fn quarantine_of(&self, call: &GuardedCall) -> PathBuf {
        self.quarantine.of_call(&self.output_name(call))
    }

    /// Takes back what a command left that was not checked when it ended.
    fn check(&self, state: &mut State, call: &GuardedCall, found: &[Entry]) -> Vec<LeftBehind> {
        let left = self.take_new(state, call, found);
        self.end_record(state, call);
        left
    }

    /// The record of a command stays as long as something of it does.
    fn end_record(&self, state: &State, call: &GuardedCall) {
        if state.stuck.values().all(|other| other != call) && !state.running.contains(call) {
            self.records.end(call);
        }
    }

    /// Takes back what came since the first of the running commands started.
    fn take_new(&self, state: &mut State, call: &GuardedCall, found: &[Entry]) -> Vec<LeftBehind> {
        let before = state.known.take();
        let nothing = BTreeSet::new();
        let known = before.as_ref().unwrap_or(&nothing);
        let is_own = self.workspaces.belongs_to(&call.session_id);
        let mut left = Vec::new();
        for _ in 0..MAX_PASSES {
            let before = Before { known, since: state.since, brought: &state.brought };
            let inspection = Inspector::inspect(&mut state.tree, Allowed::Only(before), found);
            state.brought.extend(inspection.brought);
            let new: BTreeMap<Hazard, String> = inspection
                .hazards
                .into_iter()
                .filter(|(hazard, _)| !known.contains(hazard) && !state.stuck.contains_key(hazard))
                .filter(|(hazard, _)| is_own(&hazard.path))
                .collect();
            if new.is_empty() {
                break;
            }
            let (more, stuck) = take_back(&state.tree, &self.quarantine, &self.output_name(call), &new);
            left.extend(more);
            state.stuck.extend(stuck.into_iter().map(|hazard| (hazard, call.clone())));
        }
        state.known = before;
        if !left.is_empty()
            && let Err(error) = self.quarantine.sweep(SystemTime::now())
        {
            tracing::error!(%error, "could not delete what has been in the quarantine for too long");
        }
        left
    }

    /// Tries once more to take away the stuck hazards; as long as one remains that the command could use, it
    /// does not run.
    fn retry_stuck(&self, state: &mut State, next: &GuardedCall, found: &[Entry]) -> Result<(), GuardError> {
        for (hazard, call) in std::mem::take(&mut state.stuck) {
            if state.stuck.values().all(|other| *other != call) {
                self.check(state, &call, found);
            }
            tracing::debug!(path = %hazard.path.display(), "tried again to take a control file back");
        }
        let is_own = self.workspaces.belongs_to(&next.session_id);
        let paths: BTreeSet<String> = state
            .stuck
            .keys()
            .filter(|hazard| is_own(&hazard.path))
            .map(|hazard| format!("{:?}", state.tree.absolute(hazard.root, &hazard.path)))
            .collect();
        if paths.is_empty() {
            return Ok(());
        }
        Err(GuardError::Stuck(paths.into_iter().take(8).collect::<Vec<_>>().join(", ")))
    }

    /// What was there before, without what file tools wrote before it became a hazard: that is a caller's,
    /// and is taken back like what the command leaves.
    fn of_people(&self, state: &State, inspection: &Inspection) -> BTreeSet<Hazard> {
        let roots = self.workspaces.whole();
        let was_known = |hazard: &Hazard| state.known.as_ref().is_some_and(|known| known.contains(hazard));
        let is_of_people = |hazard: &&Hazard| {
            was_known(hazard) || !roots.was_written(&state.tree.absolute(hazard.root, &hazard.path))
        };
        inspection.hazards.keys().filter(is_of_people).cloned().collect()
    }

    /// What the things of a call are called in the quarantine.
    fn output_name(&self, call: &GuardedCall) -> String {
        self.workspaces.output_name(&call.session_id, call.token.as_deref(), &call.call_id)
    }

    /// Tells the file tools what git reads and runs because a setting names it.
    fn protect(&self, state: &State, inspection: &Inspection) {
        let named = inspection.named.iter().map(|(root, path)| state.tree.absolute(*root, path));
        self.workspaces.whole().set_named_by_git(named.collect());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }
}

/// The time that a file made now gets: the kernel's clock for files ticks every few milliseconds.
fn file_time() -> SystemTime {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanoseconds = u32::try_from(now.tv_nsec).unwrap_or(0);
    UNIX_EPOCH + Duration::new(seconds, nanoseconds)
}

/// What the sandbox keeps as it is: hooks and control files by name that were there before. The directory of
/// hooks could be renamed and replaced, so its git directory keeps its name.
fn kept(state: &State, inspection: &Inspection) -> Vec<Cover> {
    let mut kept = Vec::new();
    let mut whole: Option<(usize, &Path)> = None;
    let names = inspection.with_hooks.iter().map(|(root, path)| (*root, path.as_path(), CoverKind::Pin));
    let known = state.known.iter().flatten().filter_map(|hazard| match hazard.what {
        What::Directory | What::File(_) => Some((hazard.root, hazard.path.as_path(), CoverKind::ReadOnly)),
        What::Link(_) | What::Special | What::Unseen => None,
        What::Setting(_) | What::UnreadableConfig(_) | What::RebaseCommands(_) => None,
        What::ForbiddenPaths(_) | What::ForbiddenRefs(_) => None,
    });
    let mut places: Vec<_> = names.chain(known).collect();
    places.sort_by_key(|(root, path, _)| (*root, *path));
    for (root, path, kind) in places {
        let is_covered = whole.is_some_and(|(other, above)| other == root && path.starts_with(above));
        let mut above = path.ancestors();
        let was_brought =
            !state.brought.is_empty() && above.any(|above| state.brought.contains(&(root, above.to_owned())));
        if is_covered || was_brought {
            continue;
        }
        let Some(stat) = state.tree.stat(root, path) else { continue };
        if kind == CoverKind::ReadOnly {
            whole = Some((root, path));
        }
        let path = state.tree.absolute(root, path);
        kept.push(Cover { path, device: stat.st_dev, inode: stat.st_ino, kind });
    }
    kept
}
