//! A page that is longer than an answer: its text is kept, and read on from there without a second request.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use files::change::read_whole;
use protocol::{ErrorCode, EventId, FullOutput, ToolError};
use toolkit::output::Full;
use toolkit::{Bounds, Call, Scope};

use super::Web;
use crate::cursor;

/// More than any page that was kept.
const MAX_KEPT_BYTES: u64 = 64 << 20;

/// A part of a text, and where the next one begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cut<'a> {
    pub(crate) text: &'a str,
    pub(crate) next: Option<usize>,
    pub(crate) full: Option<Full>,
}

/// As much of the text from `start` on as an answer holds: whole lines, if one ends within it.
pub(crate) fn cut(text: &str, start: usize, bounds: Bounds) -> Cut<'_> {
    let rest = text.get(start..).unwrap_or_default();
    let by_lines =
        rest.match_indices('\n').nth(bounds.lines.saturating_sub(1)).map_or(rest.len(), |(at, _)| at + 1);
    let by_bytes = rest.floor_char_boundary(bounds.bytes);
    let (end, full) = if by_lines <= by_bytes { (by_lines, Full::Lines) } else { (by_bytes, Full::Bytes) };
    if end >= rest.len() {
        return Cut { text: rest, next: None, full: None };
    }
    let end = rest[..end].rfind('\n').map_or(end, |newline| newline + 1);
    // A bound below one character must not stop the reader.
    let end = end.max(rest.ceil_char_boundary(1));
    Cut { text: &rest[..end], next: Some(start + end), full: Some(full) }
}

/// What the name of a kept page ends with, which the output of a command does not.
const PAGE: &str = ".page";

impl Web {
    fn page_name(&self, scope: &Scope, kept_by: &EventId) -> String {
        self.workspaces.output_name(scope, scope.token(), kept_by) + PAGE
    }

    /// Whether what lies at a path comes from the web: a page that was kept, or the directory of them.
    pub(crate) fn is_from_outside(&self, path: &Path) -> bool {
        let is_page = || path.file_stem().is_some_and(|name| name.as_bytes().ends_with(PAGE.as_bytes()));
        path == self.output.directory() || (path.parent() == Some(self.output.directory()) && is_page())
    }

    /// Keeps the whole text of a page.
    pub(crate) fn keep(&self, call: &Call, text: &str) -> (Option<FullOutput>, Option<String>) {
        let name = self.page_name(&call.scope, &call.id);
        let saved = self.output.begin(&name).and_then(|mut spill| {
            spill.write(text.as_bytes())?;
            Ok(spill.finish())
        });
        match saved {
            Ok(saved) => (saved.file, saved.notice),
            Err(error) => {
                tracing::error!(%error, "could not keep a page");
                (None, Some("The rest of the page could not be kept; only what is shown is left.".to_owned()))
            }
        }
    }

    /// The cursor for the part of a kept page that begins at `next`.
    pub(crate) fn cursor(&self, arguments: &str, kept_by: &EventId, next: usize) -> String {
        cursor::encode(arguments, format!("{kept_by}:{next}").as_bytes())
    }

    /// The text that a cursor belongs to, who kept it, and where to read on.
    pub(crate) fn reopen(
        &self,
        call: &Call,
        arguments: &str,
        cursor: &str,
    ) -> Result<(String, EventId, usize), ToolError> {
        let gone = || {
            let message = "The page is no longer kept.";
            ToolError::new(ErrorCode::NotFound, message).with_hint("Repeat the call without `cursor`.")
        };
        let at = String::from_utf8(cursor::decode(arguments, cursor)?).map_err(|_| gone())?;
        let (kept_by, next) = at.rsplit_once(':').ok_or_else(gone)?;
        let (kept_by, next): (EventId, usize) =
            (kept_by.parse().map_err(|_| gone())?, next.parse().map_err(|_| gone())?);
        // Only the name that the call's own session gives it is looked for.
        let name = self.page_name(&call.scope, &kept_by);
        let path = self.output.path_of(&name);
        let opened = self.workspaces.of(&call.scope)?.open_file(&path).map_err(|_| gone())?;
        let bytes = read_whole(&opened.handle, MAX_KEPT_BYTES).ok().flatten().ok_or_else(gone)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if !text.is_char_boundary(next) {
            return Err(gone());
        }
        Ok((text, kept_by, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_ends_with_a_line_or_a_character_and_the_next_goes_on_there() {
        let bounds = Bounds { lines: 2, bytes: 10 };
        for text in ["a\nb\nc\nd\ne\n", "äöüäöüäöüäöü", "one\ntwo three four\nfive\n", "", "x", "\n\n\n\n\n"]
        {
            let (mut whole, mut at) = (String::new(), Some(0));
            while let Some(start) = at {
                let cut = cut(text, start, bounds);
                assert!(cut.text.len() <= 10 && cut.text.lines().count() <= 2, "{cut:?}");
                assert_eq!(cut.full.is_some(), cut.next.is_some());
                whole.push_str(cut.text);
                at = cut.next;
            }
            assert_eq!(whole, text);
        }
    }
}
