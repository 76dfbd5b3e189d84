//! Which parts of a page are its content, and which only lead around.

use std::ops::Range;

/// So many characters of content are enough to leave out the rest of the page.
const ENOUGH: usize = 200;

/// The parts of the text that elements with a meaning of their own made.
#[derive(Debug, Default)]
pub(super) struct Regions {
    main: Region,
    around: Region,
}

#[derive(Debug, Default)]
struct Region {
    parts: Vec<Range<usize>>,
    /// The element that began the part, how many of its name are open, and where it began.
    open: Option<(String, usize, usize)>,
}

impl Regions {
    pub(super) fn start(&mut self, name: &str, role: Option<&str>, at: usize) {
        let role = role.unwrap_or_default();
        self.main.start(name, matches!(name, "main" | "article") || role == "main", at);
        let leads_around = matches!(name, "nav" | "footer") || matches!(role, "navigation" | "contentinfo");
        self.around.start(name, leads_around, at);
    }

    pub(super) fn end(&mut self, name: &str, at: usize) {
        self.main.end(name, at);
        self.around.end(name, at);
    }

    /// The content of the text, which ends here.
    pub(super) fn content(mut self, text: &str) -> String {
        self.main.close(text.len());
        self.around.close(text.len());
        let whole = 0..text.len();
        let without = |parts: &[Range<usize>]| -> Vec<String> {
            parts.iter().map(|part| self.around.cut_out(text, part)).collect()
        };
        for parts in [self.main.parts.as_slice(), std::slice::from_ref(&whole)] {
            let content = without(parts).join("\n\n");
            if letters(&content) >= ENOUGH {
                return content;
            }
        }
        text.to_owned()
    }
}

impl Region {
    fn start(&mut self, name: &str, begins: bool, at: usize) {
        match &mut self.open {
            Some((open, depth, _)) if open == name => *depth += 1,
            None if begins => self.open = Some((name.to_owned(), 1, at)),
            Some(_) | None => {}
        }
    }

    fn end(&mut self, name: &str, at: usize) {
        let Some((open, depth, since)) = &mut self.open else { return };
        if open == name {
            *depth -= 1;
            if *depth == 0 {
                self.parts.push(*since..at);
                self.open = None;
            }
        }
    }

    fn close(&mut self, at: usize) {
        if let Some((_, _, since)) = self.open.take() {
            self.parts.push(since..at);
        }
    }

    fn cut_out(&self, text: &str, part: &Range<usize>) -> String {
        let (mut kept, mut next) = (String::new(), part.start);
        // Parts are in order, and none is within another.
        let first = self.parts.partition_point(|cut| cut.start < part.start);
        for cut in self.parts[first..].iter().take_while(|cut| cut.end <= part.end) {
            kept.push_str(text.get(next..cut.start).unwrap_or_default());
            next = cut.end;
        }
        kept.push_str(text.get(next..part.end).unwrap_or_default());
        kept
    }
}

fn letters(text: &str) -> usize {
    text.chars().filter(|character| character.is_alphanumeric()).take(ENOUGH).count()
}
