//! What leaves the process of a request: without secrets, and each field within a bound. Secrets go first,
//! because the end of a text that was cut can be the beginning of one.

use crate::messages::{FetchError, Found, Head, Link, Message, Page, SearchHit};
use crate::page::LINK_TEXT;
use crate::secrets::Secrets;

/// The longest value of a header, and the longest words about a failure.
const MOST_CHARS: usize = 1000;

/// The longest title.
const TITLE_CHARS: usize = 500;

/// Makes a message one that may be sent.
pub(super) fn clean(message: &mut Message, secrets: &Secrets) {
    match message {
        Message::Head(head) => clean_head(head, secrets),
        Message::Page(page) => clean_page(page, secrets),
        Message::Found(Found { hits, provider: _, left_out: _ }) => {
            for SearchHit { title, url, snippet } in hits {
                [title, url, snippet].into_iter().for_each(|text| secrets.redact(text));
            }
        }
        Message::Failed { error, at } => {
            clean_error(error, secrets);
            at.iter_mut().for_each(|at| secrets.redact(at));
        }
        // Data goes through a sink of its own, which refuses secrets.
        Message::Data(_) | Message::End(_) => {}
    }
}

fn clean_head(head: &mut Head, secrets: &Secrets) {
    let Head { final_url, content_type, headers, status: _, redirects: _ } = head;
    secrets.redact(final_url);
    for value in headers.iter_mut().map(|(_, value)| value).chain(content_type) {
        secrets.redact(value);
        cut(value, MOST_CHARS);
    }
}

fn clean_page(page: &mut Page, secrets: &Secrets) {
    let Page { text, title, links, kind: _, is_cut, is_part } = page;
    if *is_cut || *is_part {
        secrets.redact_part(text);
    } else {
        secrets.redact(text);
    }
    if let Some(title) = title {
        secrets.redact(title);
        cut(title, TITLE_CHARS);
    }
    for Link { text, url } in links {
        // The words of a link were cut where it was read.
        if text.len() < LINK_TEXT {
            secrets.redact(text)
        } else {
            secrets.redact_part(text)
        }
        secrets.redact(url);
    }
}

fn clean_error(error: &mut FetchError, secrets: &Secrets) {
    let clean = |text: &mut String| {
        secrets.redact(text);
        cut(text, MOST_CHARS);
    };
    match error {
        FetchError::Blocked { url, reason, host } => {
            [url, reason].into_iter().chain(host).for_each(clean);
        }
        FetchError::Invalid(text)
        | FetchError::NoSuchHost(text)
        | FetchError::Unreachable(text)
        | FetchError::BadAnswer(text)
        | FetchError::Search { message: text, retryable: _ } => clean(text),
        FetchError::TimedOut | FetchError::TooLarge(_) => {}
    }
}

fn cut(text: &mut String, most_chars: usize) {
    if let Some((end, _)) = text.char_indices().nth(most_chars) {
        text.truncate(end);
        text.push('…');
    }
}
