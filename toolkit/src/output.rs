//! How much a result may hold, and the page that is filled up to that.
//!
//! The only place that cuts results: it keeps whole lines from the start, up to the line or the byte bound,
//! whichever comes first.

use settings::table::{TOOL_MAX_OUTPUT_BYTES, TOOL_MAX_OUTPUT_LINES};

/// How much `stdout` may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The most lines.
    pub lines: usize,
    /// The most bytes, newlines included.
    pub bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { lines: TOOL_MAX_OUTPUT_LINES.default_value(), bytes: TOOL_MAX_OUTPUT_BYTES.default_value() }
    }
}

/// Which limit cut a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The caller's limit.
    Limit,
    /// The line bound of every output.
    Lines,
    /// The byte bound of every output.
    Bytes,
}

/// The lines of a result, up to the caller's limit and the bounds.
#[derive(Debug)]
pub struct Page {
    text: String,
    lines: usize,
    limit: usize,
    bounds: Bounds,
    full: Option<Full>,
}

impl Page {
    /// An empty page.
    pub fn new(limit: usize, bounds: Bounds) -> Self {
        Self { text: String::new(), lines: 0, limit, bounds, full: None }
    }

    /// How many more lines fit at most; the byte bound may end the page sooner.
    pub fn room(&self) -> usize {
        if self.full.is_some() { 0 } else { self.limit.min(self.bounds.lines).saturating_sub(self.lines) }
    }

    /// Adds a line without its newline; false when it does not fit, and then the page is full. The first line
    /// always fits, so that every page makes progress.
    pub fn push(&mut self, line: &str) -> bool {
        if self.full.is_none() {
            self.full = self.limit_reached_by(line);
        }
        if self.full.is_some() {
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += 1;
        true
    }

    /// Ends the page although there is room, because the next line is not known.
    pub fn close(&mut self) {
        self.full.get_or_insert(Full::Limit);
    }

    fn limit_reached_by(&self, line: &str) -> Option<Full> {
        if self.lines >= self.limit {
            Some(Full::Limit)
        } else if self.lines >= self.bounds.lines {
            Some(Full::Lines)
        } else if self.lines > 0 && self.text.len() + line.len() + 1 > self.bounds.bytes {
            Some(Full::Bytes)
        } else {
            None
        }
    }

    /// Which limit ended the page, if one did.
    pub fn full(&self) -> Option<Full> {
        self.full
    }

    /// How many lines the page has.
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// The page's text; each line ends with a newline.
    pub fn into_text(self) -> String {
        self.text
    }
}

/// The first `max_bytes` of a text, cut between characters.
pub fn head(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// The first `max_chars` characters of a text.
pub fn head_chars(text: &str, max_chars: usize) -> &str {
    // A text has at most as many characters as bytes.
    let end = if text.len() <= max_chars { None } else { text.char_indices().nth(max_chars) };
    end.map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(limit: usize, bounds: Bounds, lines: &[&str]) -> (String, Option<Full>) {
        let mut page = Page::new(limit, bounds);
        for line in lines {
            page.push(line);
        }
        let full = page.full();
        (page.into_text(), full)
    }

    #[test]
    fn a_page_ends_at_the_first_limit_that_it_reaches() {
        let wide = Bounds { lines: 10, bytes: 100 };
        assert_eq!(filled(9, wide, &["a", "b"]), ("a\nb\n".into(), None));
        assert_eq!(filled(1, wide, &["a", "b"]), ("a\n".into(), Some(Full::Limit)));
        assert_eq!(filled(9, Bounds { lines: 1, ..wide }, &["a", "b"]), ("a\n".into(), Some(Full::Lines)));
        assert_eq!(filled(9, Bounds { bytes: 3, ..wide }, &["a", "b"]), ("a\n".into(), Some(Full::Bytes)));
        let tiny = Bounds { bytes: 3, ..wide };
        let first = ("long\n".into(), Some(Full::Bytes));
        assert_eq!(filled(9, tiny, &["long", "b"]), first, "the first line is kept, so that pages advance");
    }

    #[test]
    fn a_head_never_splits_a_character() {
        assert_eq!(head("aé", 2), "a");
        assert_eq!(head("aé", 3), "aé");
        assert_eq!(head("aé", 99), "aé");
    }
}
