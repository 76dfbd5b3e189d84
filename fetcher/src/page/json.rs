//! JSON with indentation, otherwise as it was sent: no number is rounded, no name reordered, no text
//! unescaped.

use serde::de::IgnoredAny;

/// Deeper structures stay as they are.
const DEEPEST: usize = 100;

/// Indentation of many short values can be most of the text. What would grow more stays as it is.
const MOST_TIMES: usize = 8;
const SPARE_BYTES: usize = 64 << 10;

/// The document with one value on each line; none if it is no JSON.
pub(super) fn indented(text: &str) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let mut lines = Lines::new(text.len());
    let (mut in_text, mut escaped) = (false, false);
    let mut characters = text.chars().filter(|c| c != &'\u{feff}').peekable();
    while let Some(character) = characters.next() {
        if in_text {
            lines.out.push(character);
            in_text = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        match character {
            '"' => {
                in_text = true;
                lines.out.push(character);
            }
            '{' | '[' => {
                while characters.next_if(|next| next.is_ascii_whitespace()).is_some() {}
                lines.open(character, characters.next_if(|next| matches!(next, '}' | ']')))?;
            }
            '}' | ']' => lines.close(character),
            ',' => lines.separate()?,
            ':' => lines.out.push_str(": "),
            space if space.is_ascii_whitespace() => {}
            other => lines.out.push(other),
        }
    }
    lines.out.push('\n');
    Some(lines.out)
}

/// The document as far as it is written.
struct Lines {
    out: String,
    depth: usize,
    /// The length at which it has grown too much.
    most: usize,
}

impl Lines {
    fn new(length: usize) -> Self {
        let most = length.saturating_mul(MOST_TIMES) + SPARE_BYTES;
        Self { out: String::with_capacity(length * 2), depth: 0, most }
    }

    /// Opens a structure, which is empty if its end follows at once; none if it is too deep.
    fn open(&mut self, begin: char, end: Option<char>) -> Option<()> {
        self.out.push(begin);
        if let Some(end) = end {
            self.out.push(end);
            return Some(());
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        self.begin_line();
        Some(())
    }

    fn close(&mut self, end: char) {
        self.depth = self.depth.saturating_sub(1);
        self.begin_line();
        self.out.push(end);
    }

    /// Ends one value of several; none if the document has grown too much.
    fn separate(&mut self) -> Option<()> {
        self.out.push(',');
        self.begin_line();
        (self.out.len() <= self.most).then_some(())
    }

    fn begin_line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n("  ", self.depth));
    }
}

#[cfg(test)]
mod tests {
    use super::indented;

    #[test]
    fn only_space_outside_of_texts_changes() {
        let given = "{ \"a\\\"{\" : 1e400,\"b\":[ ],\"c\":[1 ,2]}";
        let shown = indented(given).unwrap();
        assert_eq!(shown, "{\n  \"a\\\"{\": 1e400,\n  \"b\": [],\n  \"c\": [\n    1,\n    2\n  ]\n}\n");
        assert_eq!(indented("{"), None);
        let deep = "[".repeat(120) + &"]".repeat(120);
        assert_eq!(indented(&deep), None);
        let wide = "[".repeat(99) + &"1,".repeat(100_000) + "1" + &"]".repeat(99);
        assert_eq!(indented(&wide), None, "it would be a hundred times as long");
    }
}
