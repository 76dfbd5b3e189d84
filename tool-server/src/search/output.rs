//! The output of a search or listing: a page, and notices about the rest.

use toolkit::output::Full;
use toolkit::{Page, PartialReason, Success};

use super::search_budget::AbortedReason;
use super::skipped::Skipped;

/// The output of a search or listing. `shown` says what the page holds, such as `3 paths`; `next` makes the
/// cursor after it. A search that stopped early has no cursor, since what it missed may sort before it.
pub(crate) fn output<Data: Default>(
    page: Page,
    data: Data,
    shown: &str,
    next: impl FnOnce() -> String,
    skipped: &Skipped,
    aborted: Option<AbortedReason>,
) -> Success<Data> {
    let full = page.full();
    let mut notices = skipped.notices(aborted);
    notices.extend(full.map(|full| more(full, shown, aborted.is_none())));
    let stopped = aborted.map(|_| PartialReason::StoppedEarly);
    Success {
        partial: stopped.or(skipped.makes_partial().then_some(PartialReason::Skipped)),
        next_page_cursor: full.filter(|_| aborted.is_none()).map(|_| next()),
        stdout: page.into_text(),
        data,
        notices,
        ..Success::default()
    }
    .cut_at(full)
}

fn more(full: Full, shown: &str, has_cursor: bool) -> String {
    let limit = match full {
        Full::Limit => "the limit",
        Full::Lines => "the line limit of an answer",
        Full::Bytes => "the byte limit of an answer",
    };
    let how = if has_cursor { " Call again with `cursor` set to next_page_cursor." } else { "" };
    format!("Showing {shown} ({limit}); there is more.{how}")
}
