//! A request and the redirects that it leads to, each judged as if it were asked for.

use http::{HeaderMap, header};
use url::Url;

use super::body::Body;
use super::exchange::{Hop, exchange};
use super::tls::Tls;
use crate::credentials::Credential;
use crate::judge::{Hosts, blocked, check_url, shown_url};
use crate::messages::{FetchError, Head};

/// The most redirects.
const MOST: usize = 5;

/// Headers that tell something to a reader.
const SHOWN: [&str; 12] = [
    "content-type", "content-length", "content-disposition", "content-language", "content-range",
    "last-modified", "etag", "date", "location", "link", "retry-after", "server",
];

/// Headers that a caller sets for any host, and not for this one.
const FOR_ALL: [&str; 4] = ["accept", "accept-language", "user-agent", "range"];

/// The query.
pub(super) struct Ask<'a> {
    pub(super) method: &'a str,
    pub(super) headers: &'a [(String, String)],
    pub(super) body: Option<&'a [u8]>,
    pub(super) credential: Option<Credential<'a>>,
    /// A header that goes to the first address alone.
    pub(super) fixed_header: Option<(String, String)>,
    /// Who may be asked; none if the first address was chosen by the operator.
    pub(super) hosts: Option<&'a Hosts>,
    /// Others that may be asked, if they are public.
    pub(super) more_hosts: Hosts,
    /// Whether no redirect is followed to another host.
    pub(super) stays: bool,
    /// Whether those that may be asked may be private.
    pub(super) allow_private: bool,
    pub(super) follows: bool,
}

/// An answer that is no redirect, or one that is not followed.
pub(super) struct Answer {
    pub(super) head: Head,
    pub(super) body: Body,
    /// Where its links begin.
    pub(super) base: Url,
}

/// `asks` gets each address before the request goes there.
pub(super) async fn follow(
    ask: &Ask<'_>,
    first: Url,
    tls: &Tls,
    asks: impl Fn(&Url),
) -> Result<Answer, FetchError> {
    let (mut url, mut method, mut body) = (first.clone(), ask.method, ask.body);
    // Once another has said where to go, the credential stays here: it would send with it what it likes.
    let mut credential = ask.credential;
    for redirects in 0..=MOST {
        let is_listed = judge_host(ask, &url)?;
        asks(&url);
        credential = credential.filter(|credential| credential.is_for(method, &url));
        let hop = Hop {
            method,
            url: &url,
            headers: headers(ask, credential, &first, &url),
            body,
            allow_private: ask.allow_private && is_listed,
        };
        let response = exchange(&hop, tls).await?;
        let status = response.status().as_u16();
        let next = if ask.follows { target(&url, status, response.headers()) } else { None };
        let Some(next) = next else {
            let head = head(&url, status, redirects, response.headers());
            return Ok(Answer { head, base: url, body: Body::new(response) });
        };
        judge_redirect(ask, &url, &next)?;
        let keeps_body = matches!(status, 307 | 308);
        if keeps_body && body.is_some() && url.origin() != next.origin() {
            return Err(blocked(next.as_str(), "a redirect would send the body to another host".to_owned()));
        }
        if !keeps_body && !matches!(method, "GET" | "HEAD") {
            (method, body) = ("GET", None);
        }
        url = next;
    }
    Err(FetchError::BadAnswer(format!("The server redirects more than {MOST} times.")))
}

/// Whether the operator has listed the host.
fn judge_host(ask: &Ask<'_>, url: &Url) -> Result<bool, FetchError> {
    match ask.hosts {
        Some(hosts) if hosts.allow(url) => Ok(true),
        Some(_) if ask.more_hosts.allow(url) => Ok(false),
        None => Ok(true),
        Some(_) => {
            let host = url.host_str().unwrap_or_default();
            let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
            Err(FetchError::Blocked {
                url: shown_url(url.as_str()),
                reason: format!("{host} is not among the hosts that may be asked"),
                host: Some(host),
            })
        }
    }
}

fn judge_redirect(ask: &Ask<'_>, from: &Url, to: &Url) -> Result<(), FetchError> {
    check_url(to)?;
    if ask.stays && from.host() != to.host() {
        let reason = "a redirect leads to another host, and there are rules about hosts".to_owned();
        return Err(FetchError::Blocked {
            url: shown_url(to.as_str()),
            reason,
            host: Some(to.host_str().unwrap_or_default().to_owned()),
        });
    }
    if from.scheme() == "https" && to.scheme() == "http" {
        return Err(blocked(to.as_str(), "a redirect leads from https to http".to_owned()));
    }
    Ok(())
}

/// Where a redirect leads.
fn target(url: &Url, status: u16, headers: &HeaderMap) -> Option<Url> {
    if !matches!(status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let location = std::str::from_utf8(headers.get(header::LOCATION)?.as_bytes()).ok()?;
    url.join(location).ok()
}

/// What goes along with a request to this address; what the caller set for one host goes only to that host.
fn headers(
    ask: &Ask<'_>,
    credential: Option<Credential<'_>>,
    first: &Url,
    url: &Url,
) -> Vec<(String, String)> {
    let is_first = first.origin() == url.origin();
    let for_all = |name: &str| FOR_ALL.iter().any(|known| known.eq_ignore_ascii_case(name));
    let mut headers: Vec<(String, String)> =
        ask.headers.iter().filter(|(name, _)| is_first || for_all(name)).cloned().collect();
    headers.extend(credential.map(|credential| credential.header()));
    headers.extend(ask.fixed_header.clone().filter(|_| is_first));
    headers
}

fn head(url: &Url, status: u16, redirects: usize, headers: &HeaderMap) -> Head {
    let text = |name: &str| Some(String::from_utf8_lossy(headers.get(name)?.as_bytes()).into_owned());
    Head {
        status,
        final_url: shown_url(url.as_str()),
        redirects,
        content_type: text("content-type"),
        headers: SHOWN.iter().filter_map(|name| Some(((*name).to_owned(), text(name)?))).collect(),
    }
}
