//! The answer of a search: its page, and the notices of what the page does not hold.

use toolkit::output::Full;
use toolkit::{Output, Page};

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
) -> Output<Data> {
    let full = page.full();
    let mut notices = skipped.notices(aborted);
    notices.extend(full.map(|full| more(full, shown, aborted.is_none())));
    Output {
        partial: full.is_some() || aborted.is_some() || skipped.makes_partial(),
        truncated_lines: full == Some(Full::Lines),
        truncated_bytes: full == Some(Full::Bytes),
        next_page_cursor: full.filter(|_| aborted.is_none()).map(|_| next),
        stdout: page.into_text(),
        data,
        notices,
        ..Output::default()
    }
}

fn more(full: Full, shown: &str, has_cursor: bool) -> String {
    let why = match full {
        Full::Limit => "the limit",
        Full::Lines => "the bound of lines of an answer",
        Full::Bytes => "the bound of bytes of an answer",
    };
    let how = if has_cursor { " Call again with `cursor` set to next_page_cursor." } else { "" };
    format!("There is more: {shown} shown, which is {why}.{how}")
}
