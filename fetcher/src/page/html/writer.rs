//! Lines of text with what each begins with: the marks of the lists and quotes that it is in.

/// Deeper lists and quotes are written as if they were that deep.
const DEEPEST: usize = 12;

/// Collects text. Spaces and line breaks wait until something follows them.
#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) out: String,
    /// How many line ends come before the next text.
    breaks: usize,
    /// Whether a space does.
    space: bool,
    prefixes: Vec<Prefix>,
}

/// What a line begins with: the mark of an item once, then the room for it.
#[derive(Debug)]
struct Prefix {
    first: Option<String>,
    rest: String,
}

impl Writer {
    /// Ends the line; with 2, the paragraph.
    pub(super) fn line_break(&mut self, lines: usize) {
        self.breaks = self.breaks.max(lines);
        self.space = false;
    }

    /// Lets a space come before the next text of this line.
    pub(super) fn space(&mut self) {
        self.space = true;
    }

    /// Writes the line ends and the space that wait.
    pub(super) fn begin(&mut self) {
        let is_line_start = self.out.is_empty() || self.breaks > 0;
        if self.breaks > 0 && !self.out.is_empty() {
            for line in 0..self.breaks {
                if line > 0 {
                    let blank: String = self.prefixes.iter().map(|prefix| prefix.rest.as_str()).collect();
                    self.out.push_str(blank.trim_end());
                }
                self.out.push('\n');
            }
        }
        if is_line_start {
            for prefix in &mut self.prefixes {
                match prefix.first.take() {
                    Some(first) => self.out.push_str(&first),
                    None => self.out.push_str(&prefix.rest),
                }
            }
        } else if self.space && !self.out.ends_with([' ', '\n', '[']) {
            self.out.push(' ');
        }
        (self.breaks, self.space) = (0, false);
    }

    /// Text with each run of white space as one space.
    pub(super) fn text(&mut self, text: &str) {
        let is_space = |character: char| character.is_ascii_whitespace() || character == '\u{a0}';
        for (index, word) in text.split(is_space).enumerate() {
            if index > 0 {
                self.space = true;
            }
            if !word.is_empty() {
                self.begin();
                self.out.push_str(word);
            }
        }
    }

    /// Text as it is, beginning a line.
    pub(super) fn lines(&mut self, text: &str) {
        for line in text.split('\n') {
            self.line_break(1);
            self.begin();
            self.out.push_str(line);
        }
    }

    /// Text as it is, within a line.
    pub(super) fn verbatim(&mut self, text: &str) {
        self.begin();
        self.out.push_str(text);
    }

    pub(super) fn depth(&self) -> usize {
        self.prefixes.len()
    }

    pub(super) fn indent(&mut self, first: Option<String>, rest: &str) {
        let rest = if self.prefixes.len() < DEEPEST { rest.to_owned() } else { String::new() };
        self.prefixes.push(Prefix { first, rest });
    }

    pub(super) fn outdent_to(&mut self, depth: usize) {
        self.prefixes.truncate(depth);
    }
}
