//! Search services, behind one trait: the request to each, and the reading of its answer.
//!
//! An answer that is no list of results is an error that says what it is, never an empty list: a model would
//! take that for the truth. So no result is believed only from an answer that has nothing else in it than the
//! service is known to send.

mod brave;
mod duckduckgo;
mod searxng;
mod tavily;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};
use url::Url;

use settings::choices::{SearchService, Words};

use crate::messages::{FetchError, Search, SearchHit};

/// A search service.
pub(crate) trait Provider: Sync {
    /// The request for a question.
    fn request(&self, base: &Url, search: &Search, key: Option<&str>) -> Result<SearchRequest, FetchError>;

    /// The results in an answer; none only if the service says so.
    fn hits(&self, status: u16, body: &str) -> Result<Vec<SearchHit>, FetchError>;
}

/// A request to a search service.
#[derive(Debug)]
pub(crate) struct SearchRequest {
    pub(crate) method: &'static str,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) key_header: Option<(String, String)>,
    pub(crate) body: Option<Vec<u8>>,
}

impl SearchRequest {
    /// Without a body and a key.
    fn get(url: Url, accept: &str) -> Self {
        let headers = vec![("Accept".to_owned(), accept.to_owned())];
        Self { method: "GET", url, headers, key_header: None, body: None }
    }
}

pub(crate) fn provider(name: SearchService) -> &'static dyn Provider {
    match name {
        SearchService::DuckDuckGo => &duckduckgo::DuckDuckGo,
        SearchService::SearXng => &searxng::SearXng,
        SearchService::Brave => &brave::Brave,
        SearchService::Tavily => &tavily::Tavily,
    }
}

/// A longer address leads nowhere that a reader would go.
const MOST_URL_BYTES: usize = 2000;

/// The most of a service's own words that an error repeats.
const MOST_CHARS: usize = 300;

/// The results whose addresses are of the web, and how many others there were.
pub(crate) fn of_the_web(
    name: SearchService,
    status: u16,
    body: &str,
) -> Result<(Vec<SearchHit>, usize), FetchError> {
    let found = provider(name).hits(status, body)?;
    let all = found.len();
    let addresses = found.into_iter().map(|hit| (Url::parse(hit.url.trim()), hit));
    let addresses: Vec<(Url, SearchHit)> =
        addresses.filter_map(|(url, hit)| Some((url.ok()?, hit))).collect();
    if all > 0 && addresses.is_empty() {
        return Err(unknown_layout(name.word()));
    }
    let hits: Vec<SearchHit> = addresses
        .into_iter()
        .filter_map(|(url, hit)| Some(SearchHit { url: of_a_page(url)?, ..hit }))
        .collect();
    let left_out = all - hits.len();
    Ok((hits, left_out))
}

/// The address as `url_fetch` takes it; none if it does not.
fn of_a_page(mut url: Url) -> Option<String> {
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    crate::judge::check_url(&url).ok()?;
    Some(String::from(url)).filter(|url| url.len() <= MOST_URL_BYTES)
}

/// Whether an answer has no more in it than these fields.
fn has_only(fields: &Map<String, Value>, known: &[&str]) -> bool {
    let is_empty = |value: &Value| match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    };
    fields.iter().all(|(name, value)| known.contains(&name.as_str()) || is_empty(value))
}

/// An address of the service, with a query.
fn endpoint(base: &Url, path: &str, query: &[(&str, String)]) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    url
}

/// The words with the operator that all services know.
fn words(search: &Search) -> String {
    match &search.site {
        Some(site) => format!("{} site:{site}", search.query),
        None => search.query.clone(),
    }
}

fn key_for(service: &str, key: Option<&str>) -> Result<String, FetchError> {
    key.map(str::to_owned)
        .ok_or_else(|| failed(format!("{service} needs a key: set AUTONOUS_SEARCH_API_KEY."), false))
}

fn failed(message: String, retryable: bool) -> FetchError {
    FetchError::Search { message, retryable }
}

/// The error for a status that is no success.
fn refused(service: &str, status: u16, why: &str) -> FetchError {
    let why = if why.is_empty() { String::new() } else { format!(": {}", in_short(why)) };
    let (what, retryable) = match status {
        401 | 403 => ("refuses the key or the request", false),
        402 | 432 | 433 => ("has no quota left for this key", false),
        429 => ("is asked too often, or its quota is used up", true),
        500..=599 => ("is out of order", true),
        _ => ("did not accept the request", false),
    };
    failed(format!("{service} {what} (status {status}){why}."), retryable)
}

/// The beginning of what a service says, in one line.
fn in_short(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MOST_CHARS).collect()
}

fn unknown_layout(service: &str) -> FetchError {
    let message = format!(
        "{service} answered with something that is no list of results. Its layout may have changed; \
         this says nothing about whether there are results."
    );
    failed(message, false)
}

/// A result as a service writes it, with marks.
fn hit(title: &str, url: String, snippet: &str) -> SearchHit {
    SearchHit { title: plain(title), url, snippet: plain(snippet) }
}

/// Text without the marks that services put around the words that were found.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    crate::page::elements(text, |element| {
        if let crate::page::Element::Text(text) = element {
            plain.push_str(text);
        }
    });
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}
