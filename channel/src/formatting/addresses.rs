//! Addresses, paths and names of files in a text: `_`, `*` and `~` are characters of them, where Markdown
//! would begin or end a style.

use std::ops::Range;

/// Of a longer word, only so much on each side of a mark is looked at.
const MAX_WORD_BYTES: usize = 2048;

/// The opening and the closing mark of a styled part of the source, if they belong to an address, a path or
/// a name and so are to be shown; none if they style what lies between. `range` has both marks, which have
/// `length` bytes each.
pub(super) fn shown_marks<'s>(
    source: &'s str,
    range: &Range<usize>,
    length: usize,
) -> Option<(&'s str, &'s str)> {
    let styled = source.get(range.clone())?;
    let opening = styled.get(..length)?;
    let closing = styled.get(styled.len().checked_sub(length)?..)?;
    let opens = Mark::at(source, range.start, opening);
    let closes = Mark::at(source, range.end - length, closing);
    // As in `2*3*4`.
    let is_product = opening == "*"
        && opens.before.ends_with(char::is_alphanumeric)
        && closes.after.starts_with(char::is_alphanumeric);
    // One tilde is a mark to few people: `5~10 minutes`.
    let is_shown = is_product
        || opening == "~"
        || opens.is_behind_scheme()
        || closes.is_behind_scheme() && !closes.ends_its_word()
        || opens.is_in_path() && (opening.starts_with('_') || !closes.ends_its_word())
        || closes.is_in_path() && !closes.ends_its_word()
        || opening.starts_with('_') && closes.begins_an_extension();
    is_shown.then_some((opening, closing))
}

/// A mark and what stands beside it in its word.
struct Mark<'s> {
    before: &'s str,
    after: &'s str,
}

impl<'s> Mark<'s> {
    fn at(source: &'s str, at: usize, mark: &str) -> Self {
        let ends = |c: char| c.is_whitespace() || matches!(c, '|' | '<' | '>' | '`' | '"' | '[' | ']');
        let begin = source.floor_char_boundary(at.saturating_sub(MAX_WORD_BYTES));
        let before = source[begin..at].rsplit(ends).next().unwrap_or_default();
        // Where a link leads is no part of the word behind it.
        let is_target = before.starts_with('(') && source[..at - before.len()].ends_with(']');
        let before = before.split_once(')').filter(|_| is_target).map_or(before, |(_, behind)| behind);
        let before = before.trim_start_matches(['(', '{', '\'']);
        let after = at + mark.len();
        let end = source.ceil_char_boundary((after + MAX_WORD_BYTES).min(source.len()));
        let after = &source[after..end];
        Self { before, after: after.find(ends).map_or(after, |end| &after[..end]) }
    }

    /// Whether it is in an address such as `https://…`, behind its scheme.
    fn is_behind_scheme(&self) -> bool {
        self.before.contains("://")
    }

    /// Whether its word began as a path or a query: `src/`, `./`, `?q=`.
    fn is_in_path(&self) -> bool {
        let begins = |c: char| c.is_alphanumeric() || matches!(c, '.' | '/' | '~' | '$' | '?');
        self.before.starts_with(begins)
            && (self.before.contains('/') || self.before.starts_with('?') && self.before.contains('='))
    }

    /// Whether nothing of the word follows but a sentence's punctuation and further marks.
    fn ends_its_word(&self) -> bool {
        let is_mark = |c: char| matches!(c, '*' | '_' | '~');
        let is_punctuation =
            |c: char| matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | ')' | ']' | '}' | '\'' | '…');
        self.after.chars().all(|c| is_mark(c) || is_punctuation(c))
    }

    /// Whether a file's extension or a further part of a path follows: `__init__.py`, `__tests__/`.
    fn begins_an_extension(&self) -> bool {
        let extension = self.after.strip_prefix('.').and_then(|rest| rest.chars().next());
        self.after.starts_with('/') || extension.is_some_and(char::is_alphanumeric)
    }
}
