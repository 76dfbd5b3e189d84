//! The files of the copy: those of the journal there, with the same numbers and the same bytes.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use protocol::hash::sha256;
use protocol::journal::{ARGUMENTS_DIRECTORY, archive_name};
use protocol::{JournalPlace, now_ms};

use crate::event_stream::StreamEvent;
use crate::journal::files::Files;

/// How much is read at once in search of a line's beginning.
const BLOCK_BYTES: u64 = 64 * 1024;

/// The copy, as far as it goes.
#[derive(Debug)]
pub(super) struct CopiedFiles {
    journal: PathBuf,
    file: File,
    /// Where it ends.
    end: JournalPlace,
    /// The last record that it has.
    last: Option<LastLine>,
}

/// The last line, with which the journal there has to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LastLine {
    pub(super) text: Vec<u8>,
    /// Where it begins, and where it ends.
    pub(super) from: JournalPlace,
    pub(super) to: JournalPlace,
}

impl CopiedFiles {
    /// Opens the copy and cuts off half a line.
    pub(super) fn open(journal: &Path) -> io::Result<Self> {
        let file = open_own(journal)?;
        let files = Files::list(journal)?;
        let number = files.newest();
        let length = file.metadata()?.len();
        let offset = end_of_last_line(&file, length)?;
        if offset < length {
            file.set_len(offset)?;
        }
        let end = JournalPlace { file: number, offset };
        let last = match offset {
            0 => last_of_full(&files, number)?,
            _ => last_line(&file, end)?,
        };
        Ok(Self { journal: journal.to_owned(), file, end, last })
    }

    pub(super) fn end(&self) -> JournalPlace {
        self.end
    }

    pub(super) fn last(&self) -> Option<&LastLine> {
        self.last.as_ref()
    }

    /// Appends records, each with its place, and has them on the disk. Those that the copy has are skipped.
    pub(super) fn append(&mut self, events: &[StreamEvent]) -> io::Result<()> {
        let mut text = Vec::new();
        for event in events {
            let to = JournalPlace::of(event.id.ok_or_else(|| wrong("a record has no number"))?);
            if self.last.as_ref().is_some_and(|last| to <= last.to) {
                continue;
            }
            if to.file != self.end.file {
                self.write(&mut text)?;
                self.go_to(to.file)?;
            }
            let length = u64::try_from(event.data.len()).unwrap_or(u64::MAX).saturating_add(1);
            if to.offset.checked_sub(length) != Some(self.end.offset) {
                return Err(wrong("a record does not follow the one before it"));
            }
            text.extend_from_slice(&event.data);
            text.push(b'\n');
            self.last = Some(LastLine { text: event.data.clone(), from: self.end, to });
            self.end = to;
        }
        self.write(&mut text)
    }

    fn write(&mut self, text: &mut Vec<u8>) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.file.write_all(text)?;
        self.file.sync_data()?;
        text.clear();
        Ok(())
    }

    /// Goes on in the file with this number: the next one, or the first that is there at all.
    fn go_to(&mut self, number: u64) -> io::Result<()> {
        let is_new = self.last.is_none() && self.end.offset == 0 && self.end.file == 1;
        let before = number.checked_sub(1).filter(|before| *before > 0);
        let before = before.ok_or_else(|| wrong("a record is in no file"))?;
        let full = self.journal.with_file_name(archive_name(name(&self.journal), before));
        if is_new {
            // Where the oldest files are gone, an empty one keeps the numbers.
            open_own(&full)?;
        } else if number == self.end.file + 1 {
            fs::rename(&self.journal, &full)?;
        } else {
            return Err(wrong("a file of the journal is missing"));
        }
        self.file = open_own(&self.journal)?;
        File::open(directory(&self.journal))?.sync_all()?;
        self.end = JournalPlace { file: number, offset: 0 };
        Ok(())
    }

    /// Moves the copy away, where it stays, and begins another one. Returns where it is.
    pub(super) fn replace(&mut self) -> io::Result<PathBuf> {
        let away = directory(&self.journal).join(format!("replaced-{}", now_ms()));
        DirBuilder::new().mode(0o700).create(&away)?;
        let files = Files::list(&self.journal)?;
        for (_, full) in files.full_before(u64::MAX) {
            fs::rename(full, away.join(full.file_name().unwrap_or_default()))?;
        }
        fs::rename(&self.journal, away.join(name(&self.journal)))?;
        *self = Self::open(&self.journal)?;
        Ok(away)
    }

    /// Whether the arguments with this name are there.
    pub(super) fn has_arguments(&self, name: &str) -> bool {
        self.arguments(name).exists()
    }

    /// Keeps the arguments of a record. They are what their name says.
    pub(super) fn keep_arguments(&self, name: &str, content: &[u8]) -> io::Result<()> {
        if sha256(content) != name {
            return Err(wrong("the arguments are not those that the record names"));
        }
        let at = self.arguments(name);
        DirBuilder::new().recursive(true).mode(0o700).create(directory(&at))?;
        let new = at.with_extension("new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(content)?;
        file.sync_data()?;
        fs::rename(&new, &at)
    }

    fn arguments(&self, name: &str) -> PathBuf {
        self.journal.with_file_name(ARGUMENTS_DIRECTORY).join(name)
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn name(journal: &Path) -> &str {
    journal.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn directory(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

fn open_own(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)
}

/// The last line of the newest full file that has one.
fn last_of_full(files: &Files, before: u64) -> io::Result<Option<LastLine>> {
    let full: Vec<_> = files.full_before(before).collect();
    for (number, path) in full.into_iter().rev() {
        let file = File::open(path)?;
        let offset = file.metadata()?.len();
        if offset > 0 {
            return last_line(&file, JournalPlace { file: number, offset });
        }
    }
    Ok(None)
}

fn last_line(file: &File, to: JournalPlace) -> io::Result<Option<LastLine>> {
    let end = to.offset.saturating_sub(1);
    let from = JournalPlace { file: to.file, offset: end_of_last_line(file, end)? };
    let mut text = vec![0; usize::try_from(end - from.offset).unwrap_or(0)];
    file.read_exact_at(&mut text, from.offset)?;
    Ok(Some(LastLine { text, from, to }))
}

/// Where the last line in the first `end` bytes ends.
fn end_of_last_line(file: &File, mut end: u64) -> io::Result<u64> {
    while end > 0 {
        let from = end.saturating_sub(BLOCK_BYTES);
        let mut block = vec![0; usize::try_from(end - from).unwrap_or(0)];
        file.read_exact_at(&mut block, from)?;
        if let Some(at) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(from + u64::try_from(at).unwrap_or(0) + 1);
        }
        end = from;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Copied(tempfile::TempDir);

    impl Copied {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn journal(&self) -> PathBuf {
            self.0.path().join("calls.jsonl")
        }

        fn open(&self) -> CopiedFiles {
            CopiedFiles::open(&self.journal()).unwrap()
        }

        fn text(&self, name: &str) -> String {
            fs::read_to_string(self.0.path().join(name)).unwrap()
        }
    }

    fn record(file: u64, offset: u64, text: &str) -> StreamEvent {
        let id = Some(JournalPlace { file, offset }.number());
        StreamEvent { id, data: text.as_bytes().to_vec() }
    }

    #[test]
    fn the_copy_has_the_same_files_and_goes_on_after_a_kill_at_any_place() {
        let copied = Copied::new();
        let records = [record(1, 4, "one"), record(1, 8, "two"), record(2, 6, "three"), record(3, 5, "four")];
        for number in 0..records.len() {
            let mut files = copied.open();
            assert_eq!(
                files.last().map(|last| last.to.number()),
                number.checked_sub(1).and_then(|n| records[n].id)
            );
            // Each is skipped that is there.
            files.append(&records[..=number]).unwrap();
            fs::write(copied.journal(), copied.text("calls.jsonl") + "half").unwrap();
        }
        let files = copied.open();
        assert_eq!(files.end(), JournalPlace { file: 3, offset: 5 });
        let last = files.last().unwrap();
        assert_eq!((last.text.as_slice(), last.from.offset, last.to.offset), (&b"four"[..], 0, 5));
        let [first, second] = [1, 2].map(|number| copied.text(&archive_name("calls.jsonl", number)));
        assert_eq!((first.as_str(), second.as_str()), ("one\ntwo\n", "three\n"));
        assert_eq!(copied.text("calls.jsonl"), "four\n");
    }

    #[test]
    fn the_numbers_stay_where_the_oldest_files_are_gone() {
        let copied = Copied::new();
        copied.open().append(&[record(5, 4, "one"), record(6, 4, "two")]).unwrap();
        assert_eq!(copied.text(&archive_name("calls.jsonl", 5)), "one\n");
        let files = copied.open();
        assert_eq!(files.last().unwrap().from, JournalPlace { file: 6, offset: 0 });
        assert_eq!(Files::list(&copied.journal()).unwrap().oldest(), 4);
    }

    #[test]
    fn what_does_not_follow_is_refused_and_another_copy_leaves_the_first_where_it_is() {
        let copied = Copied::new();
        let mut files = copied.open();
        assert!(files.append(&[record(0, 4, "one")]).is_err());
        files.append(&[record(1, 4, "one")]).unwrap();
        for bad in [record(1, 9, "two"), record(3, 4, "two"), StreamEvent::default()] {
            let error = files.append(&[bad]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        }
        let away = files.replace().unwrap();
        assert_eq!(fs::read_to_string(away.join("calls.jsonl")).unwrap(), "one\n");
        assert_eq!(
            (files.end().number(), files.last()),
            (JournalPlace { file: 1, offset: 0 }.number(), None)
        );
        files.append(&[record(1, 6, "other")]).unwrap();
        assert_eq!(copied.text("calls.jsonl"), "other\n");
        let refused = files.keep_arguments(&"0".repeat(64), b"{}").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        let name = sha256(b"{}");
        files.keep_arguments(&name, b"{}").unwrap();
        assert!(files.has_arguments(&name));
    }
}
