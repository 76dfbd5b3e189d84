//! The values of rows that are more than a number, a word or a list: what they must be, and what comes of
//! them.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};
use url::Url;

use crate::span::Span;

const DAY: Duration = Duration::from_secs(86_400);

/// Less than this is kept of nothing.
pub const SHORTEST_RETENTION: Duration = Duration::from_secs(3600);

/// An http or https address.
pub(crate) fn web_address(text: &str) -> Option<Url> {
    let url = text.parse::<Url>().ok()?;
    (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
}

/// An address to which paths are added.
pub(crate) fn base_address(text: &str) -> Option<Url> {
    web_address(text).filter(|url| url.query().is_none())
}

/// The same; a slash at its end would be doubled.
pub(crate) fn api_address(text: &str) -> Option<Url> {
    web_address(text.trim_end_matches('/'))
}

/// How long something is kept: at least an hour, or forever.
pub(crate) fn retention(text: &str) -> Option<Option<Span>> {
    match text.parse::<Span>() {
        _ if text == "0" => Some(None),
        Ok(span) if span.0 >= SHORTEST_RETENTION => Some(Some(span)),
        Ok(_) | Err(_) => None,
    }
}

/// A pause of at most a month; `0` is none.
pub(crate) fn pause(text: &str) -> Option<Duration> {
    match text.parse::<Span>() {
        _ if text == "0" => Some(Duration::ZERO),
        Ok(span) if span.0 <= 30 * DAY => Some(span.0),
        Ok(_) | Err(_) => None,
    }
}

/// Names of hosts, with or without a port.
pub(crate) fn hosts(items: &[String]) -> Result<Vec<String>, String> {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-._:[]".contains(character);
    match items.iter().find(|host| !host.chars().all(plain)) {
        None => Ok(items.to_vec()),
        Some(wrong) => Err(wrong.clone()),
    }
}

/// The IDs of people, which are positive.
pub(crate) fn people(items: &[String]) -> Result<Vec<i64>, String> {
    ids(items, |id| id > 0)
}

/// The IDs of chats: those of groups are negative.
pub(crate) fn chats(items: &[String]) -> Result<Vec<i64>, String> {
    ids(items, |_| true)
}

fn ids(items: &[String], is_right: fn(i64) -> bool) -> Result<Vec<i64>, String> {
    let id = |item: &String| item.parse().ok().filter(|id| is_right(*id)).ok_or_else(|| item.clone());
    items.iter().map(id).collect()
}

/// A token that people and programs send in a header.
pub(crate) fn is_token(text: &str) -> bool {
    (8..=256).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// A token of Telegram's bots.
pub(crate) fn is_bot_token(token: &str) -> bool {
    token.split_once(':').is_some_and(|(id, secret)| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        !id.is_empty()
            && id.bytes().all(|byte| byte.is_ascii_digit())
            && !secret.is_empty()
            && secret.bytes().all(is_plain)
    })
}

/// Whether a text can be the name of a node: it stands in sessions and notifications of the database.
pub fn is_node_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

/// The name of a node.
pub(crate) fn node_name(text: &str) -> Option<String> {
    crate::is_node_name(text).then(|| text.to_owned())
}

/// Any secret.
pub(crate) fn is_any(_: &str) -> bool {
    true
}

/// A directory that exists.
pub(crate) fn directory(text: &str) -> Option<PathBuf> {
    let path = PathBuf::from(text);
    path.is_dir().then_some(path)
}

/// How much chance there is in a model's replies.
pub(crate) fn temperature(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number| (0.0..=2.0).contains(number))
}

/// A JSON object.
pub(crate) fn object(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

/// `NAME` of `NAME=value`, whose value stays private.
pub(crate) fn name_of_assignment(item: &str) -> &str {
    item.split('=').next().unwrap_or(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_or_addresses_with_or_without_a_port() {
        let read = |item: &str| hosts(&[item.to_owned()]);
        for right in ["box.example", "10.0.0.1:80", "[fd00::1]"] {
            assert!(read(right).is_ok(), "{right}");
        }
        for wrong in ["http://box.example", "box.example/", "*", "a b"] {
            assert_eq!(read(wrong), Err(wrong.to_owned()));
        }
    }
}
