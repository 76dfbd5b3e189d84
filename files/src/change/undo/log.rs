//! The list of changes on the disk: one JSON object a line, appended before the change is made.
//!
//! A line costs a `write` a few microseconds, a file of its own would cost it many times that. Lines of
//! changes that are forgotten stay until the list is rewritten, at the start and when most of it is such
//! lines.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use protocol::EventId;
use serde::{Deserialize, Serialize};

use super::record::ChangeRecord;

const NAME: &str = "changes.jsonl";

/// So few lines of forgotten changes are not worth a rewrite of the list.
const MIN_FORGOTTEN: usize = 1000;

#[derive(Debug)]
pub(super) struct Log {
    file: File,
    forgotten: usize,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Made(Box<ChangeRecord>),
    Forgotten { forgotten: EventId },
}

impl Log {
    /// The list in a directory, and the changes in it, oldest first. A line that was not written to its end
    /// is of a change that was not made.
    pub(super) fn read(directory: &Path) -> io::Result<Vec<ChangeRecord>> {
        let text = match fs::read(directory.join(NAME)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            read => read?,
        };
        let mut records: Vec<ChangeRecord> = Vec::new();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line) {
                Ok(Line::Made(record)) => records.push(*record),
                Ok(Line::Forgotten { forgotten }) => records.retain(|record| record.call_id != forgotten),
                Err(error) => tracing::warn!(%error, "a line of the list of changes is unreadable"),
            }
        }
        Ok(records)
    }

    /// Rewrites the list; a killed server leaves the old one or the new one.
    pub(super) fn write<'a>(
        directory: &Path,
        records: impl Iterator<Item = &'a ChangeRecord>,
    ) -> io::Result<Self> {
        let (path, unfinished) = (directory.join(NAME), directory.join(format!("{NAME}.new")));
        let options = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).clone();
        let mut file = io::BufWriter::new(options.open(&unfinished)?);
        for record in records {
            file.write_all(&line(&Line::Made(Box::new(record.clone())))?)?;
        }
        file.flush()?;
        fs::rename(unfinished, &path)?;
        let file = OpenOptions::new().append(true).open(path)?;
        Ok(Self { file, forgotten: 0 })
    }

    /// Appends a change; returns how long its line is.
    pub(super) fn append(&mut self, record: &ChangeRecord) -> io::Result<u64> {
        let line = line(&Line::Made(Box::new(record.clone())))?;
        let before = self.file.metadata()?.len();
        if let Err(error) = self.file.write_all(&line) {
            // What follows half a line would be lost with it.
            self.file.set_len(before)?;
            return Err(error);
        }
        Ok(u64::try_from(line.len()).unwrap_or(0))
    }

    pub(super) fn forget(&mut self, call: &EventId) -> io::Result<()> {
        self.forgotten += 1;
        self.file.write_all(&line(&Line::Forgotten { forgotten: call.clone() })?)
    }

    /// Whether most of it is lines of forgotten changes.
    pub(super) fn is_long(&self, changes: usize) -> bool {
        self.forgotten > MIN_FORGOTTEN.max(changes)
    }
}

fn line(line: &Line) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(text)
}
