//! Which requests are let in: for our own host, not from a foreign web page, with the token.
//!
//! A web page can make a browser send requests here under its own host name if that resolves to this machine
//! (DNS rebinding). Host and Origin reveal that, so both are compared with our own names. A probe of an
//! orchestrator calls us by whatever address we have there, and an address cannot be rebound.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, Uri, header};
use process::Secret;

/// The paths that may be asked for under any address.
const PROBES: [&str; 2] = ["/livez", "/readyz"];

/// A name that is ours alone among the servers of this machine.
const OWN_NAME: &str = "autonous.localhost";

/// The name of the token that callers must send.
const CALLER: &str = "caller";

/// The names and the token that requests are checked against.
#[derive(Debug)]
pub struct Access {
    token: Option<Secret>,
    /// What callers never have: of who may decide about their calls.
    approver_token: Option<Secret>,
    hosts: Vec<String>,
    takes_addresses: bool,
}

/// Why a request is not let in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Refused {
    #[error("A request must have exactly one Host header.")]
    HostCount,
    #[error("The host {0:?} is not one of this server's names.")]
    Host(String),
    #[error("The origin {0:?} is not this server.")]
    Origin(String),
    #[error("The request has no token, or several.")]
    TokenCount,
    #[error("The token is wrong.")]
    Token,
}

impl Access {
    /// Loopback names with the port of `address`, the address itself, and `more` names (a port is optional).
    pub fn new(token: Option<Secret>, address: SocketAddr, more: &[String]) -> Self {
        let port = address.port();
        let mut hosts = vec![
            format!("127.0.0.1:{port}"),
            format!("localhost:{port}"),
            format!("[::1]:{port}"),
            address.to_string(),
            // Browsers resolve it to loopback, and send its cookies to no other server of this machine.
            format!("{OWN_NAME}:{port}"),
        ];
        if port == 80 {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(str::to_owned));
        }
        hosts.extend(
            more.iter().flat_map(|host| [host.to_lowercase(), format!("{}:{port}", host.to_lowercase())]),
        );
        Self { token, approver_token: None, hosts, takes_addresses: false }
    }

    /// The same with a second token, of who may decide about the calls of others.
    #[must_use]
    pub fn with_approver(self, token: Option<Secret>) -> Self {
        Self { approver_token: token, ..self }
    }

    /// The same under any IP address, which cannot be rebound: for requests that come through a tunnel.
    #[must_use]
    pub fn taking_addresses(self, takes_addresses: bool) -> Self {
        Self { takes_addresses, ..self }
    }

    /// Whether the request brings the approver's token. A server without one has no approvers.
    pub fn is_approver(&self, headers: &HeaderMap) -> bool {
        let presented = presented_token(headers);
        self.approver_token.as_ref().zip(presented).is_some_and(|(token, presented)| token.matches(presented))
    }

    /// What a caller is known by: the name of the token that callers must send, because the supervisor makes
    /// another one for the same callers at each start; else the token itself. None without a token.
    pub fn caller<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let presented = presented_token(headers)?;
        let is_callers = self.token.as_ref().is_some_and(|token| token.matches(presented));
        Some(if is_callers { CALLER } else { presented })
    }

    /// Whether this is the token that callers must send.
    pub fn is_token(&self, presented: &str) -> bool {
        self.token.as_ref().is_some_and(|token| token.matches(presented))
    }

    /// Whether callers must send a token.
    pub fn has_token(&self) -> bool {
        self.token.is_some()
    }

    fn is_own(&self, host: &str) -> bool {
        self.hosts.contains(&host.to_lowercase()) || (self.takes_addresses && is_address(host))
    }

    /// The request must name exactly one host, in its header and its target, and it must be ours, or any
    /// address for a probe. A browser also names the page that sends the request; that must be ours, too.
    pub fn check_host(&self, headers: &HeaderMap, target: &Uri) -> Result<(), Refused> {
        let mut named = headers.get_all(header::HOST).iter();
        let (Some(host), None) = (named.next(), named.next()) else { return Err(Refused::HostCount) };
        let host = host.to_str().unwrap_or_default();
        for name in std::iter::once(host).chain(target.authority().map(|authority| authority.as_str())) {
            let is_probed = PROBES.contains(&target.path()) && is_address(name);
            if !self.is_own(name) && !is_probed {
                return Err(Refused::Host(beginning(name)));
            }
        }
        for origin in headers.get_all(header::ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            if !host.is_some_and(|host| self.is_own(host)) {
                return Err(Refused::Origin(beginning(origin)));
            }
        }
        Ok(())
    }

    /// The request must bring the token, exactly once, if there is one.
    pub fn check_token(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let Some(token) = &self.token else { return Ok(()) };
        if headers.get_all(header::AUTHORIZATION).iter().count() != 1 {
            return Err(Refused::TokenCount);
        }
        match presented_token(headers) {
            Some(presented) if token.matches(presented) => Ok(()),
            Some(_) | None => Err(Refused::Token),
        }
    }
}

/// Whether a host is an IP address, with or without a port.
fn is_address(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.parse::<SocketAddr>().is_ok() || bare.parse::<IpAddr>().is_ok()
}

/// The bearer token of a request that has one `Authorization` header.
pub fn presented_token(headers: &HeaderMap) -> Option<&str> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(authorization), None) = (sent.next(), sent.next()) else { return None };
    let (scheme, bearer) = authorization.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| bearer.trim())
}

/// What a message shows of a name that a client sent.
fn beginning(name: &str) -> String {
    name.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn access() -> Access {
        Access::new(
            Some(Secret::from("FAKE-token")),
            "127.0.0.1:8700".parse().unwrap(),
            &["Box.example".to_owned()],
        )
    }

    fn headers(pairs: &[(HeaderName, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        let mut headers = HeaderMap::new();
        pairs.for_each(|(name, value)| {
            headers.append(name, value);
        });
        headers
    }

    #[test]
    fn only_loopback_names_our_address_and_allowed_names_are_ours() {
        let check = |host: &'static str, own: bool| {
            let checked = access().check_host(&headers(&[(header::HOST, host)]), &Uri::from_static("/tools"));
            assert_eq!(checked.is_ok(), own, "{host}: {checked:?}");
        };
        for own in ["127.0.0.1:8700", "LOCALHOST:8700", "[::1]:8700", "box.example", "BOX.example:8700"] {
            check(own, true);
        }
        for foreign in
            ["", "127.0.0.1", "127.0.0.1:80", "evil.example:8700", "localhost.evil.example:8700", "a b"]
        {
            check(foreign, false);
        }
    }

    #[test]
    fn a_probe_may_use_any_address_but_no_foreign_name_or_page() {
        let check = |sent: &[(HeaderName, &'static str)], target: &'static str, passes: bool| {
            let checked = access().check_host(&headers(sent), &Uri::from_static(target));
            assert_eq!(checked.is_ok(), passes, "{sent:?} {target}: {checked:?}");
        };
        for host in ["10.1.2.3:8700", "10.1.2.3", "[fd00::1]:8700", "[fd00::1]"] {
            let sent = [(header::HOST, host)];
            check(&sent, "/readyz", true);
            check(&sent, "/livez", true);
            check(&sent, "/messages", false);
            check(&[sent[0].clone(), (header::ORIGIN, "http://10.1.2.3:8700")], "/readyz", false);
        }
        check(&[(header::HOST, "evil.example:8700")], "/readyz", false);
        check(&[(header::HOST, "10.1.2.3.evil.example")], "/readyz", false);
    }

    #[test]
    fn a_request_that_names_a_second_host_anywhere_is_refused() {
        let own = (header::HOST, "127.0.0.1:8700");
        let check = |sent: &[(HeaderName, &'static str)], target: &'static str, expected| {
            assert_eq!(access().check_host(&headers(sent), &Uri::from_static(target)), expected, "{target}");
        };
        check(std::slice::from_ref(&own), "http://localhost:8700/livez", Ok(()));
        check(&[], "/", Err(Refused::HostCount));
        check(&[own.clone(), own.clone()], "/", Err(Refused::HostCount));
        let evil = || "evil.example:8700".to_owned();
        check(std::slice::from_ref(&own), "http://evil.example:8700/", Err(Refused::Host(evil())));
        let origin = |value| [own.clone(), (header::ORIGIN, value)];
        check(&origin("http://127.0.0.1:8700"), "/", Ok(()));
        check(&origin("null"), "/", Err(Refused::Origin("null".to_owned())));
        check(&origin("http://evil.example:8700"), "/", Err(Refused::Origin(format!("http://{}", evil()))));
    }

    #[test]
    fn the_token_is_sent_once_and_its_scheme_in_any_case() {
        let check = |sent: &[&'static str], expected| {
            let sent: Vec<_> = sent.iter().map(|value| (header::AUTHORIZATION, *value)).collect();
            assert_eq!(access().check_token(&headers(&sent)), expected, "{sent:?}");
        };
        for right in ["Bearer FAKE-token", "bearer FAKE-token", "BEARER  FAKE-token"] {
            check(&[right], Ok(()));
        }
        for wrong in ["Bearer FAKE-toke", "Basic FAKE-token", "FAKE-token", "Bearer", ""] {
            check(&[wrong], Err(Refused::Token));
        }
        check(&[], Err(Refused::TokenCount));
        check(&["Bearer FAKE-token", "Bearer FAKE-token"], Err(Refused::TokenCount));
    }
}
