//! The answer of a search: its page, and the notices of what the page does not hold.

use toolkit::output::Full;
use toolkit::{Page, PartialReason, Success};

use super::search_budget::AbortedReason;
use super::skipped::Skipped;

/// The output of a search. `shown` says what the page holds, such as `3 paths`; `next` is the cursor after
/// it. A search that a fuse ended has no cursor, for what it did not see may sort before what it found.
pub(crate) fn output<Data: Default>(
    page: Page,
    data: Data,
    shown: &str,
    next: String,
    skipped: &Skipped,
    aborted: Option<AbortedReason>,
) -> Success<Data> {
    let full = page.full();
    let mut notices = skipped.notices(aborted);
    notices.extend(full.map(|full| more(full, shown, aborted.is_none())));
    let stopped = aborted.map(|_| PartialReason::StoppedEarly);
    Success {
        partial: stopped.or(skipped.makes_partial().then_some(PartialReason::Skipped)),
        next_page_cursor: full.filter(|_| aborted.is_none()).map(|_| next),
        stdout: page.into_text(),
        data,
        notices,
        ..Success::default()
    }
    .cut_at(full)
}

/// The notice that there is more than what is `shown`.
pub(crate) fn more(full: Full, shown: &str, has_cursor: bool) -> String {
    let why = match full {
        Full::Limit => "the limit",
        Full::Lines => "the bound of lines of an answer",
        Full::Bytes => "the bound of bytes of an answer",
    };
    let how = if has_cursor { " Call again with `cursor` set to next_page_cursor." } else { "" };
    format!("There is more: {shown} shown, which is {why}.{how}")
}
