//! The changes that can be undone, within a size and an age; the oldest are forgotten first.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use protocol::EventId;
use toolkit::locked;

use super::contents::{Contents, FileToKeep};
use super::log::Log;
use super::moved;
use super::record::ChangeRecord;
use crate::output_store::KEEP;

/// The most changes, so that the list fits into memory: some 500 bytes each.
const MAX_CHANGES: usize = 10_000;

/// What changes replaced, for as long as they can be undone.
#[derive(Debug)]
pub struct UndoStore {
    contents: Contents,
    max_bytes: u64,
    changes: Mutex<Changes>,
}

#[derive(Debug)]
struct Changes {
    log: Log,
    /// Oldest first, each with the bytes that its line takes.
    records: VecDeque<(ChangeRecord, u64)>,
    /// How many changes need each content, and its size.
    contents: HashMap<String, (usize, u64)>,
    bytes: u64,
}

/// Why a change cannot be undone.
#[derive(Debug)]
pub(crate) enum NotKept {
    /// Nothing is kept on this server.
    Off,
    TooLarge,
    Failed(io::Error),
}

impl UndoStore {
    /// Opens the store in a directory outside the roots, and forgets what has expired. What has moved with
    /// the directory into these roots is found there. With a bound of zero it keeps nothing.
    pub fn open(directory: &Path, max_bytes: u64, roots: &[&Path]) -> io::Result<Self> {
        let contents = Contents::open(directory)?;
        let mut read = Log::read(directory)?;
        read.iter_mut().for_each(|record| moved::follow(record, &contents.path, roots));
        let mut changes = Changes {
            log: Log::write(directory, read.iter())?,
            records: VecDeque::with_capacity(read.len()),
            contents: HashMap::new(),
            bytes: 0,
        };
        for record in read {
            let line = serde_json::to_vec(&record)?.len();
            changes.add(record, u64::try_from(line).unwrap_or(0));
        }
        contents.remove_others(|name| changes.contents.contains_key(name))?;
        for sha256 in changes.contents.keys() {
            contents.separate(sha256)?;
        }
        let store = Self { contents, max_bytes, changes: Mutex::new(changes) };
        store.sweep(SystemTime::now())?;
        Ok(store)
    }

    /// Whether a content of this size can be kept.
    pub(crate) fn has_room_for(&self, bytes: u64) -> Result<(), NotKept> {
        match self.max_bytes {
            0 => Err(NotKept::Off),
            max_bytes if bytes > max_bytes => Err(NotKept::TooLarge),
            _ => Ok(()),
        }
    }

    /// Keeps what a change is about to replace.
    pub(crate) fn keep(&self, record: &ChangeRecord, file: Option<&FileToKeep<'_>>) -> Result<(), NotKept> {
        self.has_room_for(record.change.kept().map_or(0, |kept| kept.bytes))?;
        let mut changes = self.changes();
        let kept = file.map_or(Ok(()), |file| self.contents.keep(file));
        let record = &ChangeRecord { kept_in: Some(self.contents.name()), ..record.clone() };
        let line = kept.and_then(|()| changes.log.append(record)).map_err(|error| {
            if let Some(file) = file {
                let is_needed = changes.contents.contains_key(file.sha256);
                let undone = if is_needed { Contents::separate } else { Contents::remove };
                let _ = undone(&self.contents, file.sha256);
            }
            NotKept::Failed(error)
        })?;
        changes.add(record.clone(), line);
        self.make_room(&mut changes).map_err(NotKept::Failed)
    }

    /// Forgets a change that was not made.
    pub(crate) fn forget(&self, call: &EventId) {
        let mut changes = self.changes();
        let Some(index) = changes.records.iter().rposition(|(record, _)| record.call_id == *call) else {
            return;
        };
        let kept = changes.records[index].0.change.kept().map(|kept| kept.sha256.clone());
        let forgotten = self.remove(&mut changes, index);
        let separated = kept.map_or(Ok(()), |sha256| self.contents.separate(&sha256));
        if let Err(error) = forgotten.and(separated) {
            tracing::warn!(%error, "a change that was not made could not be forgotten");
        }
    }

    pub(crate) fn find(&self, call: &EventId) -> Option<ChangeRecord> {
        let changes = self.changes();
        changes
            .records
            .iter()
            .rev()
            .find(|(record, _)| record.call_id == *call)
            .map(|(record, _)| record.clone())
    }

    /// The kept content with this hash, unless it is gone or was changed.
    pub(crate) fn content(&self, sha256: &str) -> io::Result<Option<OwnedFd>> {
        self.contents.find(sha256)
    }

    /// Forgets changes older than a week.
    pub(crate) fn sweep(&self, now: SystemTime) -> io::Result<()> {
        let mut changes = self.changes();
        while changes.records.front().is_some_and(|(record, _)| age(record, now) > KEEP) {
            self.remove(&mut changes, 0)?;
        }
        self.make_room(&mut changes)
    }

    fn make_room(&self, changes: &mut Changes) -> io::Result<()> {
        while changes.bytes > self.max_bytes || changes.records.len() > MAX_CHANGES {
            self.remove(changes, 0)?;
        }
        let Changes { log, records, .. } = changes;
        if log.is_long(records.len()) {
            *log = Log::write(&self.contents.path, records.iter().map(|(record, _)| record))?;
        }
        Ok(())
    }

    fn remove(&self, changes: &mut Changes, index: usize) -> io::Result<()> {
        let Some((record, line)) = changes.records.remove(index) else { return Ok(()) };
        changes.bytes -= line;
        changes.log.forget(&record.call_id)?;
        let Some(kept) = record.change.kept() else { return Ok(()) };
        let Some((users, bytes)) = changes.contents.get_mut(&kept.sha256) else { return Ok(()) };
        *users -= 1;
        if *users == 0 {
            changes.bytes -= *bytes;
            changes.contents.remove(&kept.sha256);
            self.contents.remove(&kept.sha256)?;
        }
        Ok(())
    }

    fn changes(&self) -> MutexGuard<'_, Changes> {
        locked(&self.changes)
    }
}

impl Changes {
    fn add(&mut self, record: ChangeRecord, line: u64) {
        if let Some(kept) = record.change.kept() {
            let (users, bytes) = self.contents.entry(kept.sha256.clone()).or_insert((0, kept.bytes));
            *users += 1;
            if *users == 1 {
                self.bytes += *bytes;
            }
        }
        self.bytes += line;
        self.records.push_back((record, line));
    }
}

fn age(record: &ChangeRecord, now: SystemTime) -> Duration {
    let made = UNIX_EPOCH + Duration::from_millis(u64::try_from(record.time_ms).unwrap_or(0));
    now.duration_since(made).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::PathBuf;

    use protocol::{SessionId, now_ms};

    use super::super::record::{Change, KeptContent};
    use super::*;

    struct Fixture {
        directory: tempfile::TempDir,
    }

    impl Fixture {
        fn new() -> Self {
            Self { directory: tempfile::tempdir().unwrap() }
        }

        fn open(&self) -> UndoStore {
            UndoStore::open(&self.kept(), 1 << 20, &[]).unwrap()
        }

        fn kept(&self) -> PathBuf {
            self.directory.path().join("undo")
        }

        fn file(&self, content: &str) -> PathBuf {
            let path = self.directory.path().join("f");
            fs::write(&path, content).unwrap();
            path
        }

        /// Keeps the file as for a change that is not made yet.
        fn keep(&self, store: &UndoStore, content: &str) -> ChangeRecord {
            let sha256 = protocol::hash::sha256(content.as_bytes());
            let parent = OwnedFd::from(fs::File::open(self.directory.path()).unwrap());
            let file = OwnedFd::from(fs::File::open(self.directory.path().join("f")).unwrap());
            let bytes = u64::try_from(content.len()).unwrap();
            let record = ChangeRecord {
                call_id: EventId::new(),
                session_id: SessionId::default_session(),
                token_sha256: None,
                time_ms: now_ms(),
                path: "/f".to_owned(),
                kept_in: None,
                change: Change::FileReplaced {
                    before: KeptContent { sha256: sha256.clone(), bytes },
                    sha256: "0".repeat(64),
                },
            };
            let name = std::ffi::OsStr::new("f");
            store
                .keep(&record, Some(&FileToKeep { parent: &parent, name, file: &file, sha256: &sha256 }))
                .unwrap();
            record
        }

        fn kept_contents(&self) -> usize {
            let names = fs::read_dir(self.kept()).unwrap().map(|entry| entry.unwrap().file_name());
            names.filter(|name| name.len() == 64 || name.to_string_lossy().starts_with("new-")).count()
        }
    }

    #[test]
    fn a_kill_before_the_record_leaves_no_content_behind() {
        let fixture = Fixture::new();
        let file = fixture.file("old");
        drop(fixture.open());
        fs::hard_link(&file, fixture.kept().join(protocol::hash::sha256(b"old"))).unwrap();
        fs::write(fixture.kept().join(format!("new-{}", "1".repeat(64))), "half a copy").unwrap();
        drop(fixture.open());
        assert_eq!((fixture.kept_contents(), file.metadata().unwrap().nlink()), (0, 1));
    }

    #[test]
    fn a_kill_before_the_change_leaves_the_file_alone_and_its_content_kept_apart() {
        let fixture = Fixture::new();
        let file = fixture.file("old");
        let record = fixture.keep(&fixture.open(), "old");
        assert_eq!(file.metadata().unwrap().nlink(), 2, "kept under a second name");
        let store = fixture.open();
        assert_eq!(file.metadata().unwrap().nlink(), 1, "what is kept is a file of its own");
        fs::write(&file, "changed in place").unwrap();
        let found = store.find(&record.call_id).unwrap();
        assert!(found.kept_in.is_some(), "{found:?}");
        assert_eq!(ChangeRecord { kept_in: None, ..found }, record);
        let kept = store.content(&record.change.kept().unwrap().sha256).unwrap();
        assert!(kept.is_some());
    }

    #[test]
    fn a_kill_within_a_record_loses_that_record_alone() {
        let fixture = Fixture::new();
        fixture.file("old");
        let record = fixture.keep(&fixture.open(), "old");
        let list = fixture.kept().join("changes.jsonl");
        fs::OpenOptions::new().append(true).open(list).unwrap().write_all(b"{\"call_id\":\"half").unwrap();
        let store = fixture.open();
        assert!(store.find(&record.call_id).is_some());
        let next = fixture.keep(&store, "old");
        assert!(fixture.open().find(&next.call_id).is_some(), "the list was written anew");
    }

    #[test]
    fn a_change_that_was_not_made_is_forgotten_with_its_content() {
        let fixture = Fixture::new();
        let file = fixture.file("old");
        let store = fixture.open();
        let first = fixture.keep(&store, "old");
        store.forget(&first.call_id);
        assert_eq!((fixture.kept_contents(), file.metadata().unwrap().nlink()), (0, 1));
        // The content of another change stays, and is not the file itself.
        let made = fixture.keep(&store, "old");
        fs::remove_file(&file).unwrap();
        fixture.file("old");
        let failed = fixture.keep(&store, "old");
        store.forget(&failed.call_id);
        assert_eq!((fixture.kept_contents(), file.metadata().unwrap().nlink()), (1, 1));
        assert!(store.find(&made.call_id).is_some() && store.find(&failed.call_id).is_none());
        assert!(store.content(&made.change.kept().unwrap().sha256).unwrap().is_some());
        let reopened = fixture.open();
        assert!(reopened.find(&made.call_id).is_some() && reopened.find(&failed.call_id).is_none());
    }

    #[test]
    fn the_oldest_are_forgotten_when_there_is_no_room_and_all_after_a_week() {
        let fixture = Fixture::new();
        let store = fixture.open();
        let large = |letter: &str| letter.repeat(400 * 1024);
        let kept: Vec<ChangeRecord> = ["a", "b", "c"]
            .map(|letter| {
                let file = fixture.file(&large(letter));
                let record = fixture.keep(&store, &large(letter));
                fs::remove_file(file).unwrap();
                record
            })
            .into();
        let found =
            |store: &UndoStore| kept.iter().filter(|record| store.find(&record.call_id).is_some()).count();
        assert_eq!((found(&store), fixture.kept_contents()), (2, 2));
        store.sweep(SystemTime::now() + KEEP + Duration::from_secs(60)).unwrap();
        assert_eq!((found(&store), fixture.kept_contents()), (0, 0));
    }
}
