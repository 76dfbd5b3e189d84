//! `Range: bytes=…` of a download (RFC 9110, 14.1.2). Several ranges at once, and other units, are answered
//! with the whole file, as the standard allows.

use axum::http::HeaderValue;
use protocol::ToolError;
use toolkit::arguments::invalid;

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) first: u64,
    pub(super) length: u64,
}

impl Part {
    pub(super) fn content_range(self, size_bytes: u64) -> HeaderValue {
        let last = self.first + self.length - 1;
        let text = format!("bytes {}-{last}/{size_bytes}", self.first);
        HeaderValue::try_from(text).expect("digits, a dash and a slash are a header")
    }
}

/// The part that a range names; none for the whole file.
pub(super) fn part(range: Option<&str>, size_bytes: u64) -> Result<Option<Part>, ToolError> {
    let Some((first, last)) = range.and_then(bounds) else { return Ok(None) };
    let (first, end) = match (first, last) {
        (Some(first), Some(last)) if last < first => return Ok(None),
        (Some(first), last) => {
            (first, last.map_or(size_bytes, |last| last.saturating_add(1).min(size_bytes)))
        }
        (None, Some(last_bytes)) => (size_bytes.saturating_sub(last_bytes), size_bytes),
        (None, None) => return Ok(None),
    };
    if first >= end {
        let error = invalid(format!("The file has {size_bytes} bytes; the range is beyond its end."));
        return Err(ToolError { http_status: Some(416), ..error });
    }
    Ok(Some(Part { first, length: end - first }))
}

/// The two numbers of a single range of bytes.
fn bounds(range: &str) -> Option<(Option<u64>, Option<u64>)> {
    let (first, last) = range.trim().strip_prefix("bytes=")?.split_once('-')?;
    let number = |digits: &str| match digits.trim() {
        "" => Some(None),
        digits if digits.bytes().all(|digit| digit.is_ascii_digit()) => digits.parse().ok().map(Some),
        _ => None,
    };
    Some((number(first)?, number(last)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_a_part_the_whole_or_refused() {
        let check = |range: &str, expected: Option<(u64, u64)>| {
            let found = part(Some(range), 10).unwrap().map(|part| (part.first, part.length));
            assert_eq!(found, expected, "{range}");
        };
        check("bytes=0-0", Some((0, 1)));
        check("bytes=3-", Some((3, 7)));
        check("bytes=3-99", Some((3, 7)));
        check("bytes=-4", Some((6, 4)));
        check("bytes=-99", Some((0, 10)));
        for whole in ["bytes=5-2", "bytes=0-1,3-4", "lines=1-2", "bytes=a-b", "bytes=-", "bytes=+1-2", ""] {
            check(whole, None);
        }
        for beyond in ["bytes=10-", "bytes=10-11", "bytes=-0"] {
            assert_eq!(part(Some(beyond), 10).unwrap_err().http_status, Some(416), "{beyond}");
        }
        assert!(part(Some("bytes=0-"), 0).is_err() && part(None, 0).unwrap().is_none());
    }
}
