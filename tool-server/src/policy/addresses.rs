//! Addresses in arguments: which of them lead off this machine.
//!
//! A name that is not known completely leads nowhere as far as the rules are concerned, and the loopback
//! interface is there for every command.

use super::word::{UNKNOWN, Word};

/// Whether a word is a URL to another machine.
pub(super) fn is_remote_url(word: &Word) -> bool {
    let Some((scheme, rest)) = word.text().split_once("://") else { return false };
    let scheme = scheme.rsplit('+').next().unwrap_or(scheme);
    let is_scheme = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric());
    is_scheme && scheme != "file" && is_remote_host(host_of(rest))
}

/// Whether a word has a scheme at all.
pub(super) fn is_url(word: &Word) -> bool {
    word.text().contains("://")
}

/// Whether a word, with or without a scheme, means a server on another machine.
pub(super) fn is_remote_target(word: &Word) -> bool {
    if is_url(word) { is_remote_url(word) } else { is_remote_host(host_of(word.text())) }
}

/// Whether `user@host:path` or `host:path` names a file on another machine.
pub(super) fn is_remote_file(word: &Word) -> bool {
    if is_url(word) {
        return is_remote_url(word);
    }
    let Some((host, _)) = word.text().split_once(':') else { return false };
    !host.contains('/') && is_remote_host(host.rsplit('@').next().unwrap_or(host))
}

/// Whether a word is `user@host:path`: the short form of an address that git takes.
pub(super) fn is_remote_repository(word: &Word) -> bool {
    let short = word.text().split_once('@').is_some_and(|(user, rest)| {
        let plain = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        };
        plain(user) && rest.split_once(':').is_some_and(|(host, _)| plain(host) && is_remote_host(host))
    });
    short || is_remote_url(word)
}

/// Whether a host is known and is not this machine.
pub(super) fn is_remote_host(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let here = matches!(host.as_str(), "" | "localhost" | "::1" | "0.0.0.0" | "0" | "ip6-localhost")
        || host.starts_with("127.")
        || host.ends_with(".localhost");
    !here && !host.contains(UNKNOWN)
}

/// The host in `user@host:port/path`.
fn host_of(text: &str) -> &str {
    let authority = text.split(['/', '?', '#']).next().unwrap_or(text);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or(address),
        None => host.split(':').next().unwrap_or(host),
    }
}
