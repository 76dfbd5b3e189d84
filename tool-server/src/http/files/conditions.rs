//! `If-Match`, `If-None-Match` and `If-Range`: what the caller knows of the file, by its SHA-256 as entity
//! tag (RFC 9110, 13.1).

use axum::http::{HeaderMap, header};
use protocol::{ErrorCode, ToolError};
use toolkit::arguments::{elide, invalid};

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Conditions {
    /// The hashes of `If-Match`; a tag that is no hash matches nothing.
    pub(super) if_match: Option<Vec<String>>,
    /// `If-None-Match: *` of an upload.
    pub(super) is_new: bool,
    if_none_match: Vec<String>,
    /// The hash of `If-Range`; an empty one, such as that of a date, is never the file's.
    if_range: Option<String>,
}

/// What a download answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Changed,
    NotModified,
    Send { ranges: bool },
}

impl Conditions {
    pub(super) fn of_download(headers: &HeaderMap) -> Result<Self, ToolError> {
        let if_match = text(headers, header::IF_MATCH)?;
        let if_none_match = text(headers, header::IF_NONE_MATCH)?;
        Ok(Self {
            // Whatever there is, it is there: the file was opened.
            if_match: if_match.filter(|tags| tags.trim() != "*").map(hashes),
            if_none_match: if_none_match.map(hashes).unwrap_or_default(),
            if_range: text(headers, header::IF_RANGE)?.map(|tag| strong(tag).unwrap_or_default()),
            is_new: false,
        })
    }

    pub(super) fn of_upload(headers: &HeaderMap) -> Result<Self, ToolError> {
        refuse(headers, header::CONTENT_RANGE, "A part of a file cannot be stored.")?;
        if headers.get(header::CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity") {
            let message = "The body is encoded; it would be stored as it comes.";
            let hint = "Send the file itself, without Content-Encoding.";
            return Err(ToolError::new(ErrorCode::UnsupportedMediaType, message).with_hint(hint));
        }
        let if_match = text(headers, header::IF_MATCH)?;
        if if_match.is_some_and(|tags| tags.trim() == "*") {
            return Err(invalid("`If-Match: *` would overwrite a file that nobody has looked at.")
                .with_hint("Send the ETag of a GET or HEAD."));
        }
        let is_new = match text(headers, header::IF_NONE_MATCH)?.map(str::trim) {
            None => false,
            Some("*") => true,
            Some(other) => {
                let other = elide(other, 100);
                return Err(invalid(format!("`If-None-Match: {other}` means nothing for a PUT."))
                    .with_hint("Use `If-None-Match: *` to create a file, and If-Match to replace one."));
            }
        };
        if is_new && if_match.is_some() {
            return Err(invalid("If-Match and If-None-Match exclude each other."));
        }
        Ok(Self { if_match: if_match.map(hashes), is_new, ..Self::default() })
    }

    /// For a file with this hash.
    pub(super) fn decide(&self, sha256: &str) -> Decision {
        let is_this = |hash: &String| hash == sha256;
        if self.if_match.as_ref().is_some_and(|hashes| !hashes.iter().any(is_this)) {
            return Decision::Changed;
        }
        if self.if_none_match.iter().any(|hash| is_this(hash) || hash == "*") {
            return Decision::NotModified;
        }
        Decision::Send { ranges: self.if_range.as_ref().is_none_or(is_this) }
    }
}

/// The error of a download whose `If-Match` does not hold.
pub(super) fn changed(sha256: &str) -> ToolError {
    let message = format!("The file has SHA-256 {sha256}, which If-Match does not name.");
    ToolError { http_status: Some(412), ..ToolError::new(ErrorCode::Conflict, message) }
}

fn refuse(headers: &HeaderMap, name: header::HeaderName, why: &str) -> Result<(), ToolError> {
    match headers.get(&name) {
        None => Ok(()),
        Some(_) => Err(invalid(why).with_hint(format!("Leave the header {name} out."))),
    }
}

/// A header that may be there once.
fn text(headers: &HeaderMap, name: header::HeaderName) -> Result<Option<&str>, ToolError> {
    let mut values = headers.get_all(&name).iter();
    match (values.next().map(|value| value.to_str()), values.next()) {
        (None, _) => Ok(None),
        (Some(Ok(value)), None) => Ok(Some(value)),
        _ => Err(invalid(format!("The header {name} must be there once, in ASCII."))),
    }
}

/// The hashes of a list of tags. A weak tag, or one that is no hash of ours, is left out: it matches nothing.
fn hashes(list: &str) -> Vec<String> {
    list.split(',')
        .filter_map(|tag| if tag.trim() == "*" { Some("*".to_owned()) } else { strong(tag) })
        .collect()
}

fn strong(tag: &str) -> Option<String> {
    Some(tag.trim().strip_prefix('"')?.strip_suffix('"')?.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(list: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        list.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_download_is_sent_withheld_or_refused_by_its_tags() {
        let check = |list: &[(header::HeaderName, &'static str)], decision| {
            assert_eq!(Conditions::of_download(&headers(list)).unwrap().decide("ab"), decision, "{list:?}");
        };
        use header::{IF_MATCH, IF_NONE_MATCH, IF_RANGE};
        check(&[], Decision::Send { ranges: true });
        check(&[(IF_MATCH, "\"cd\"")], Decision::Changed);
        check(&[(IF_MATCH, "\"cd\", \"AB\"")], Decision::Send { ranges: true });
        check(&[(IF_MATCH, "W/\"ab\"")], Decision::Changed);
        check(&[(IF_MATCH, "*")], Decision::Send { ranges: true });
        check(&[(IF_NONE_MATCH, "\"ab\"")], Decision::NotModified);
        check(&[(IF_NONE_MATCH, "*")], Decision::NotModified);
        check(&[(IF_NONE_MATCH, "\"cd\"")], Decision::Send { ranges: true });
        check(&[(IF_RANGE, "\"ab\"")], Decision::Send { ranges: true });
        check(&[(IF_RANGE, "\"cd\"")], Decision::Send { ranges: false });
        check(&[(IF_RANGE, "Sun, 06 Nov 1994 08:49:37 GMT")], Decision::Send { ranges: false });
    }

    #[test]
    fn an_upload_is_conditional_in_one_way_or_refused() {
        use header::{CONTENT_ENCODING, CONTENT_RANGE, IF_MATCH, IF_NONE_MATCH};
        let of = |list: &[(header::HeaderName, &'static str)]| Conditions::of_upload(&headers(list));
        assert_eq!(of(&[]).unwrap(), Conditions::default());
        assert!(of(&[(IF_NONE_MATCH, "*")]).unwrap().is_new);
        assert_eq!(of(&[(IF_MATCH, "\"ab\"")]).unwrap().if_match, Some(vec!["ab".to_owned()]));
        assert_eq!(of(&[(IF_MATCH, "nonsense")]).unwrap().if_match, Some(Vec::new()));
        let refused = [
            vec![(IF_MATCH, "*")],
            vec![(IF_NONE_MATCH, "\"ab\"")],
            vec![(IF_NONE_MATCH, "*"), (IF_MATCH, "\"ab\"")],
            vec![(CONTENT_RANGE, "bytes 0-1/2")],
            vec![(CONTENT_ENCODING, "gzip")],
        ];
        for list in refused {
            assert!(of(&list).is_err(), "{list:?}");
        }
    }
}
