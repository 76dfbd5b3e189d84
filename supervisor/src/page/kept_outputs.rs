//! The outputs that the tool server keeps, as the page reads them.
//!
//! The record of a call names the file. No name leads out of the directory, and secrets are replaced in
//! whatever is shown: a file has an output that was too long for an answer as the command printed it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path, PathBuf};

use page::OutputPart;
use redaction::Redactor;
use rustix::fs::{Mode, OFlags};

/// So much of an output is shown at once.
const PART_BYTES: u64 = 1 << 20;

/// A part ends with a line, unless that is longer.
const MOST_LINE_BYTES: u64 = 64 << 10;

#[derive(Debug)]
pub(crate) struct KeptOutputs {
    directory: PathBuf,
    redactor: Redactor,
}

impl KeptOutputs {
    /// In this directory, by a tool server with these secrets.
    pub(crate) fn new<'s>(directory: PathBuf, secrets: impl IntoIterator<Item = &'s str>) -> Self {
        Self { directory, redactor: Redactor::new(secrets) }
    }

    /// Whether the file with this name is there. It waits for the disk.
    pub(super) fn has(&self, name: &str) -> bool {
        self.open(name).is_ok_and(|found| found.is_some())
    }

    /// A part of a file, from 1; none if the file is gone. A number beyond the last part means the last. It
    /// waits for the disk.
    pub(super) fn part(&self, name: &str, number: u64) -> io::Result<Option<OutputPart>> {
        let Some((file, bytes)) = self.open(name)? else { return Ok(None) };
        let count = bytes.div_ceil(PART_BYTES).max(1);
        let number = number.clamp(1, count);
        let from = edge(&file, (number - 1) * PART_BYTES, bytes)?;
        let to = edge(&file, number * PART_BYTES, bytes)?;
        let shown = between(&file, from, to)?;
        let text = self.redactor.redact(&String::from_utf8_lossy(&shown)).into_owned();
        Ok(Some(OutputPart { text, number, count, bytes }))
    }

    /// A file of the directory with its size.
    fn open(&self, name: &str) -> io::Result<Option<(File, u64)>> {
        let mut parts = Path::new(name).components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
            return Ok(None);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::open(self.directory.join(name), flags, Mode::empty()) {
            Ok(handle) => File::from(handle),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let facts = file.metadata()?;
        Ok(facts.is_file().then_some((file, facts.len())))
    }
}

/// Where the line begins that a place in a file belongs to; the place itself where that is far away.
fn edge(file: &File, place: u64, end: u64) -> io::Result<u64> {
    if place == 0 || place >= end {
        return Ok(place.min(end));
    }
    let from = place.saturating_sub(MOST_LINE_BYTES);
    let before = between(file, from, place)?;
    let rest = before.iter().rev().take_while(|byte| **byte != b'\n').count();
    let rest = u64::try_from(rest).unwrap_or(0);
    Ok(if rest < place - from { place - rest } else { place })
}

fn between(file: &File, from: u64, to: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(to - from).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, from)?;
    Ok(bytes)
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
        let kept = KeptOutputs::new(directory.path().to_owned(), ["FAKE-own-secret"]);
        (directory, kept)
    }

    #[test]
    fn the_parts_of_a_long_output_are_whole_lines_and_together_all_of_it() {
        let all: String = (0..200_000).map(|number| format!("line {number}\n")).collect();
        let (_directory, kept) = kept(&[("long.txt", &all)]);
        let parts: Vec<OutputPart> =
            (1..=3).map(|number| kept.part("long.txt", number).unwrap().unwrap()).collect();
        assert!(parts.iter().all(|part| part.count == 3 && part.text.ends_with('\n')));
        assert!(parts.iter().all(|part| part.text.starts_with("line ")));
        assert_eq!(parts.iter().map(|part| part.text.as_str()).collect::<String>(), all);
        assert_eq!(kept.part("long.txt", 99).unwrap().unwrap().number, 3);
    }

    #[test]
    fn a_long_line_is_divided_and_an_empty_output_is_one_part() {
        let long = "x".repeat(3_000_000);
        let (_directory, kept) = kept(&[("line.txt", &long), ("empty.txt", "")]);
        let part = |name: &str, number| kept.part(name, number).unwrap().unwrap();
        assert_eq!((1..=3).map(|number| part("line.txt", number).text).collect::<String>(), long);
        assert_eq!((part("empty.txt", 1).count, part("empty.txt", 1).text.as_str()), (1, ""));
    }

    #[test]
    fn secrets_are_replaced() {
        let (_directory, kept) = kept(&[("a.txt", "the FAKE-own-secret\nDB_PASSWORD=FAKEx1y2z3\n")]);
        let text = kept.part("a.txt", 1).unwrap().unwrap().text;
        assert_eq!(text, "the ***REDACTED***\nDB_PASSWORD=***REDACTED***\n");
    }

    #[test]
    fn no_name_leads_out_of_the_directory() {
        let (directory, kept) = kept(&[("a.txt", "a")]);
        symlink("/etc/passwd", directory.path().join("link.txt")).unwrap();
        fs::create_dir(directory.path().join("undo")).unwrap();
        fs::write(directory.path().join("undo/b.txt"), "b").unwrap();
        for name in ["", ".", "..", "/etc/passwd", "../a.txt", "undo", "undo/b.txt", "link.txt", "gone.txt"] {
            assert!(!kept.has(name), "{name}");
            assert!(!matches!(kept.part(name, 1), Ok(Some(_))), "{name}");
        }
        assert!(kept.has("a.txt"));
    }
}
