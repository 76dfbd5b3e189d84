//! A cache of the tool server's catalogue, and whether it may have changed.
//!
//! The server tags the catalogue, repeats the tag with every answer to a call, and sends the catalogue only
//! to a caller with another tag. So the model sees the same bytes for as long as the tools stay the same,
//! and new tools are noticed with the next call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::ToolSpec;
use reqwest::header::{ETAG, HeaderMap};

/// The header of an answer to a call that carries the tag.
const TAG_HEADER: &str = "x-catalogue-tag";

#[derive(Debug, Default)]
pub(crate) struct CatalogueCache(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    known: Option<(String, Arc<Vec<ToolSpec>>)>,
    latest_tag: Option<String>,
}

impl CatalogueCache {
    pub(crate) fn known(&self) -> Option<(String, Arc<Vec<ToolSpec>>)> {
        self.state().known.clone()
    }

    /// Stores tools that came with these headers, sorted by name.
    pub(crate) fn store(&self, mut tools: Vec<ToolSpec>, headers: &HeaderMap) -> Arc<Vec<ToolSpec>> {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        let tools = Arc::new(tools);
        let tag = headers.get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        let mut state = self.state();
        state.latest_tag.clone_from(&tag);
        state.known = tag.map(|tag| (tag, Arc::clone(&tools)));
        tools
    }

    pub(crate) fn note(&self, headers: &HeaderMap) {
        if let Some(tag) = headers.get(TAG_HEADER).and_then(|tag| tag.to_str().ok()) {
            self.state().latest_tag = Some(tag.to_owned());
        }
    }

    /// Whether the last answer came from a server with other tools than the known ones.
    pub(crate) fn is_outdated(&self) -> bool {
        let state = self.state();
        let known = state.known.as_ref().map(|(tag, _)| tag);
        state.latest_tag.is_some() && state.latest_tag.as_ref() != known
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catalogue_without_a_tag_is_never_cached_and_never_outdated() {
        let catalogue = CatalogueCache::default();
        catalogue.store(Vec::new(), &HeaderMap::new());
        catalogue.note(&HeaderMap::new());
        assert!(catalogue.known().is_none() && !catalogue.is_outdated());
    }
}
