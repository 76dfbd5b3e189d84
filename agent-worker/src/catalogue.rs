//! The catalogue as the worker remembers it, and whether it may have changed.
//!
//! The server gives it a tag, sends the tag with every answer to a call, and sends the catalogue itself
//! only to whoever brings another tag. So the same bytes stay in front of the model for as long as the
//! server offers the same tools, and other tools are noticed with the next call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::ToolSpec;
use reqwest::header::{ETAG, HeaderMap};

/// The header of an answer to a call that carries the tag.
const TAG_HEADER: &str = "x-catalogue-tag";

/// What was seen of the catalogue so far.
#[derive(Debug, Default)]
pub(crate) struct Catalogue(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    /// The tools, and the tag that they came with.
    known: Option<(String, Arc<Vec<ToolSpec>>)>,
    /// The tag that the last answer carried.
    latest_tag: Option<String>,
}

impl Catalogue {
    /// The tag to ask with.
    pub(crate) fn tag(&self) -> Option<String> {
        self.seen().known.as_ref().map(|(tag, _)| tag.clone())
    }

    /// The tools that are still the same.
    pub(crate) fn unchanged(&self) -> Option<Arc<Vec<ToolSpec>>> {
        self.seen().known.as_ref().map(|(_, tools)| Arc::clone(tools))
    }

    /// Takes tools that came with these headers, sorted by name.
    pub(crate) fn take(&self, mut tools: Vec<ToolSpec>, headers: &HeaderMap) -> Arc<Vec<ToolSpec>> {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let tools = Arc::new(tools);
        let tag = headers.get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let mut seen = self.seen();
        seen.latest_tag.clone_from(&tag);
        seen.known = tag.map(|tag| (tag, Arc::clone(&tools)));
        tools
    }

    /// Takes note of the headers of an answer to a call.
    pub(crate) fn note(&self, headers: &HeaderMap) {
        if let Some(tag) = headers.get(TAG_HEADER).and_then(|tag| tag.to_str().ok()) {
            self.seen().latest_tag = Some(tag.to_owned());
        }
    }

    /// Whether the last answer came from a server with other tools than those that are known.
    pub(crate) fn is_outdated(&self) -> bool {
        let seen = self.seen();
        seen.latest_tag
            .as_ref()
            .is_some_and(|latest| seen.known.as_ref().is_none_or(|(tag, _)| tag != latest))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, tag: &str) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), tag.parse().unwrap())])
    }

    #[test]
    fn an_answer_with_another_tag_makes_the_known_tools_outdated_until_they_are_taken_anew() {
        let catalogue = Catalogue::default();
        assert!(!catalogue.is_outdated() && catalogue.tag().is_none());
        catalogue.take(Vec::new(), &headers("etag", "\"1\""));
        catalogue.note(&headers(TAG_HEADER, "\"1\""));
        assert!(!catalogue.is_outdated());
        catalogue.note(&headers(TAG_HEADER, "\"2\""));
        assert!(catalogue.is_outdated());
        catalogue.take(Vec::new(), &headers("etag", "\"2\""));
        assert!(!catalogue.is_outdated() && catalogue.unchanged().is_some());
    }

    #[test]
    fn a_server_without_tags_is_asked_anew_each_time_and_never_outdated() {
        let catalogue = Catalogue::default();
        catalogue.take(Vec::new(), &HeaderMap::new());
        catalogue.note(&HeaderMap::new());
        assert!(catalogue.unchanged().is_none() && !catalogue.is_outdated());
    }
}
