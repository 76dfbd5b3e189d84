//! Server-sent events: bytes go in as they arrive, the data of events comes out.
//!
//! Bytes, not text, because a network chunk may end within a character. Only `data` counts: the protocols
//! here name an event within its data.

use std::collections::VecDeque;
use std::mem::take;

/// More than any event of a reply holds.
const MAX_EVENT_BYTES: usize = 4 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {MAX_EVENT_BYTES} bytes")]
pub(super) struct TooLong;

#[derive(Debug, Default)]
pub(super) struct Parser {
    line: Vec<u8>,
    data: Option<Vec<u8>>,
    /// Whether the last byte was a carriage return, which a line feed may follow.
    after_return: bool,
    begun: bool,
    events: VecDeque<Vec<u8>>,
}

impl Parser {
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<(), TooLong> {
        while let Some(&first) = bytes.first() {
            if take(&mut self.after_return) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if self.line.len() + self.data.as_ref().map_or(0, Vec::len) > MAX_EVENT_BYTES {
                return Err(TooLong);
            }
            let Some(end) = end else { return Ok(()) };
            self.after_return = bytes[end] == b'\r';
            self.end_line();
            bytes = &bytes[end + 1..];
        }
        Ok(())
    }

    /// Ends the stream; not every server writes an empty line after the last event.
    pub(super) fn end(&mut self) {
        self.end_line();
        self.events.extend(self.data.take());
    }

    /// The data of the next complete event.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        self.events.pop_front()
    }

    fn end_line(&mut self) {
        let line = take(&mut self.line);
        let mark = if self.begun { None } else { line.strip_prefix(BYTE_ORDER_MARK) };
        let line = mark.unwrap_or(&line);
        self.begun = true;
        if line.is_empty() {
            self.events.extend(self.data.take());
            return;
        }
        // A comment has an empty name.
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = (&line[..colon], line.get(colon + 1..).unwrap_or_default());
        if name == b"data" {
            self.add_data(value.strip_prefix(b" ").unwrap_or(value));
        }
    }

    fn add_data(&mut self, value: &[u8]) {
        match &mut self.data {
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
            None => self.data = Some(value.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(pieces: &[&[u8]]) -> Vec<String> {
        let mut parser = Parser::default();
        for piece in pieces {
            parser.push(piece).unwrap();
        }
        parser.end();
        std::iter::from_fn(|| parser.next()).map(|data| String::from_utf8(data).unwrap()).collect()
    }

    #[test]
    fn events_are_split_at_any_line_ending() {
        for (stream, expected) in [
            ("data: a\n\ndata: b\n\n", vec!["a", "b"]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", vec!["a", "b"]),
            ("data: a\r\rdata: b\r\r", vec!["a", "b"]),
            ("\u{feff}data:a\n\n", vec!["a"]),
            ("data:  a\n\n", vec![" a"]),
            ("data: a\ndata: b\n\n", vec!["a\nb"]),
            (": keep-alive\n\nevent: x\nid: 7\nretry: 1\ndata: a\nnonsense\n\n\n", vec!["a"]),
            ("data: a\n\ndata: [DONE]", vec!["a", "[DONE]"]),
            ("data\n\n", vec![""]),
            ("event: ping\n\n", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(events(&[stream.as_bytes()]), expected, "{stream:?}");
        }
    }

    #[test]
    fn an_endless_line_and_an_event_of_many_lines_are_bounded() {
        let text = vec![b'a'; MAX_EVENT_BYTES / 2 + 1];
        let line = [b"data: ".as_slice(), &text, b"\n"].concat();
        for piece in [text, line] {
            let mut parser = Parser::default();
            assert_eq!(parser.push(&piece), Ok(()));
            assert_eq!(parser.push(&piece), Err(TooLong));
        }
    }

    proptest! {
        #[test]
        fn chunk_boundaries_do_not_matter(
            texts in prop::collection::vec("[a-zé😀 :]{0,8}", 0..5),
            ending in prop::sample::select(vec!["\n", "\r\n", "\r"]),
            cuts in prop::collection::vec(0_usize..200, 0..8),
        ) {
            let stream: String =
                texts.iter().map(|text| format!("data: {text}{ending}: c{ending}{ending}")).collect();
            let bytes = stream.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]).collect();
            prop_assert_eq!(events(&pieces), texts);
        }
    }
}
