//! The output store: outputs that were too long for an answer or its record, kept for a week within a size
//! limit.
//!
//! The files lie outside every root; `read` and `grep` can read them, commands never see them. Each file has
//! a unique name and a size limit, and the oldest are deleted when the total grows too large.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use protocol::FullOutput;
use protocol::hash::in_hex;
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

/// How long a saved output is kept.
pub const KEEP: Duration = Duration::from_secs(7 * 24 * 3600);

/// The largest saved output.
pub const MAX_FILE_BYTES: u64 = 64 << 20;

/// The most that all of them take.
pub const MAX_TOTAL_BYTES: u64 = 1 << 30;

/// After so many bytes that were written there is a sweep.
const SWEEP_AFTER_BYTES: u64 = 64 << 20;

/// A file takes whole blocks of the disk, whose number is given in units of this size.
const BLOCK_BYTES: u64 = 512;

/// The directory of complete outputs.
#[derive(Debug)]
pub struct OutputStore {
    directory: PathBuf,
    /// How many bytes were written since the last sweep.
    unswept: Arc<AtomicU64>,
}

/// An output that is being saved.
#[derive(Debug)]
pub struct Spill {
    file: BufWriter<File>,
    path: PathBuf,
    digest: Sha256,
    bytes: u64,
    lines: u64,
    dropped_bytes: u64,
    most_bytes: u64,
    unswept: Arc<AtomicU64>,
}

/// The file of a complete output, and the notice about it.
#[derive(Debug, Default)]
pub struct SavedOutput {
    /// The file; none when nothing was cut, or when it could not be saved.
    pub file: Option<FullOutput>,
    /// Where it is, or what was lost.
    pub notice: Option<String>,
}

impl SavedOutput {
    /// Nothing could be saved.
    pub fn lost() -> Self {
        let notice = "The complete output could not be saved; only what is shown is left.".to_owned();
        Self { file: None, notice: Some(notice) }
    }
}

impl OutputStore {
    /// Opens the store in an existing directory and sweeps it.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let store = Self { directory: directory.to_owned(), unswept: Arc::default() };
        store.sweep(SystemTime::now())?;
        Ok(store)
    }

    /// Where outputs are saved.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Deletes files older than a week, then the oldest until the rest fits.
    pub fn sweep(&self, now: SystemTime) -> io::Result<()> {
        self.unswept.store(0, Ordering::Relaxed);
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            // Another sweep may have deleted it meanwhile.
            let Some(facts) = unless_gone(entry.metadata())? else { continue };
            if facts.is_file() {
                let bytes = facts.len().max(facts.blocks() * BLOCK_BYTES);
                files.push((facts.modified()?, bytes, entry.path()));
            }
        }
        files.sort();
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (modified, bytes, path) in files {
            let is_old = now.duration_since(modified).unwrap_or_default() > KEEP;
            if is_old || total > MAX_TOTAL_BYTES {
                unless_gone(fs::remove_file(path))?;
                total -= bytes;
            }
        }
        Ok(())
    }

    /// The file of the output of this name.
    pub fn file_name(name: &str) -> String {
        format!("{name}.txt")
    }

    /// Where the output of this name lies.
    pub fn path_of(&self, name: &str) -> String {
        self.directory.join(Self::file_name(name)).display().to_string()
    }

    /// The file with this name; none if there is no such file, or this is no name of one.
    pub fn read(&self, file_name: &str) -> io::Result<Option<Vec<u8>>> {
        let mut parts = Path::new(file_name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            return Ok(None);
        }
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(self.directory.join(file_name));
        let mut file = match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        Ok(Some(content))
    }

    /// Keeps an output that its answer shows whole. One of this name that is there already stays as it is.
    pub fn keep(&self, name: &str, output: &str) -> io::Result<()> {
        let (path, mut file) = match self.create(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            created => created?,
        };
        self.unswept.fetch_add(output.len() as u64, Ordering::Relaxed);
        file.write_all(output.as_bytes()).inspect_err(|_| {
            // A part of it would look like all of it.
            let _ = fs::remove_file(path);
        })
    }

    /// Creates the file for a call's output; the name is the call's unique ID.
    pub fn begin(&self, name: &str) -> io::Result<Spill> {
        self.begin_within(name, MAX_FILE_BYTES)
    }

    /// The same with a size limit of its own.
    pub fn begin_within(&self, name: &str, most_bytes: u64) -> io::Result<Spill> {
        let (path, file) = self.create(name)?;
        let file = BufWriter::with_capacity(64 * 1024, file);
        let (digest, unswept) = (Sha256::new(), Arc::clone(&self.unswept));
        Ok(Spill { file, path, digest, bytes: 0, lines: 0, dropped_bytes: 0, most_bytes, unswept })
    }

    /// Creates a new file for its user alone, after a sweep if one is due.
    fn create(&self, name: &str) -> io::Result<(PathBuf, File)> {
        if self.unswept.load(Ordering::Relaxed) > SWEEP_AFTER_BYTES {
            self.sweep(SystemTime::now())?;
        }
        let path = self.directory.join(Self::file_name(name));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok((path, file))
    }
}

impl Spill {
    /// Appends to the file; bytes beyond its limit are only counted.
    pub fn write(&mut self, block: &[u8]) -> io::Result<()> {
        let room = usize::try_from(self.most_bytes - self.bytes).unwrap_or(usize::MAX).min(block.len());
        let (kept, beyond) = block.split_at(room);
        self.dropped_bytes += beyond.len() as u64;
        self.file.write_all(kept)?;
        self.digest.update(kept);
        self.bytes += kept.len() as u64;
        self.unswept.fetch_add(kept.len() as u64, Ordering::Relaxed);
        self.lines += u64::try_from(memchr::memchr_iter(b'\n', kept).count()).unwrap_or(0);
        Ok(())
    }

    /// Lets readers see what was written so far.
    pub fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// Deletes the file: an answer shows all of it.
    pub fn discard(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::error!(%error, "could not delete an output that is shown whole");
        }
    }

    /// Closes the file, and says where it is.
    pub fn finish(mut self) -> SavedOutput {
        if let Err(error) = self.file.flush() {
            tracing::error!(%error, "could not save the complete output of a command");
            return SavedOutput::lost();
        }
        let sha256 = in_hex(&self.digest.finalize());
        let path = self.path.display().to_string();
        let notice = if self.dropped_bytes > 0 {
            format!(
                "Only the first {} bytes of the output were saved, in {path}; {} bytes are lost.",
                self.bytes, self.dropped_bytes
            )
        } else {
            format!("The complete output is in {path}; `read` and `grep` can open it.")
        };
        let file = FullOutput { path, sha256, bytes: self.bytes, lines: self.lines };
        SavedOutput { file: Some(file), notice: Some(notice) }
    }
}

/// None where there is no such file any more.
fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store() -> (tempfile::TempDir, OutputStore) {
        let directory = tempfile::tempdir().unwrap();
        let store = OutputStore::open(directory.path()).unwrap();
        (directory, store)
    }

    #[test]
    fn a_file_is_named_hashed_and_counted() {
        let (_directory, store) = store();
        let mut spill = store.begin("call").unwrap();
        spill.write(b"one\n").unwrap();
        spill.write(b"two\n").unwrap();
        let full = spill.finish().file.unwrap();
        assert_eq!((full.bytes, full.lines), (8, 2));
        assert_eq!(full.sha256, protocol::hash::sha256(b"one\ntwo\n"));
        assert_eq!(fs::read(&full.path).unwrap(), b"one\ntwo\n");
        assert!(store.begin("call").is_err(), "a name is used once");
    }

    #[test]
    fn a_file_ends_at_its_bound_and_says_what_is_lost() {
        let (_directory, store) = store();
        let mut spill = store.begin("call").unwrap();
        let block = vec![b'x'; 1 << 20];
        (0..65).for_each(|_| spill.write(&block).unwrap());
        let whole = spill.finish();
        assert_eq!(whole.file.unwrap().bytes, MAX_FILE_BYTES);
        assert!(whole.notice.unwrap().contains("1048576 bytes are lost"));
    }

    #[test]
    fn a_short_output_is_kept_for_its_user_alone_and_never_replaces_another() {
        let (directory, store) = store();
        store.keep("call", "all of it\n").unwrap();
        store.keep("call", "another").unwrap();
        let file = directory.path().join(OutputStore::file_name("call"));
        assert_eq!(fs::read_to_string(&file).unwrap(), "all of it\n");
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_is_kept_is_swept_as_any_other_output_when_much_was_written() {
        let (directory, store) = store();
        store.keep("old", "x").unwrap();
        let old = File::options().write(true).open(directory.path().join("old.txt")).unwrap();
        old.set_modified(SystemTime::now() - KEEP - Duration::from_secs(1)).unwrap();
        store.keep("next", "x").unwrap();
        assert!(directory.path().join("old.txt").exists(), "little was written");
        let mut spill = store.begin("long").unwrap();
        let block = vec![b'x'; 1 << 20];
        (0..64).for_each(|_| spill.write(&block).unwrap());
        store.keep("last", "x").unwrap();
        assert!(!directory.path().join("old.txt").exists());
        assert!(["next.txt", "long.txt", "last.txt"].iter().all(|name| directory.path().join(name).exists()));
    }

    #[test]
    fn what_is_older_than_a_week_is_swept() {
        let (directory, store) = store();
        for name in ["old", "new"] {
            store.begin(name).unwrap();
        }
        let old = File::options().write(true).open(directory.path().join("old.txt")).unwrap();
        old.set_modified(SystemTime::now() - KEEP - Duration::from_secs(1)).unwrap();
        store.sweep(SystemTime::now()).unwrap();
        assert!(!directory.path().join("old.txt").exists() && directory.path().join("new.txt").exists());
    }
}
