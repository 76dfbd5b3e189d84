//! Verification: does every line carry the hash of the line before, over all files of the journal? And do the
//! files with large arguments have the content that their records name?

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use progress_line::{ProgressLine, Unit};
use protocol::JournalRecord;
use protocol::journal::{CallStarted, FIRST_PREV, RecordBody};
use serde::Serialize;

use super::archives::archives;
use super::arguments::is_intact;

/// A chain that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// How many records it has.
    pub records: u64,
    /// How many files it spans.
    pub files: u64,
    /// How many older files are gone; the chain begins after them.
    pub files_gone: u64,
    /// The hash of the last record, to compare with what the supervisor keeps.
    pub last_hash: String,
    /// The bytes of an unfinished last line, left by a server that was killed during a write.
    pub torn_bytes: usize,
}

#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", .file.display())]
pub struct Broken {
    pub(crate) file: PathBuf,
    pub(crate) reason: ChainBreak,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ChainBreak {
    #[error("cannot read the journal: {0}")]
    Read(#[from] io::Error),
    #[error("line {line} is not a journal record: {error}")]
    NoRecord { line: u64, error: serde_json::Error },
    #[error(
        "line {line} does not follow {before}: it expects the hash {expected}, but {before} has {found}. \
         Lines were changed, removed, added or reordered"
    )]
    DoesNotFollow { line: u64, before: String, expected: String, found: String },
    #[error("line {line} names the arguments {name}, and no such file in arguments/ has this hash")]
    Arguments { line: u64, name: String },
    #[error("the last line is unfinished, but another file follows: the file was truncated")]
    Cut,
}

/// Reads a journal with all its files and checks the chain; `line` shows how many bytes are read.
pub fn verify(journal: &Path, line: &ProgressLine) -> Result<Chain, Broken> {
    let in_file = |file: &Path| {
        let file = file.to_owned();
        move |reason: ChainBreak| Broken { file, reason }
    };
    let archives = archives(journal).map_err(|error| in_file(journal)(error.into()))?;
    let files_gone = archives.first_key_value().map_or(0, |(first, _)| first.saturating_sub(1));
    let files = archives.values().map(PathBuf::as_path).chain([journal]);
    let bytes = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    line.step_of("Checking the journal", bytes, Unit::Bytes);
    let mut chain = Chain::new(files_gone);
    for file in archives.values() {
        chain.follow_file(file, journal, line).map_err(in_file(file))?;
        if chain.torn_bytes > 0 {
            return Err(in_file(file)(ChainBreak::Cut));
        }
    }
    // A server that was killed while it archived a file leaves none in its place.
    if journal.exists() || archives.is_empty() {
        chain.follow_file(journal, journal, line).map_err(in_file(journal))?;
    }
    Ok(chain)
}

impl Chain {
    /// The hash before the first record is known only where no older file is gone.
    fn new(files_gone: u64) -> Self {
        let last_hash = if files_gone == 0 { FIRST_PREV } else { "" };
        Self { records: 0, files: 0, files_gone, last_hash: last_hash.to_owned(), torn_bytes: 0 }
    }

    fn follow_file(
        &mut self,
        file: &Path,
        journal: &Path,
        progress: &ProgressLine,
    ) -> Result<(), ChainBreak> {
        self.files += 1;
        let mut reader = BufReader::new(File::open(file)?);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let length = reader.read_until(b'\n', &mut line)?;
            if length == 0 {
                break;
            }
            progress.advance(u64::try_from(length).unwrap_or(u64::MAX));
            if line.pop_if(|byte| *byte == b'\n').is_none() {
                self.torn_bytes = line.len();
                break;
            }
            self.follow(number, &line, journal)?;
        }
        Ok(())
    }

    fn follow(&mut self, line_number: u64, line: &[u8], journal: &Path) -> Result<(), ChainBreak> {
        let record: JournalRecord = serde_json::from_slice(line)
            .map_err(|error| ChainBreak::NoRecord { line: line_number, error })?;
        if !self.last_hash.is_empty() && record.prev != self.last_hash {
            return Err(ChainBreak::DoesNotFollow {
                line: line_number,
                before: self.line_before(line_number),
                expected: record.prev,
                found: std::mem::take(&mut self.last_hash),
            });
        }
        if let RecordBody::Started(CallStarted { arguments_file: Some(name), .. }) = record.body
            && !is_intact(journal, &name)?
        {
            return Err(ChainBreak::Arguments { line: line_number, name });
        }
        self.records += 1;
        self.last_hash = JournalRecord::line_hash(line);
        Ok(())
    }

    fn line_before(&self, line_number: u64) -> String {
        match (line_number, self.records) {
            (1, 0) => "the beginning of a journal".to_owned(),
            (1, _) => "the last line of the file before".to_owned(),
            _ => format!("line {}", line_number - 1),
        }
    }
}
