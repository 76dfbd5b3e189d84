//! The files of approvals: one each, replaced as a whole and synced before it is announced.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use protocol::EventId;
use serde::{Deserialize, Serialize};

use super::Approval;

#[derive(Debug)]
pub(super) struct Store(PathBuf);

/// What a file holds.
#[derive(Serialize, Deserialize)]
struct Stored<A> {
    #[serde(flatten)]
    approval: A,
    /// The ID of the record that is not known to be in the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owed_record: Option<EventId>,
}

impl Store {
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        Ok(Self(directory.to_owned()))
    }

    /// All approvals, each with the ID of the record that it owes. A file that was cut short by a power loss
    /// was never announced.
    pub(super) fn read_all(&self) -> io::Result<Vec<(Approval, Option<EventId>)>> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                let parsed: Result<Stored<Approval>, _> = serde_json::from_slice(&fs::read(&path)?);
                let stored = parsed.map_err(|error| {
                    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()))
                })?;
                all.push((stored.approval, stored.owed_record));
            } else {
                fs::remove_file(path)?;
            }
        }
        Ok(all)
    }

    pub(super) fn write(&self, approval: &Approval, owed_record: Option<&EventId>) -> io::Result<()> {
        let path = self.path(&approval.id);
        let temporary = path.with_extension("new");
        let mut file =
            OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&temporary)?;
        let stored = Stored { approval, owed_record: owed_record.cloned() };
        file.write_all(&serde_json::to_vec(&stored)?)?;
        file.sync_data()?;
        fs::rename(temporary, path)?;
        File::open(&self.0)?.sync_all()
    }

    pub(super) fn remove(&self, id: &EventId) -> io::Result<()> {
        fs::remove_file(self.path(id))
    }

    fn path(&self, id: &EventId) -> PathBuf {
        // An ID could be any text; a name of a file must not lead elsewhere.
        self.0.join(format!("{}.json", protocol::hash::sha256(id.as_str().as_bytes())))
    }
}
