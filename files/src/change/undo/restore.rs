//! Taking a change back: the opposite of what was done, unless somebody has changed the file since.
//!
//! It is a change like any other: checked against the same rules, kept before it is made, and so undone in
//! the same way.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use protocol::{ErrorCode, EventId, SessionId, ToolError};
use rustix::fs::{AtFlags, FileType, Mode, fchmod, fstat, mkdirat, readlinkat, symlinkat, unlinkat};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::Serialize;
use toolkit::{Call, PartialReason, Scope, Success};

use super::super::attributes::keep_attributes;
use super::super::changer::Changer;
use super::super::commit::TempFile;
use super::super::current_file::size_and_mtime;
use super::super::error::{CommitError, io_error};
use super::super::request::{ChangeData, Operation};
use super::super::upload::FileBefore;
use super::contents::copy_content;
use super::kept::{KeptChange, Undoable};
use super::record::{AppendedFile, Change, ChangeRecord, KeptContent};
use crate::roots::{Entry, Missing, Roots, Target, names, open_child_directory};

/// Which change is to be undone, and with which right.
#[derive(Debug)]
pub struct UndoRequest<'a> {
    /// The call that made the changes.
    pub call_id: &'a EventId,
    /// Whether the caller may undo the changes of every token and session.
    pub of_anybody: bool,
    /// Whether all but the last step is done.
    pub dry_run: bool,
    /// Whether a change that is undone already counts as undone now.
    pub accept_undone: bool,
}

/// What undoing a change did.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UndoData {
    /// The call whose change was undone.
    pub(crate) undone_call_id: EventId,
    #[serde(flatten)]
    pub(crate) change: ChangeData,
}

/// One undo on its way.
struct Undo<'a> {
    changer: &'a Changer,
    /// As the session that made the change: its part of the roots, and its right to undo this in turn.
    call: Call,
    roots: Arc<Roots>,
    record: ChangeRecord,
    dry_run: bool,
    accept_undone: bool,
}

/// What an undo did to the file.
#[derive(Default)]
struct Done {
    operation: Operation,
    undoable: Undoable,
    before: Option<(u64, String)>,
    after: Option<(u64, String)>,
}

/// What a step of an undo did: how it is undone in turn, and the file after it.
type Made = (Undoable, Option<(u64, String)>);

impl Changer {
    /// The path that a call changed, and the session for which it did; none where nothing is kept of it.
    pub fn changed_by(&self, call: &EventId) -> Option<(String, SessionId)> {
        self.undo.find(call).map(|record| (record.path, record.session_id))
    }

    /// Undoes the change of a call.
    ///
    /// # Errors
    /// `NOT_FOUND` where nothing is kept of such a change for this caller, `CONFLICT` where the file is not
    /// as the change left it, and what the rules of the roots say about its path.
    pub fn undo(&self, call: &Call, request: &UndoRequest<'_>) -> Result<Success<UndoData>, ToolError> {
        let is_own = |record: &ChangeRecord| {
            record.session_id == *call.scope && record.token_sha256 == call.token_sha256
        };
        let record = self.undo.find(request.call_id);
        let record = record.filter(|record| request.of_anybody || is_own(record));
        let record = record.ok_or_else(|| not_kept(request.call_id))?;
        let mut call = call.clone();
        // An approver, who may undo all changes, has no named token; other callers keep their bounds.
        call.scope = Scope::new(record.session_id.clone(), call.scope.grant().cloned());
        call.token_sha256.clone_from(&record.token_sha256);
        let roots = self.workspaces.of(&call.scope)?;
        let UndoRequest { dry_run, accept_undone, .. } = *request;
        let undo = Undo { changer: self, call, roots, record, dry_run, accept_undone };
        let done = undo.run()?;
        Ok(undo.output(done))
    }
}

impl Undo<'_> {
    fn run(&self) -> Result<Done, ToolError> {
        if self.accept_undone && self.is_undone() {
            return Ok(self.finish_undone());
        }
        match &self.record.change {
            Change::FileCreated { sha256, directories } => self.remove_file(sha256, *directories),
            Change::FileReplaced { before, sha256 } => self.replace_file(before, sha256),
            Change::FileAppended(appended) => self.cut_file(appended),
            Change::FileRemoved { before } => {
                let content = self.kept_content(before)?;
                self.create(|target| self.write(target, None, &content, before.bytes))
            }
            Change::LinkRemoved { target: text } => {
                let created = Change::LinkCreated { target: text.clone() };
                self.create(|target| self.make(target, created.clone()))
            }
            Change::DirectoryRemoved { .. } => {
                self.create(|target| self.make(target, Change::DirectoryCreated))
            }
            Change::LinkCreated { target } => {
                self.remove_entry(FileType::Symlink, |entry| leads_to(entry, target))
            }
            Change::DirectoryCreated => self.remove_entry(FileType::Directory, |_| true),
        }
    }

    /// Whether all is as it was before the call. What the rules refuse to look at is not.
    fn is_undone(&self) -> bool {
        let file = || self.current_file().ok().map(|(_, found)| found);
        let entry = || self.roots.entry(&self.record.path);
        let is_gone = || entry().is_err_and(|error| error.code == ErrorCode::NotFound);
        match &self.record.change {
            Change::FileCreated { .. } | Change::LinkCreated { .. } | Change::DirectoryCreated => is_gone(),
            Change::FileReplaced { before, .. } | Change::FileRemoved { before } => {
                file().is_some_and(|found| found.sha256 == before.sha256)
            }
            Change::FileAppended(appended) => {
                file().is_some_and(|found| found.size_bytes == appended.bytes_before)
            }
            Change::LinkRemoved { target } => {
                entry().is_ok_and(|entry| entry.file_type == FileType::Symlink && leads_to(&entry, target))
            }
            Change::DirectoryRemoved { .. } => {
                entry().is_ok_and(|entry| entry.file_type == FileType::Directory)
            }
        }
    }

    /// The rest of an undo that was cut off: directories that were made for a file.
    fn finish_undone(&self) -> Done {
        let operation = match &self.record.change {
            Change::FileCreated { directories, .. } => {
                if !self.dry_run {
                    self.remove_directories(*directories);
                }
                Operation::Delete
            }
            Change::LinkCreated { .. } | Change::DirectoryCreated => Operation::Delete,
            Change::FileReplaced { .. } | Change::FileAppended(_) => Operation::Update,
            Change::FileRemoved { .. } | Change::LinkRemoved { .. } | Change::DirectoryRemoved { .. } => {
                Operation::Create
            }
        };
        Done { operation, ..Done::default() }
    }

    /// The file as it is now. It must be where it was, not where a new link leads.
    fn current_file(&self) -> Result<(Target, FileBefore), ToolError> {
        let path = &self.record.path;
        let target = self.roots.target(path, Missing::Refuse).map_err(|error| match error.code {
            ErrorCode::NotFound | ErrorCode::NotADirectory | ErrorCode::IsDirectory => {
                self.conflict("The file is gone")
            }
            _ => error,
        })?;
        self.require_same_place(&target)?;
        let Some(existing) = &target.existing else { return Err(self.conflict("The file is gone")) };
        let before = FileBefore::read(existing, path, &self.call)?;
        Ok((target, before))
    }

    fn require_same_place(&self, target: &Target) -> Result<(), ToolError> {
        if names::path_to_text(&target.path) == self.record.path {
            return Ok(());
        }
        Err(self.conflict("A directory of the path was replaced by a link"))
    }

    fn require_sha256(&self, found: &FileBefore, expected: &str) -> Result<(), ToolError> {
        if found.sha256 == expected {
            return Ok(());
        }
        Err(self
            .conflict(&format!("The file has SHA-256 {}, not {expected}, so it was changed", found.sha256)))
    }

    fn remove_file(&self, sha256: &str, directories: usize) -> Result<Done, ToolError> {
        let (target, found) = self.current_file()?;
        self.require_sha256(&found, sha256)?;
        let mut done = Done { operation: Operation::Delete, ..Done::default() };
        if !self.dry_run {
            let _lock = self.changer.temp_files.lock(&target.path);
            done.undoable =
                self.changer.remove(&self.call, &target, &found).map_err(|error| self.failed(error))?;
            self.remove_directories(directories);
        }
        done.before = Some((found.size_bytes, found.sha256));
        Ok(done)
    }

    /// Removes the directories that were made for a file, as long as nothing else is in them.
    fn remove_directories(&self, count: usize) {
        let Ok(path) = names::from_text(&self.record.path) else { return };
        for directory in Path::new(&path).ancestors().skip(1).take(count) {
            let Ok(entry) = self.roots.entry(&names::path_to_text(directory)) else { return };
            if unlinkat(&entry.parent, &entry.name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
        }
    }

    fn replace_file(&self, before: &KeptContent, sha256: &str) -> Result<Done, ToolError> {
        let (target, found) = self.current_file()?;
        if found.sha256 == before.sha256 && before.sha256 != sha256 {
            return Err(self.already());
        }
        self.require_sha256(&found, sha256)?;
        let content = self.kept_content(before)?;
        self.rewrite(&target, found, &content, before.bytes)
    }

    fn cut_file(&self, appended: &AppendedFile) -> Result<Done, ToolError> {
        let (target, found) = self.current_file()?;
        let is_same = match &appended.sha256 {
            Some(sha256) => found.sha256 == *sha256,
            None => {
                let now = size_and_mtime(&found.stat);
                AppendedFile::new(appended.bytes_before, found.size_bytes, &now) == *appended
            }
        };
        if !is_same {
            return Err(self.conflict("The file was changed"));
        }
        let existing = target.existing.as_ref().ok_or_else(|| self.conflict("The file is gone"))?;
        let content = existing.try_clone().map_err(|error| self.failed(error.into()))?;
        self.rewrite(&target, found, &content, appended.bytes_before)
    }

    fn rewrite(
        &self,
        target: &Target,
        found: FileBefore,
        content: &OwnedFd,
        bytes: u64,
    ) -> Result<Done, ToolError> {
        let mut done = Done { operation: Operation::Update, ..Done::default() };
        if !self.dry_run {
            let written = self.write(target, Some(&found), content, bytes);
            (done.undoable, done.after) = written.map_err(|error| self.failed(error))?;
        }
        done.before = Some((found.size_bytes, found.sha256));
        Ok(done)
    }

    /// Writes a content beside its place and renames it. Without a file there, it gets its own old
    /// attributes.
    fn write(
        &self,
        target: &Target,
        found: Option<&FileBefore>,
        content: &OwnedFd,
        bytes: u64,
    ) -> Result<Made, CommitError> {
        let mut lock = self.changer.temp_files.lock(&target.path);
        let (temp, mut file) = TempFile::create(target, lock.record(&target.path)?)?;
        let sha256 = copy_content(content, &mut file, bytes)?;
        match (&target.existing, found) {
            (Some(existing), Some(found)) => keep_attributes(existing, &found.stat, file.as_fd())?,
            (_, _) => keep_attributes(content, &fstat(content)?, file.as_fd())?,
        }
        self.changer.sync(&file)?;
        let undoable = self.changer.rename_into_place(&self.call, temp, target, found, &sha256)?;
        Ok((undoable, Some((bytes, sha256))))
    }

    /// Brings back what was removed, with the directories that are missing.
    fn create(&self, make: impl FnOnce(&Target) -> Result<Made, CommitError>) -> Result<Done, ToolError> {
        let missing = if self.dry_run { Missing::Plan } else { Missing::MakeParents };
        let target = self.roots.target(&self.record.path, missing).map_err(|error| match error.code {
            ErrorCode::IsDirectory | ErrorCode::NotARegularFile => {
                self.conflict("Something else is there now")
            }
            ErrorCode::NotFound => self.conflict("A link to nothing is there now"),
            _ => error,
        })?;
        let made = self.require_same_place(&target).and_then(|()| {
            if target.existing.is_some() {
                return Err(self.conflict("A file is there again"));
            }
            if self.dry_run {
                Ok(Default::default())
            } else {
                make(&target).map_err(|error| self.failed(error))
            }
        });
        let (undoable, after) = made.inspect_err(|_| target.unmake_parents())?;
        Ok(Done { operation: Operation::Create, undoable, before: None, after })
    }

    /// Makes a link or a directory.
    fn make(&self, target: &Target, change: Change) -> Result<Made, CommitError> {
        let parent = target.parent.as_ref().ok_or(Errno::NOENT)?;
        let kept = KeptChange::keep(&self.changer.undo, &self.call, &target.path, change.clone(), None);
        match (&change, &self.record.change) {
            (Change::LinkCreated { target: text }, _) => {
                let text = names::from_text(text).map_err(|_| io::Error::other("the link cannot be read"))?;
                symlinkat(text, parent, &target.name)?;
            }
            (_, Change::DirectoryRemoved { mode }) => {
                mkdirat(parent, &target.name, Mode::from_raw_mode(0o700))?;
                let directory = open_child_directory(parent.as_fd(), &target.name)?;
                fchmod(directory, Mode::from_raw_mode(mode & 0o1777))?;
            }
            (_, _) => return Err(CommitError::Changed),
        }
        let undoable = kept.made();
        self.changer.sync(&File::from(parent.try_clone()?))?;
        Ok((undoable, None))
    }

    fn remove_entry(
        &self,
        file_type: FileType,
        is_same: impl FnOnce(&Entry) -> bool,
    ) -> Result<Done, ToolError> {
        let entry = self.roots.entry(&self.record.path).map_err(|error| match error.code {
            ErrorCode::NotFound => self.already(),
            _ => error,
        })?;
        if entry.file_type != file_type || !is_same(&entry) {
            return Err(self.conflict("Something else is there now"));
        }
        let mut done = Done { operation: Operation::Delete, ..Done::default() };
        if !self.dry_run {
            let is_directory = file_type == FileType::Directory;
            let flags = if is_directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            let removed = self.changer.remove_entry(&self.call, &entry, flags);
            done.undoable = removed.map_err(|error| match error {
                CommitError::Io(error) if Errno::from_io_error(&error) == Some(Errno::NOTEMPTY) => {
                    self.conflict("The directory has something in it")
                }
                error => self.failed(error),
            })?;
        }
        Ok(done)
    }

    fn kept_content(&self, kept: &KeptContent) -> Result<OwnedFd, ToolError> {
        let found = self.changer.undo.content(&kept.sha256).map_err(|error| self.failed(error.into()))?;
        found.ok_or_else(|| {
            let message = "The kept content is gone or was changed, so this change cannot be undone.";
            ToolError::new(ErrorCode::Conflict, message)
                .with_hint("A program that held the old file open has written to it.")
        })
    }

    fn conflict(&self, what: &str) -> ToolError {
        let call = &self.record.call_id;
        ToolError::new(ErrorCode::Conflict, format!("{what} since call {call}. Nothing was undone."))
            .with_hint("Undo the later change first, or change the file by hand.")
    }

    fn already(&self) -> ToolError {
        let call = &self.record.call_id;
        ToolError::new(ErrorCode::Conflict, format!("All is as it was before call {call}: nothing to undo."))
            .with_hint("To make the change again, undo the undo.")
    }

    fn failed(&self, error: CommitError) -> ToolError {
        match error {
            CommitError::Io(error) => io_error(&self.record.path, "brought back", &error),
            other => other.into_tool_error(&self.record.path),
        }
    }

    fn output(self, done: Done) -> Success<UndoData> {
        let Done { operation, undoable, before, after } = done;
        let (path, call) = (&self.record.path, &self.record.call_id);
        let words = match (operation, self.dry_run) {
            (Operation::Create, false) => "is back",
            (Operation::Create, true) => "would be brought back",
            (Operation::Delete, false) => "was removed",
            (Operation::Delete, true) => "would be removed",
            (Operation::Update | Operation::Append, false) => "has its former content again",
            (Operation::Update | Operation::Append, true) => "would get its former content back",
        };
        Success {
            stdout: format!("{path} {words} (change of call {call}).\n"),
            notices: undoable.notice.into_iter().collect(),
            partial: self.dry_run.then_some(PartialReason::DryRun),
            path_resolved: Some(path.clone()),
            data: UndoData {
                undone_call_id: call.clone(),
                change: ChangeData {
                    operation,
                    dry_run: self.dry_run,
                    replacements: None,
                    bytes_before: before.as_ref().map(|(bytes, _)| *bytes),
                    bytes_after: after.as_ref().map(|(bytes, _)| *bytes),
                    sha256_before: before.map(|(_, sha256)| sha256),
                    sha256_after: after.map(|(_, sha256)| sha256),
                    can_be_undone: undoable.can_be_undone,
                },
            },
            truncated_lines: false,
            truncated_bytes: false,
            next_page_cursor: None,
            redacted: false,
            untrusted: false,
            seen: None,
            allowed_tools: None,
            stderr: None,
            full_output: None,
        }
    }
}

/// Whether a link has this target, which is escaped as tools show it.
fn leads_to(link: &Entry, target: &str) -> bool {
    let found = readlinkat(&link.parent, &link.name, Vec::new());
    found.is_ok_and(|found| names::to_text(found.as_bytes()) == *target)
}

fn not_kept(call: &EventId) -> ToolError {
    ToolError::new(ErrorCode::NotFound, format!("No change of call {call} can be undone here.")).with_hint(
        "A change can be undone for a week, by its own session and token; what commands changed cannot.",
    )
}
