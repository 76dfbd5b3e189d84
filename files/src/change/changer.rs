//! The changer: the workspaces, locks, temporary files and hashes that every change of a file uses.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use protocol::ToolError;
use toolkit::Call;

use super::content_hash::HashCache;
use super::current_file::CurrentFile;
use super::error::{CommitError, io_error};
use super::intents::Intents;
use super::request::ChangeRequest;
use super::temp_files::TempFiles;
use super::undo::UndoStore;
use crate::roots::{Target, Workspaces, names};

/// Whether a change is on the disk before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The file and its directory are synced.
    Synced,
    /// The page cache has it; only benchmarks use this.
    Cached,
}

/// Makes the changes of all tools.
#[derive(Debug)]
pub struct Changer {
    pub(super) workspaces: Arc<Workspaces>,
    pub(super) temp_files: TempFiles,
    pub(super) max_edit_bytes: u64,
    pub(super) hash_cache: HashCache,
    pub(super) undo: UndoStore,
    pub(super) intents: Intents,
    durability: Durability,
}

impl Changer {
    /// Opens a changer for these workspaces. `pending` is a directory outside the roots, where each change
    /// records its temporary file; leftovers of an earlier server are removed, and what it was about to do to
    /// several files at once is done.
    pub fn open(
        workspaces: Arc<Workspaces>,
        pending: &Path,
        max_edit_bytes: u64,
        undo: UndoStore,
        durability: Durability,
    ) -> io::Result<Self> {
        // Before the temporary files that it needs are removed.
        let intents = Intents::open(&pending.with_extension("several"), workspaces.whole())?;
        let temp_files = TempFiles::open(pending, workspaces.whole())?;
        let hash_cache = HashCache::default();
        Ok(Self { workspaces, temp_files, max_edit_bytes, hash_cache, undo, intents, durability })
    }

    /// Forgets changes that are too old to be undone. Call it hourly.
    pub fn sweep(&self) -> io::Result<()> {
        self.undo.sweep(SystemTime::now())
    }

    pub(super) fn read_current(&self, target: &Target, path: &str) -> Result<Option<CurrentFile>, ToolError> {
        let Some(existing) = &target.existing else { return Ok(None) };
        CurrentFile::read(existing, self.max_edit_bytes, &self.hash_cache)
            .map(Some)
            .map_err(|error| io_error(path, "read", &error))
    }

    /// The path that a change goes to, in its words. A trial's are read by the person who decides, perhaps on
    /// a phone.
    pub(super) fn shown(&self, call: &Call, request: &ChangeRequest<'_>, path: &Path) -> String {
        let roots = request.dry_run.then(|| self.workspaces.of(&call.scope).ok()).flatten();
        roots.map_or_else(|| names::path_to_text(path), |roots| roots.in_words(path))
    }

    pub(super) fn sync(&self, file: &File) -> Result<(), CommitError> {
        match self.durability {
            Durability::Synced => file.sync_all().map_err(CommitError::Io),
            Durability::Cached => Ok(()),
        }
    }
}
