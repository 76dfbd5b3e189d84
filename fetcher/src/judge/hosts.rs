//! Which hosts may be asked, by name.

use url::{Host, Url};

use super::url::{host_name, is_web_port};

/// A list of patterns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts(Vec<HostPattern>);

/// One host, the hosts below one, or all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    name: Name,
    /// The only port; otherwise any that web servers have.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    Any,
    Is(String),
    Below(String),
}

impl Hosts {
    /// Reads patterns; the first that is none is the error.
    pub fn parse(patterns: &[String]) -> Result<Self, String> {
        let parsed =
            patterns.iter().map(|pattern| HostPattern::parse(pattern).ok_or_else(|| pattern.clone()));
        parsed.collect::<Result<_, _>>().map(Self)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of the texts that are patterns.
    pub(crate) fn of(texts: &[String]) -> Self {
        Self(texts.iter().filter_map(|text| HostPattern::parse(text)).collect())
    }

    /// Whether the host of an address is among them. A pattern without a port means the ports of web servers.
    pub fn allow(&self, url: &Url) -> bool {
        self.allow_on(url, is_web_port)
    }

    /// The same where a pattern without a port means these ports.
    pub(crate) fn allow_on(&self, url: &Url, is_usual: impl Fn(u16) -> bool) -> bool {
        let (Some(host), Some(port)) = (host_name(url), url.port_or_known_default()) else { return false };
        self.0.iter().any(|pattern| pattern.matches(&host, port, &is_usual))
    }
}

impl HostPattern {
    fn parse(text: &str) -> Option<Self> {
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if !name.contains(':') || name.ends_with(']') => {
                (name, Some(port.parse().ok()?))
            }
            _ => (text, None),
        };
        let name = match name.strip_prefix("*.") {
            _ if name == "*" => Name::Any,
            Some(parent) => Name::Below(normal(parent)?),
            None => Name::Is(normal(name)?),
        };
        Some(Self { name, port })
    }

    fn matches(&self, host: &str, port: u16, is_usual: impl Fn(u16) -> bool) -> bool {
        let is_port = self.port.map_or_else(|| is_usual(port), |only| only == port);
        is_port
            && match &self.name {
                Name::Any => true,
                Name::Is(name) => host == name,
                Name::Below(parent) => host
                    .strip_suffix(parent.as_str())
                    .is_some_and(|below| below.len() > 1 && below.ends_with('.')),
            }
    }
}

/// A host as addresses have it: in lower case, in ASCII, without a final dot.
fn normal(name: &str) -> Option<String> {
    let host = Host::parse(name).ok().or_else(|| Host::parse(&format!("[{name}]")).ok())?;
    let text = host.to_string();
    let text = text.trim_end_matches('.').to_ascii_lowercase();
    (!text.is_empty() && !text.contains('*')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(patterns: &str, url: &str, expected: bool) {
        let patterns: Vec<String> = patterns.split(',').map(str::to_owned).collect();
        let hosts = Hosts::parse(&patterns).unwrap();
        assert_eq!(hosts.allow(&Url::parse(url).unwrap()), expected, "{patterns:?} {url}");
    }

    #[test]
    fn a_pattern_is_a_host_or_those_below_it() {
        check("example.com", "https://EXAMPLE.com./x", true);
        check("example.com", "https://www.example.com/", false);
        check("example.com", "https://example.com.evil.net/", false);
        check("*.example.com", "https://a.b.example.com/", true);
        check("*.example.com", "https://example.com/", false);
        check("*.example.com", "https://evilexample.com/", false);
        check("*", "https://anything.example/", true);
        check("bücher.example", "https://xn--bcher-kva.example/", true);
        check("127.0.0.1", "http://2130706433/", true);
        check("::1", "http://[0:0:0:0:0:0:0:1]/", true);
        check("[::1]:8080", "http://[::1]:8080/", true);
        check("[::1]:8080", "http://[::1]/", false);
    }

    #[test]
    fn ports_of_other_services_must_be_named() {
        check("*", "http://example.com:6379/", false);
        check("*", "http://example.com:22/", false);
        check("*", "http://example.com:8443/", true);
        check("example.com:6379", "http://example.com:6379/", true);
        check("example.com:6379", "http://example.com/", false);
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for bad in ["", "a b", "*.", "a*.example.com", "http://example.com", "example.com:web", "exa/mple"] {
            assert_eq!(Hosts::parse(&[bad.to_owned()]), Err(bad.to_owned()));
        }
    }
}
