//! The hash chain of the journal's lines. Pure: no files.

use protocol::journal::FIRST_PREV;
use protocol::{Event, JournalRecord};
use serde::{Deserialize, Serialize};

/// How far the journal has been read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The file's number, from 1: the one that it has or will get once it is full.
    #[serde(default = "first_file")]
    pub(crate) file: u64,
    /// The offset in it after the last line that was read.
    pub(crate) offset: u64,
    /// The hash of the last line that was read; empty if unknown.
    pub last_hash: String,
    /// The length of that line, without its newline.
    pub(crate) last_line_bytes: u64,
}

impl Position {
    #[cfg(test)]
    pub(crate) fn start() -> Self {
        Self::start_at(first_file())
    }

    /// The start of the oldest file. Only the first file of a journal has a known hash before it.
    pub(crate) fn start_at(file: u64) -> Self {
        let last_hash = if file == first_file() { FIRST_PREV } else { "" };
        Self { file, offset: 0, last_hash: last_hash.to_owned(), last_line_bytes: 0 }
    }

    /// The start of the next file, once this one is full and read.
    #[must_use]
    pub(crate) fn next_file(self) -> Self {
        Self { file: self.file + 1, offset: 0, ..self }
    }
}

fn first_file() -> u64 {
    1
}

/// A line that does not continue the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChainBreak {
    pub(crate) offset: u64,
    pub(crate) reason: &'static str,
    /// The hash of the record before it.
    pub(crate) expected_hash: String,
}

/// What a piece of the journal contains.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Batch {
    pub(crate) events: Vec<Event>,
    /// The lines that break the chain. Their events are kept if they parse: a record that may be forged is
    /// worth more than a gap, and the break itself is reported.
    pub(crate) breaks: Vec<ChainBreak>,
    pub(crate) position: Position,
}

/// Parses the complete lines of a piece that starts at `position`; a last line without a newline is left.
pub(crate) fn parse(position: &Position, piece: &[u8]) -> Batch {
    let mut batch = Batch { events: Vec::new(), breaks: Vec::new(), position: position.clone() };
    for line in piece.split_inclusive(|byte| *byte == b'\n') {
        let Some(line) = line.strip_suffix(b"\n") else { break };
        batch.add(line);
    }
    batch
}

impl Batch {
    fn add(&mut self, line: &[u8]) {
        let Position { file, offset, last_hash, .. } = &self.position;
        let record: Option<JournalRecord> = serde_json::from_slice(line).ok();
        let reason = match &record {
            None => Some("the line is not a journal record"),
            Some(record) if !last_hash.is_empty() && record.prev != *last_hash => {
                Some("the line before it was changed, removed or reordered")
            }
            Some(_) => None,
        };
        self.breaks.extend(reason.map(|reason| ChainBreak {
            offset: *offset,
            reason,
            expected_hash: last_hash.clone(),
        }));
        self.events.extend(record.and_then(JournalRecord::into_event));
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        self.position = Position {
            file: *file,
            offset: offset + length + 1,
            last_hash: JournalRecord::line_hash(line),
            last_line_bytes: length,
        };
    }
}

#[cfg(test)]
pub(crate) mod fixture {
    //! Journal lines as a tool server writes them.

    use protocol::journal::{CallStarted, RecordBody};
    use protocol::{EventId, JournalRecord, Risk, SessionId, now_ms};

    pub(crate) fn line(prev: &str, tool_name: &str) -> String {
        let body = RecordBody::Started(CallStarted {
            tool_name: tool_name.to_owned(),
            token: None,
            arguments: serde_json::Map::new(),
            arguments_sha256: None,
            arguments_file: None,
            risk: Risk::Low,
            request_id: None,
            traceparent: None,
        });
        let record = JournalRecord {
            id: EventId::new(),
            parent_id: None,
            task_id: None,
            session_id: SessionId::default_session(),
            time_ms: now_ms(),
            prev: prev.to_owned(),
            body,
        };
        serde_json::to_string(&record).unwrap()
    }

    /// Lines that form a chain, each with its newline.
    pub(crate) fn chained(names: &[&str]) -> Vec<String> {
        let mut prev = protocol::journal::FIRST_PREV.to_owned();
        names
            .iter()
            .map(|name| {
                let text = line(&prev, name);
                prev = JournalRecord::line_hash(text.as_bytes());
                text + "\n"
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use protocol::event::{EventPayload, ToolCallStarted};

    use super::fixture::chained;
    use super::*;

    fn names(batch: &Batch) -> Vec<&str> {
        let calls = batch.events.iter().filter_map(|event| ToolCallStarted::of(&event.body));
        calls.map(|started| started.call.tool_name.as_str()).collect()
    }

    #[test]
    fn a_whole_chain_is_read_in_any_pieces() {
        let text = chained(&["a", "b", "c"]).concat();
        for cut in 0..text.len() {
            let first = parse(&Position::start(), &text.as_bytes()[..cut]);
            let rest = usize::try_from(first.position.offset).unwrap();
            let second = parse(&first.position, &text.as_bytes()[rest..]);
            assert_eq!([names(&first), names(&second)].concat(), ["a", "b", "c"], "{cut}");
            assert!(first.breaks.is_empty() && second.breaks.is_empty(), "{cut}");
        }
    }

    #[test]
    fn a_removed_a_reordered_and_a_changed_line_break_the_chain_where_they_were() {
        let lines = chained(&["a", "b", "c"]);
        let first = u64::try_from(lines[0].len()).unwrap();
        let changed = lines[0].replace("\"a\"", "\"x\"");
        for (text, expected) in [
            ([lines[0].as_str(), &lines[2]].concat(), vec![first]),
            ([lines[1].as_str(), &lines[0]].concat(), vec![0, first]),
            ([changed.as_str(), &lines[1], &lines[2]].concat(), vec![first]),
            (["nonsense\n", &lines[0]].concat(), vec![0, 9]),
        ] {
            let batch = parse(&Position::start(), text.as_bytes());
            let offsets: Vec<u64> = batch.breaks.iter().map(|found| found.offset).collect();
            assert_eq!(offsets, expected, "{text}");
        }
    }
}
