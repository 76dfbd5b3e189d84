//! Bytes for the way between two processes of the same binary: numbers and byte strings, nothing else.
//!
//! Both ends are forked from one program, so there are no versions; a message that does not decode is
//! refused as a whole.

/// A message being written.
#[derive(Debug, Default)]
pub struct Encoder(Vec<u8>);

impl Encoder {
    /// Appends a number.
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// Appends bytes with their length.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends byte strings with their count.
    pub fn list<'a>(&mut self, items: impl ExactSizeIterator<Item = &'a [u8]>) -> &mut Self {
        self.number(items.len() as u64);
        for item in items {
            self.bytes(item);
        }
        self
    }

    /// The finished message.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

/// A message being read.
#[derive(Debug)]
pub struct Decoder<'a>(pub &'a [u8]);

impl<'a> Decoder<'a> {
    /// Takes a number.
    pub fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    /// Takes bytes with their length.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Takes byte strings with their count.
    pub fn list(&mut self) -> Option<Vec<&'a [u8]>> {
        let count = self.number()?;
        (0..count).map(|_| self.bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let items: [&[u8]; 2] = [b"a", b""];
        let message = Encoder::default().number(7).bytes(b"x\0y").list(items.into_iter()).finish();
        let mut decoder = Decoder(&message);
        assert_eq!(decoder.number(), Some(7));
        assert_eq!(decoder.bytes(), Some(&b"x\0y"[..]));
        assert_eq!(decoder.list(), Some(items.to_vec()));
        assert_eq!(decoder.number(), None);
    }

    #[test]
    fn a_message_that_was_cut_is_refused_at_every_length() {
        let items: [&[u8]; 2] = [b"abc", b"d"];
        let message = Encoder::default().list(items.into_iter()).finish();
        for length in 0..message.len() {
            assert_eq!(Decoder(&message[..length]).list(), None, "{length}");
        }
    }
}
