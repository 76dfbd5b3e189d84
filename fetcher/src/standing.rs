//! What the settings say about an address before anybody has looked up its name.

use std::net::IpAddr;

use process::public_address::is_public;
use url::{Host, Url};

use crate::judge::{blocked, is_loopback_name, is_web_port, parse};
use crate::messages::FetchError;
use crate::web_settings::Settings;

/// Whether an address may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Its host is listed.
    Listed,
    /// Its host is not listed; somebody can allow it.
    New,
}

impl Settings {
    /// Judges an address as it is written.
    ///
    /// # Errors
    /// Why no rule could allow it: it is no address of the web, or one of a private network.
    pub fn standing(&self, text: &str) -> Result<Standing, FetchError> {
        let url = parse(text)?;
        if self.hosts.allow(&url) {
            return Ok(Standing::Listed);
        }
        let host = url.host_str().unwrap_or_default();
        let blocked = |reason: &str| Err(blocked(url.as_str(), format!("{host}, which {reason}")));
        if is_private(&url) {
            return blocked("is not public");
        }
        if !url.port_or_known_default().is_some_and(is_web_port) {
            return blocked("is asked at a port of another service");
        }
        Ok(Standing::New)
    }
}

/// Whether it is certain without a look-up.
fn is_private(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => !is_public(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => !is_public(IpAddr::V6(address)),
        Some(Host::Domain(name)) => is_loopback_name(name.trim_end_matches('.')),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use settings::Source;

    use super::*;

    #[test]
    fn what_nobody_could_allow_is_refused_and_the_rest_is_listed_or_new() {
        let source = Source::from_pairs([("AUTONOUS_FETCH_ALLOWED_HOSTS", "a.test,127.0.0.1,b.test:81")]);
        let settings = Settings::read(&source, Path::new("/")).unwrap();
        let check = |url: &str, expected: Option<Standing>| {
            assert_eq!(settings.standing(url).ok(), expected, "{url}")
        };
        check("http://a.test/", Some(Standing::Listed));
        check("http://127.0.0.1:8080/", Some(Standing::Listed));
        check("http://b.test:81/", Some(Standing::Listed));
        check("http://b.test/", Some(Standing::New));
        check("https://c.test:8443/x", Some(Standing::New));
        check("http://93.184.216.34/", Some(Standing::New));
        let refused = "\
            http://10.0.0.1/ http://0x7f.2/ http://[::ffff:127.0.0.1]/ http://169.254.169.254/ \
            http://LOCALHOST./ http://x.localhost/ http://c.test:6379/ http://a.test:22/ \
            file:///etc/passwd http://u:p@c.test/ nonsense";
        for url in refused.split_whitespace() {
            check(url, None);
        }
    }
}
