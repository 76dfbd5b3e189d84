//! Reads the paths in git's index, of any version and size, as git reads them.
//!
//! What a checkout writes is what the index says, and git checks paths only when it puts them there. The
//! index is read as a stream, so its size does not matter. This module judges no path.

use std::io::{self, BufRead, Read};

/// The entry's header before its object: times, device, inode, mode, owner and size.
const STATUS_BYTES: usize = 40;

/// In the flags: the length of the name, which says nothing where all its bits are set.
const LENGTH: u16 = 0x0fff;

/// In the flags: more flags follow.
const EXTENDED: u16 = 0x4000;

/// The mode of a directory, which a sparse index has.
const DIRECTORY: u32 = 0o040_000;

/// The longest path that we look at; the kernel takes none of this length.
const MAX_NAME_BYTES: usize = 1 << 16;

/// The lengths of an object's name: SHA-1 and SHA-256.
pub(super) const OBJECT_BYTES: [usize; 2] = [20, 32];

/// Gives each path of an index whose objects have names of this length. An error says that this is no such
/// index to its end.
pub(super) fn read_paths(
    index: impl BufRead,
    size_bytes: u64,
    object_bytes: usize,
    take: &mut dyn FnMut(&[u8]),
) -> io::Result<()> {
    let mut reader = Reader { inner: index, at: 0 };
    if reader.bytes::<4>()? != *b"DIRC" {
        return Err(broken());
    }
    let version = u32::from_be_bytes(reader.bytes()?);
    let count = u32::from_be_bytes(reader.bytes()?);
    if !(2..=4).contains(&version) {
        return Err(broken());
    }
    let mut name = Vec::new();
    let mut starts = Vec::new();
    for _ in 0..count {
        starts.push(reader.at);
        let mode = reader.entry(version, object_bytes, &mut name)?;
        // The entries that a split index only replaces have no name.
        let shown = if mode == DIRECTORY { name.strip_suffix(b"/").unwrap_or(&name) } else { &name };
        if !shown.is_empty() {
            take(shown);
            // git takes it for a string of C.
            if let Some(end) = shown.iter().position(|byte| *byte == 0) {
                take(&shown[..end]);
            }
        }
    }
    let end = size_bytes.checked_sub(object_bytes as u64).ok_or_else(broken)?;
    reader.extensions(end, &starts)
}

struct Reader<R> {
    inner: R,
    at: u64,
}

impl<R: BufRead> Reader<R> {
    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.inner.read_exact(&mut bytes)?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.inner).take(bytes), &mut io::sink())?;
        self.at += skipped;
        if skipped == bytes { Ok(()) } else { Err(broken()) }
    }

    /// Reads an entry and gives its mode; `name` is the name of the entry before it, and then its own.
    fn entry(&mut self, version: u32, object_bytes: usize, name: &mut Vec<u8>) -> io::Result<u32> {
        let start = self.at;
        let status: [u8; STATUS_BYTES] = self.bytes()?;
        let mode = u32::from_be_bytes([status[24], status[25], status[26], status[27]]);
        self.skip(object_bytes as u64)?;
        let flags = u16::from_be_bytes(self.bytes()?);
        if flags & EXTENDED != 0 {
            self.bytes::<2>()?;
        }
        let kept = if version == 4 { self.kept_of(name.len())? } else { 0 };
        name.truncate(kept);
        match usize::from(flags & LENGTH) {
            length if length < usize::from(LENGTH) => {
                self.sized(length.checked_sub(kept).ok_or_else(broken)?, name)?
            }
            _ => self.until_zero(name)?,
        }
        if version < 4 {
            let length = self.at - start;
            // One zero at least, up to a multiple of eight.
            let padding = 8 - length % 8;
            self.skip(padding)?;
        } else if self.bytes::<1>()? != [0] {
            return Err(broken());
        }
        Ok(mode)
    }

    /// How much of the name before is kept: its length without a number in git's own format.
    fn kept_of(&mut self, length: usize) -> io::Result<usize> {
        let mut byte = self.bytes::<1>()?[0];
        let mut dropped = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.bytes::<1>()?[0];
            dropped = (dropped + 1).checked_mul(128).ok_or_else(broken)? + usize::from(byte & 0x7f);
        }
        length.checked_sub(dropped).ok_or_else(broken)
    }

    fn sized(&mut self, length: usize, name: &mut Vec<u8>) -> io::Result<()> {
        let start = name.len();
        name.resize(start + length, 0);
        self.inner.read_exact(&mut name[start..])?;
        self.at += length as u64;
        Ok(())
    }

    /// Up to a zero, which is not read.
    fn until_zero(&mut self, name: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let buffer = self.inner.fill_buf()?;
            let end = memchr::memchr(0, buffer);
            let taken = end.unwrap_or(buffer.len());
            if buffer.is_empty() || name.len() + taken > MAX_NAME_BYTES {
                return Err(broken());
            }
            name.extend_from_slice(&buffer[..taken]);
            self.inner.consume(taken);
            self.at += taken as u64;
            if end.is_some() {
                return Ok(());
            }
        }
    }

    /// What follows the entries, up to the hash at the end.
    fn extensions(&mut self, end: u64, starts: &[u64]) -> io::Result<()> {
        while self.at < end {
            let name: [u8; 4] = self.bytes()?;
            let length = u32::from_be_bytes(self.bytes()?);
            if name == *b"IEOT" {
                self.offsets(length, starts)?;
            } else {
                self.skip(u64::from(length))?;
            }
        }
        if self.at == end { Ok(()) } else { Err(broken()) }
    }

    /// From where on git reads the entries on several threads: elsewhere, it would read others than we do.
    fn offsets(&mut self, length: u32, starts: &[u64]) -> io::Result<()> {
        self.bytes::<4>()?;
        let mut entry = 0_usize;
        for _ in 0..length.saturating_sub(4) / 8 {
            let offset = u64::from(u32::from_be_bytes(self.bytes()?));
            let count = u32::from_be_bytes(self.bytes()?);
            if starts.get(entry) != Some(&offset) {
                return Err(broken());
            }
            entry += usize::try_from(count).map_err(io::Error::other)?;
        }
        if entry == starts.len() { Ok(()) } else { Err(broken()) }
    }
}

fn broken() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn git(directory: &Path, script: &str) {
        let run = Command::new("sh")
            .args(["-ec", script])
            .current_dir(directory)
            .env("HOME", directory)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs([("GIT_AUTHOR_NAME", "h"), ("GIT_COMMITTER_NAME", "h"), ("EMAIL", "h@localhost")])
            .output()
            .unwrap();
        assert!(run.status.success(), "{script}: {}", String::from_utf8_lossy(&run.stderr));
    }

    fn paths(bytes: &[u8]) -> Vec<Option<Vec<String>>> {
        OBJECT_BYTES
            .iter()
            .map(|object_bytes| {
                let mut paths = Vec::new();
                let mut take = |path: &[u8]| paths.push(String::from_utf8_lossy(path).into_owned());
                read_paths(bytes, bytes.len() as u64, *object_bytes, &mut take).ok().map(|()| paths)
            })
            .collect()
    }

    #[test]
    fn every_version_is_read_as_git_reads_it() {
        let long = "n".repeat(200);
        let files = format!(
            "mkdir -p a/b {long}/{long}/{long} c; for i in $(seq 300); do echo > a/b/$i; done; \
            echo > {long}/{long}/{long}/{}; echo > c/x; echo > é; ln -s x l; git add .",
            "m".repeat(250)
        );
        for (format, more) in [
            ("sha1", "git update-index --index-version 2"),
            ("sha1", "git update-index --index-version 4"),
            ("sha1", "git add -N . && echo > new && git add -N new"),
            ("sha1", "git update-index --untracked-cache; git status"),
            ("sha1", "git update-index --skip-worktree c/x"),
            ("sha1", "git config index.threads 4; git config index.version 4; git reset -q; git add ."),
            ("sha256", "git update-index --index-version 4"),
            ("sha256", "git update-index --index-version 3"),
        ] {
            let top = tempfile::tempdir().unwrap();
            git(
                top.path(),
                &format!("git init -q --object-format={format}; {files}; git commit -qm m; {more}"),
            );
            git(top.path(), "git ls-files -z > .git/listed");
            let listed = fs::read_to_string(top.path().join(".git/listed")).unwrap();
            let expected: Vec<String> = listed.split_terminator('\0').map(str::to_owned).collect();
            let read = paths(&fs::read(top.path().join(".git/index")).unwrap());
            let (right, wrong) = if format == "sha1" { (0, 1) } else { (1, 0) };
            assert_eq!(read[right].as_ref(), Some(&expected), "{format} {more}");
            assert_eq!(read[wrong], None, "{format} {more}");
        }
    }

    #[test]
    fn both_parts_of_a_split_index_and_a_sparse_one_are_read() {
        let top = tempfile::tempdir().unwrap();
        git(
            top.path(),
            "git init -q; git config splitIndex.maxPercentChange 100; mkdir a b; echo > a/x; echo > b/y; \
                git add .; git commit -qm m; \
             git update-index --split-index; echo 1 > a/x; echo > z; git add .; cat .git/sharedindex.* > \
             .git/base",
        );
        let read =
            |name: &str| paths(&fs::read(top.path().join(".git").join(name)).unwrap()).remove(0).unwrap();
        assert_eq!(read("base"), ["a/x", "b/y"]);
        assert!(read("index").contains(&"z".to_owned()));
        git(
            top.path(),
            "git update-index --no-split-index; git add .; git commit -qm 2; \
            git sparse-checkout set --cone --sparse-index a",
        );
        let sparse = read("index");
        assert!(sparse.contains(&"b".to_owned()) && sparse.contains(&"a/x".to_owned()), "{sparse:?}");
    }

    #[test]
    fn what_is_cut_off_or_added_is_no_index() {
        let top = tempfile::tempdir().unwrap();
        git(top.path(), "git init -q; echo > a; echo > b; git add .");
        let index = fs::read(top.path().join(".git/index")).unwrap();
        assert!(paths(&index)[0].is_some());
        for bytes in [&index[..index.len() - 1], &[&index[..], b"x"].concat(), &index[..40], b"", b"DIRC"] {
            assert_eq!(paths(bytes), [None, None]);
        }
    }
}
