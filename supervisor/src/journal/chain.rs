//! The chain of hashes that the journal's lines form: pure reading, no files.

use protocol::journal::FIRST_PREV;
use protocol::{Event, JournalRecord};
use serde::{Deserialize, Serialize};

/// How far the journal is taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The number of the file, from 1, that it has or will have once it is full.
    #[serde(default = "first_file")]
    pub file: u64,
    /// The byte in it after the last line that was taken in.
    pub offset: u64,
    /// The hash of the last line that was taken in; empty where it is not known.
    pub last_hash: String,
    /// How long that line is, without its newline.
    pub last_line_bytes: u64,
}

impl Position {
    /// The beginning of a journal.
    pub fn start() -> Self {
        Self::start_at(first_file())
    }

    /// The beginning of the oldest file that is there. What came before it is known only of the first.
    pub fn start_at(file: u64) -> Self {
        let last_hash = if file == first_file() { FIRST_PREV } else { "" };
        Self { file, offset: 0, last_hash: last_hash.to_owned(), last_line_bytes: 0 }
    }

    /// Whether a line with this hash of the line before it comes next.
    fn follows(&self, prev: &str) -> bool {
        self.last_hash.is_empty() || self.last_hash == prev
    }

    /// The beginning of the file after this one, which is full and taken in.
    #[must_use]
    pub fn next_file(self) -> Self {
        Self { file: self.file + 1, offset: 0, ..self }
    }
}

fn first_file() -> u64 {
    1
}

/// A line that does not continue the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// Where the line begins.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// What a piece of the journal says.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// The events of its complete lines.
    pub events: Vec<Event>,
    /// The lines that break the chain. What they say is taken in if it can be read: a record that may be
    /// false is worth more than a gap, and the break itself is reported.
    pub breaks: Vec<Break>,
    /// Where the next piece begins.
    pub position: Position,
}

/// Reads the complete lines of a piece that begins at `position`. A last line without its newline is left
/// for the next time.
pub fn take_in(position: &Position, piece: &[u8]) -> Taken {
    let mut taken = Taken { events: Vec::new(), breaks: Vec::new(), position: position.clone() };
    for line in piece.split_inclusive(|byte| *byte == b'\n') {
        let Some(line) = line.strip_suffix(b"\n") else { break };
        taken.add(line);
    }
    taken
}

impl Taken {
    fn add(&mut self, line: &[u8]) {
        let record: Option<JournalRecord> = serde_json::from_slice(line).ok();
        let reason = match &record {
            None => Some("the line is no journal record"),
            Some(record) if !self.position.follows(&record.prev) => {
                Some("the line before it was changed, removed or reordered")
            }
            Some(_) => None,
        };
        self.breaks.extend(reason.map(|reason| Break { offset: self.position.offset, reason }));
        self.events.extend(record.and_then(JournalRecord::into_event));
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        self.position = Position {
            file: self.position.file,
            offset: self.position.offset + length + 1,
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
            arguments: serde_json::Map::new(),
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

    fn names(taken: &Taken) -> Vec<&str> {
        let calls = taken.events.iter().filter_map(|event| ToolCallStarted::of(&event.body));
        calls.map(|started| started.call.tool_name.as_str()).collect()
    }

    #[test]
    fn a_whole_chain_is_taken_in_in_any_pieces() {
        let text = chained(&["a", "b", "c"]).concat();
        for cut in 0..text.len() {
            let first = take_in(&Position::start(), &text.as_bytes()[..cut]);
            let rest = usize::try_from(first.position.offset).unwrap();
            let second = take_in(&first.position, &text.as_bytes()[rest..]);
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
            let taken = take_in(&Position::start(), text.as_bytes());
            let offsets: Vec<u64> = taken.breaks.iter().map(|found| found.offset).collect();
            assert_eq!(offsets, expected, "{text}");
        }
    }
}
