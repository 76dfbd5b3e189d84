//! The outputs that the tool server keeps, as the page reads them.
//!
//! The record of a call names the file. No name leads out of the directory, and secrets are replaced in
//! whatever is shown: a file has an output that was too long for an answer as the command printed it. One of
//! another machine is fetched as a whole; the tool server keeps at most 16 MiB of each.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use page::OutputPart;
use redaction::Redactor;
use rustix::fs::{Mode, OFlags};

use crate::far::FarToolServer;

/// So much of an output is shown at once.
const PART_BYTES: u64 = 1 << 20;

/// A part ends with a line, unless that is longer.
const MOST_LINE_BYTES: u64 = 64 << 10;

/// More is no output that a tool server keeps.
const MOST_BYTES: usize = 64 << 20;

#[derive(Debug)]
pub(crate) struct KeptOutputs {
    place: OutputPlace,
    redactor: Arc<Redactor>,
}

#[derive(Debug, Clone)]
pub(crate) enum OutputPlace {
    /// This directory.
    Here(PathBuf),
    Elsewhere(FarToolServer),
}

/// An output, of which parts are read.
enum Output {
    File(File, u64),
    Fetched(Vec<u8>),
}

impl KeptOutputs {
    /// Those of a tool server with these secrets.
    pub(crate) fn new<'s>(place: OutputPlace, secrets: impl IntoIterator<Item = &'s str>) -> Self {
        Self { place, redactor: Arc::new(Redactor::new(secrets)) }
    }

    /// Whether the file with this name is there.
    pub(super) async fn has(&self, name: &str) -> bool {
        match &self.place {
            OutputPlace::Here(directory) => open(directory, name).await.is_ok_and(|found| found.is_some()),
            OutputPlace::Elsewhere(far) => is_name(name) && far.has_output(name).await,
        }
    }

    /// A part of a file, from 1; none if the file is gone. A number beyond the last part means the last.
    pub(super) async fn part(&self, name: &str, number: u64) -> io::Result<Option<OutputPart>> {
        let output = match &self.place {
            OutputPlace::Here(directory) => open(directory, name).await?,
            OutputPlace::Elsewhere(_) if !is_name(name) => None,
            OutputPlace::Elsewhere(far) => far.output(name, MOST_BYTES).await?.map(Output::Fetched),
        };
        let Some(output) = output else { return Ok(None) };
        let redactor = Arc::clone(&self.redactor);
        blocking(move || part_of(&output, number, &redactor).map(Some)).await
    }
}

/// Works where that may wait for the disk.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

fn part_of(output: &Output, number: u64, redactor: &Redactor) -> io::Result<OutputPart> {
    let bytes = output.size();
    let count = bytes.div_ceil(PART_BYTES).max(1);
    let number = number.clamp(1, count);
    let from = edge(output, (number - 1) * PART_BYTES, bytes)?;
    let to = edge(output, number * PART_BYTES, bytes)?;
    let shown = output.between(from, to)?;
    let text = redactor.redact(&String::from_utf8_lossy(&shown)).into_owned();
    Ok(OutputPart { text, number, count, bytes })
}

/// Whether this is the name of a file in the directory itself.
fn is_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
}

/// A file of the directory with its size.
async fn open(directory: &Path, name: &str) -> io::Result<Option<Output>> {
    if !is_name(name) {
        return Ok(None);
    }
    let path = directory.join(name);
    let open = move || {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(handle) => File::from(handle),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let facts = file.metadata()?;
        Ok(facts.is_file().then_some(Output::File(file, facts.len())))
    };
    blocking(open).await
}

impl Output {
    fn size(&self) -> u64 {
        match self {
            Self::File(_, size) => *size,
            Self::Fetched(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        }
    }

    fn between(&self, from: u64, to: u64) -> io::Result<Vec<u8>> {
        let [first, end] = [from, to].map(|place| usize::try_from(place).unwrap_or(usize::MAX));
        match self {
            Self::Fetched(bytes) => {
                bytes.get(first..end).map(<[u8]>::to_vec).ok_or(io::ErrorKind::UnexpectedEof.into())
            }
            Self::File(file, _) => {
                let mut bytes = vec![0; end - first];
                file.read_exact_at(&mut bytes, from)?;
                Ok(bytes)
            }
        }
    }
}

/// Where the line begins that a place in a file belongs to; the place itself where that is far away.
fn edge(output: &Output, place: u64, end: u64) -> io::Result<u64> {
    if place == 0 || place >= end {
        return Ok(place.min(end));
    }
    let from = place.saturating_sub(MOST_LINE_BYTES);
    let before = output.between(from, place)?;
    let rest = before.iter().rev().take_while(|byte| **byte != b'\n').count();
    let rest = u64::try_from(rest).unwrap_or(0);
    Ok(if rest < place - from { place - rest } else { place })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn kept(outputs: &[(&str, &str)]) -> (tempfile::TempDir, KeptOutputs) {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in outputs {
            fs::write(directory.path().join(name), text).unwrap();
        }
        let kept = KeptOutputs::new(OutputPlace::Here(directory.path().to_owned()), ["FAKE-own-secret"]);
        (directory, kept)
    }

    #[tokio::test]
    async fn the_parts_of_a_long_output_are_whole_lines_and_together_all_of_it() {
        let all: String = (0..200_000).map(|number| format!("line {number}\n")).collect();
        let (_directory, kept) = kept(&[("long.txt", &all)]);
        let mut parts = Vec::new();
        for number in 1..=3 {
            parts.push(kept.part("long.txt", number).await.unwrap().unwrap());
        }
        assert!(parts.iter().all(|part| part.count == 3 && part.text.ends_with('\n')));
        assert!(parts.iter().all(|part| part.text.starts_with("line ")));
        assert_eq!(parts.iter().map(|part| part.text.as_str()).collect::<String>(), all);
        assert_eq!(kept.part("long.txt", 99).await.unwrap().unwrap().number, 3);
    }

    #[tokio::test]
    async fn a_long_line_is_divided_and_an_empty_output_is_one_part() {
        let long = "x".repeat(3_000_000);
        let (_directory, kept) = kept(&[("line.txt", &long), ("empty.txt", "")]);
        let mut all = String::new();
        for number in 1..=3 {
            all += &kept.part("line.txt", number).await.unwrap().unwrap().text;
        }
        assert_eq!(all, long);
        let empty = kept.part("empty.txt", 1).await.unwrap().unwrap();
        assert_eq!((empty.count, empty.text.as_str()), (1, ""));
    }

    #[tokio::test]
    async fn secrets_are_replaced() {
        let (_directory, kept) = kept(&[("a.txt", "the FAKE-own-secret\nDB_PASSWORD=FAKEx1y2z3\n")]);
        let text = kept.part("a.txt", 1).await.unwrap().unwrap().text;
        assert_eq!(text, "the ***REDACTED***\nDB_PASSWORD=***REDACTED***\n");
    }

    #[tokio::test]
    async fn no_name_leads_out_of_the_directory() {
        let (directory, kept) = kept(&[("a.txt", "a")]);
        symlink("/etc/passwd", directory.path().join("link.txt")).unwrap();
        fs::create_dir(directory.path().join("undo")).unwrap();
        fs::write(directory.path().join("undo/b.txt"), "b").unwrap();
        for name in ["", ".", "..", "/etc/passwd", "../a.txt", "undo", "undo/b.txt", "link.txt", "gone.txt"] {
            assert!(!kept.has(name).await, "{name}");
            assert!(!matches!(kept.part(name, 1).await, Ok(Some(_))), "{name}");
        }
        assert!(kept.has("a.txt").await);
    }
}
