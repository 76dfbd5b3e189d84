//! Search services, behind one trait: what is asked of each, and what its answer says.
//!
//! An answer that is no list of results is an error that says what it is, never an empty list: a model would
//! take that for the truth.

mod brave;
mod duckduckgo;
mod searxng;
mod tavily;
#[cfg(test)]
mod tests;

use url::Url;

use crate::messages::{FetchError, ProviderName, Search, SearchHit};

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

pub(crate) fn provider(name: ProviderName) -> &'static dyn Provider {
    match name {
        ProviderName::DuckDuckGo => &duckduckgo::DuckDuckGo,
        ProviderName::SearXng => &searxng::SearXng,
        ProviderName::Brave => &brave::Brave,
        ProviderName::Tavily => &tavily::Tavily,
    }
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
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    let (what, retryable) = match status {
        401 | 403 => ("refuses the key or the request", false),
        402 | 432 | 433 => ("has no quota left for this key", false),
        429 => ("is asked too often, or its quota is used up", true),
        500..=599 => ("is out of order", true),
        _ => ("did not accept the request", false),
    };
    failed(format!("{service} {what} (status {status}){why}."), retryable)
}

fn unknown_layout(service: &str) -> FetchError {
    let message = format!(
        "{service} answered with something that is no list of results. Its layout may have changed; \
         this says nothing about whether there are results."
    );
    failed(message, false)
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
