//! An address as it is written: http or https, a host, a port that web servers have, and no secret in it.

use url::{Host, Url};

use crate::messages::FetchError;

/// The longest address.
const MAX_BYTES: usize = 8192;

/// Ports from 1024 on that other services listen on, which take a request for a command. Below, only the
/// web's own two are asked. A host pattern that names a port allows it.
const OTHER_SERVICES: [u16; 34] = [
    1433, 1521, 1719, 1720, 1723, 2049, 2375, 2376, 2379, 2380, 3306, 3389, 3659, 4045, 5060, 5061, 5432,
    5672, 5900, 5984, 6000, 6379, 6443, 6566, 6667, 6697, 8500, 9042, 9092, 9200, 9300, 10250, 11211, 27017,
];

/// Words that names of credentials have, once `-` and `_` are left out.
const CREDENTIAL_WORDS: [&str; 14] = [
    "apikey", "token", "secret", "password", "passwd", "auth", "credential", "signature", "session",
    "cookie", "accesskey", "privatekey", "jwt", "bearer",
];

/// Whether a name of a header or of a part of a query sounds like that of a credential.
pub(crate) fn is_credential_name(name: &str) -> bool {
    let bare: String = name
        .chars()
        .filter(|character| !matches!(character, '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect();
    matches!(bare.as_str(), "key" | "sig" | "pwd" | "pass" | "code" | "sid")
        || CREDENTIAL_WORDS.iter().any(|word| bare.contains(word))
}

/// The address, if it may be asked at all. Whether its host may be is decided by name and addresses.
pub(crate) fn parse(text: &str) -> Result<Url, FetchError> {
    if text.len() > MAX_BYTES {
        return Err(FetchError::Invalid(format!("The address has more than {MAX_BYTES} bytes.")));
    }
    let url = Url::parse(text.trim())
        .map_err(|error| blocked(text, format!("it is not a valid address ({error})")))?;
    check(&url)?;
    Ok(url)
}

/// The same for an address that a redirect leads to.
pub(crate) fn check(url: &Url) -> Result<(), FetchError> {
    let refuse = |reason: String| Err(blocked(url.as_str(), reason));
    if url.as_str().len() > MAX_BYTES {
        let message = format!("The address has more than {MAX_BYTES} bytes.");
        return Err(FetchError::Invalid(message));
    }
    if !matches!(url.scheme(), "http" | "https") {
        return refuse(format!("only http and https are allowed, not {}", url.scheme()));
    }
    match url.host() {
        None => return refuse("it has no host".to_owned()),
        Some(Host::Domain(name)) if name.trim_end_matches('.').is_empty() => {
            return refuse("it has no host".to_owned());
        }
        Some(Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_)) => {}
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("it has a user or password in it; use `auth_profile`".to_owned());
    }
    Ok(())
}

/// Whether a name, without a final dot, means this machine, whatever a resolver says (RFC 6761, 6.3).
pub(crate) fn is_loopback_name(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether servers of the web listen on this port.
pub(crate) fn is_web_port(port: u16) -> bool {
    matches!(port, 80 | 443) || (port >= 1024 && !OTHER_SERVICES.contains(&port))
}

/// The error for an address that must not be asked, whatever hosts are allowed.
pub(crate) fn blocked(url: &str, reason: String) -> FetchError {
    FetchError::Blocked { url: shown_url(url), reason, host: None }
}

/// The host of an address, in lower case; none if it has none.
pub fn host_of(text: &str) -> Option<String> {
    host_name(&Url::parse(text.trim()).ok()?)
}

/// The host of an address, as patterns have it.
pub(crate) fn host_name(url: &Url) -> Option<String> {
    url.host_str().map(|host| host.trim_end_matches('.').to_ascii_lowercase())
}

/// The host of an address and its port: what works or fails by itself. None of an address that is not asked.
pub fn service_of(text: &str) -> Option<String> {
    let url = parse(text).ok()?;
    Some(format!("{}:{}", host_name(&url)?, url.port_or_known_default()?))
}

/// An address as it may be shown: without a user, and without the values of credentials in its query.
pub fn shown_url(text: &str) -> String {
    let Ok(mut url) = Url::parse(text.trim()) else { return text.chars().take(200).collect() };
    let _ = url.set_username("");
    let _ = url.set_password(None);
    if url.query_pairs().any(|(name, _)| is_credential_name(&name)) {
        let pairs: Vec<String> = url
            .query()
            .unwrap_or_default()
            .split('&')
            .map(|pair| match pair.split_once('=') {
                Some((name, _)) if is_credential_name(name) => format!("{name}=***REDACTED***"),
                _ => pair.to_owned(),
            })
            .collect();
        url.set_query(Some(&pairs.join("&")));
    }
    url.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_web_pass() {
        for good in ["http://example.com", "https://example.com:8443/a?b=c#d", "HTTP://EXAMPLE.com."] {
            assert!(parse(good).is_ok(), "{good}");
        }
        for (bad, why) in [
            ("file:///etc/passwd", "not file"),
            ("dict://127.0.0.1:11211/stat", "not dict"),
            ("gopher://x/", "not gopher"),
            ("jar:http://127.0.0.1!/", "not jar"),
            ("data:text/html,x", "not data"),
            ("http://exa mple.com/", "not a valid address"),
            ("http://[fe80::1%25eth0]/", "not a valid address"),
            ("http://", "not a valid address"),
            ("http://user:pass@example.com/", "a user or password"),
            ("/etc/passwd", "not a valid address"),
        ] {
            let error = parse(bad).unwrap_err().to_string();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }

    #[test]
    fn a_service_is_a_host_with_its_port_however_it_is_written() {
        for (text, service) in [
            ("http://Example.com./a", Some("example.com:80")),
            ("https://example.com", Some("example.com:443")),
            ("https://u.example:8443/?q", Some("u.example:8443")),
            ("http://0x7f.1:81/", Some("127.0.0.1:81")),
            ("http://[::1]/", Some("[::1]:80")),
            ("file:///etc/passwd", None),
            ("no address", None),
        ] {
            assert_eq!(service_of(text).as_deref(), service, "{text}");
        }
    }

    #[test]
    fn other_notations_become_addresses() {
        for text in ["http://0177.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://127。0。0。1/"]
        {
            assert_eq!(parse(text).unwrap().host_str(), Some("127.0.0.1"), "{text}");
        }
    }

    #[test]
    fn what_is_shown_has_no_credential() {
        let shown = shown_url("https://u:p@h.example/x?q=1&api_key=abc&X-Amz-Signature=def&page=2");
        assert_eq!(
            shown,
            "https://h.example/x?q=1&api_key=***REDACTED***&X-Amz-Signature=***REDACTED***&page=2"
        );
    }
}
