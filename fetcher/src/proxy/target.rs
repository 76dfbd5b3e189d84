//! Which host a request asks for, and whether the list has it.
//!
//! The name alone decides here: one that is not listed is never resolved, so it carries nothing out.

use http::{Method, Uri};
use url::{Host, Url};

use crate::judge::{self, Hosts, host_name};

/// The port of tunnels whose pattern names none.
const TUNNELS: u16 = 443;

/// The same of requests in the clear.
const CLEAR: u16 = 80;

/// A host that may be asked.
#[derive(Debug)]
pub(super) struct Target {
    url: Url,
    name: String,
}

/// Why there is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The request is none that a proxy answers.
    Wrong(String),
    /// The list does not allow it.
    Refused {
        /// The host, with its port if that is not the usual one.
        name: String,
        /// In words.
        why: &'static str,
    },
    /// It is an address, which no list allows.
    Address(String),
}

impl Target {
    pub(super) fn of(method: &Method, uri: &Uri, hosts: &Hosts) -> Result<Self, Verdict> {
        let is_tunnel = method == Method::CONNECT;
        let Some(authority) = uri.authority() else {
            return wrong("This is a proxy: ask it for a whole address, or to CONNECT.");
        };
        let (scheme, usual) = match uri.scheme_str() {
            None if is_tunnel && authority.port().is_some() => ("https", TUNNELS),
            None if is_tunnel => return wrong("CONNECT needs a host and a port."),
            Some("http") if !is_tunnel => ("http", CLEAR),
            _ => return wrong("This proxy serves CONNECT, and http addresses in the clear."),
        };
        if authority.as_str().contains('@') {
            return wrong("The address has a user in it.");
        }
        // A path would change nothing of what is judged.
        let Ok(url) = judge::parse(&format!("{scheme}://{authority}/")) else {
            return wrong("The address is not valid.");
        };
        let target = Self { name: shown(&url, usual), url };
        match target.url.host() {
            Some(Host::Domain(_)) if hosts.allow_on(&target.url, |port| port == usual) => Ok(target),
            Some(Host::Domain(_)) => {
                Err(Verdict::Refused { name: target.name, why: "it is not in the list of domains" })
            }
            _ => Err(Verdict::Address(target.name)),
        }
    }

    /// Scheme, host and port; neither path nor query.
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// The host, with its port if that is not the usual one.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The host alone.
    pub(super) fn host(&self) -> String {
        host_name(&self.url).unwrap_or_default()
    }

    /// Whether all that goes through its tunnel must be TLS.
    pub(super) fn is_for_tls(&self) -> bool {
        self.url.port_or_known_default() == Some(TUNNELS)
    }
}

fn wrong(why: &str) -> Result<Target, Verdict> {
    Err(Verdict::Wrong(why.to_owned()))
}

fn shown(url: &Url, usual: u16) -> String {
    let host = host_name(url).unwrap_or_default();
    match url.port_or_known_default() {
        Some(port) if port != usual => format!("{host}:{port}"),
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name that is asked, or refused after a `-`; or what is wrong with the request.
    fn judge(method: &str, uri: &str) -> String {
        let domains = ["allowed.test", "*.below.test", "git.test:8443", "bücher.test"].map(str::to_owned);
        let hosts = Hosts::parse(&domains).unwrap();
        let Ok(uri) = uri.parse() else { return "no address".to_owned() };
        match Target::of(&method.parse().unwrap(), &uri, &hosts) {
            Ok(target) => target.name().to_owned(),
            Err(Verdict::Refused { name, .. } | Verdict::Address(name)) => format!("-{name}"),
            Err(Verdict::Wrong(_)) => "wrong".to_owned(),
        }
    }

    #[test]
    fn each_request_asks_for_a_listed_name_and_the_port_of_its_pattern() {
        for (method, uri, expected) in [
            ("CONNECT", "allowed.test:443", "allowed.test"),
            ("CONNECT", "ALLOWED.test.:443", "allowed.test"),
            ("CONNECT", "a.b.below.test:443", "a.b.below.test"),
            ("CONNECT", "below.test:443", "-below.test"),
            ("CONNECT", "xbelow.test:443", "-xbelow.test"),
            ("CONNECT", "git.test:8443", "git.test:8443"),
            ("CONNECT", "git.test:443", "-git.test"),
            ("CONNECT", "xn--bcher-kva.test:443", "xn--bcher-kva.test"),
            ("CONNECT", "allowed.test:22", "-allowed.test:22"),
            ("CONNECT", "allowed.test:80", "-allowed.test:80"),
            ("CONNECT", "allowed.test", "wrong"),
            ("CONNECT", "u@allowed.test:443", "wrong"),
            ("CONNECT", "allowed.test:443@evil.test:443", "wrong"),
            ("CONNECT", "93.184.216.34:443", "-93.184.216.34"),
            ("CONNECT", "0x5db8d822:443", "-93.184.216.34"),
            ("CONNECT", "[::1]:443", "-[::1]"),
            ("CONNECT", "[::ffff:127.0.0.1]:443", "-[::ffff:7f00:1]"),
            ("CONNECT", "allowed.test.evil.test:443", "-allowed.test.evil.test"),
            ("GET", "http://allowed.test/x?y", "allowed.test"),
            ("GET", "http://allowed.test:8080/", "-allowed.test:8080"),
            ("GET", "http://git.test:8443/", "git.test:8443"),
            ("GET", "https://allowed.test/", "wrong"),
            ("GET", "ftp://allowed.test/", "wrong"),
            ("GET", "/x", "wrong"),
            ("OPTIONS", "*", "wrong"),
        ] {
            assert_eq!(judge(method, uri), expected, "{method} {uri}");
        }
    }
}
