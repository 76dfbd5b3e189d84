//! Verification: does every line carry the hash of the line before?

use std::io::{self, BufRead};

use protocol::JournalRecord;
use protocol::journal::FIRST_PREV;

/// A chain that holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// How many records it has.
    pub records: u64,
    /// The hash of the last, to compare with what the supervisor keeps.
    pub last_hash: String,
    /// Bytes of a last line without its end: a server that was killed in the middle of a write.
    pub torn_bytes: usize,
}

/// Where a chain breaks.
#[derive(Debug, thiserror::Error)]
pub enum ChainBreak {
    /// The journal cannot be read.
    #[error("the journal cannot be read: {0}")]
    Read(#[from] io::Error),
    /// A line is no record.
    #[error("line {line} is no journal record: {error}")]
    NoRecord {
        /// Which line, from 1.
        line: u64,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// A line does not follow the one before.
    #[error(
        "line {line} does not follow line {before}: it was made after a line with the hash {expected}, and \
         line {before} has {found}. Line {before} was changed, or lines were removed, added or reordered there",
        before = line - 1
    )]
    DoesNotFollow {
        /// Which line, from 1.
        line: u64,
        /// The hash that the line carries.
        expected: String,
        /// The hash of the line before it.
        found: String,
    },
}

/// Reads a journal to its end and checks the chain.
pub fn verify(mut journal: impl BufRead) -> Result<Chain, ChainBreak> {
    let mut chain = Chain { records: 0, last_hash: FIRST_PREV.to_owned(), torn_bytes: 0 };
    let mut line = Vec::new();
    loop {
        line.clear();
        if journal.read_until(b'\n', &mut line)? == 0 {
            return Ok(chain);
        }
        if line.pop_if(|byte| *byte == b'\n').is_none() {
            chain.torn_bytes = line.len();
            return Ok(chain);
        }
        chain.follow(&line)?;
    }
}

impl Chain {
    fn follow(&mut self, line: &[u8]) -> Result<(), ChainBreak> {
        let number = self.records + 1;
        let record: JournalRecord =
            serde_json::from_slice(line).map_err(|error| ChainBreak::NoRecord { line: number, error })?;
        if record.prev != self.last_hash {
            let found = std::mem::take(&mut self.last_hash);
            return Err(ChainBreak::DoesNotFollow { line: number, expected: record.prev, found });
        }
        self.records = number;
        self.last_hash = JournalRecord::line_hash(line);
        Ok(())
    }
}
