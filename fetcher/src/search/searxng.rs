//! SearXNG: `GET /search?format=json`, which its settings must allow.

use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use super::{
    Provider, SearchRequest, endpoint, failed, has_only, hit, in_short, refused, unknown_layout, words,
};
use crate::messages::{FetchError, Search, SearchHit};

pub(super) struct SearXng;

#[derive(Deserialize)]
struct Answer {
    results: Vec<Found>,
    #[serde(default)]
    unresponsive_engines: Vec<Value>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// The parts of an answer beside the results.
const OTHER_PARTS: [&str; 6] =
    ["query", "number_of_results", "answers", "corrections", "infoboxes", "suggestions"];

#[derive(Deserialize)]
struct Found {
    url: String,
    title: String,
    content: Option<String>,
}

impl Provider for SearXng {
    fn request(&self, base: &Url, search: &Search, _key: Option<&str>) -> Result<SearchRequest, FetchError> {
        let mut query = vec![("q", words(search)), ("format", "json".to_owned())];
        query.extend(search.recency.map(|recency| ("time_range", recency.word().to_owned())));
        Ok(SearchRequest::get(endpoint(base, "search", &query), "application/json"))
    }

    fn hits(&self, status: u16, body: &str) -> Result<Vec<SearchHit>, FetchError> {
        if status == 403 {
            let why = "allow `json` in `search.formats` of its settings.yml";
            return Err(refused("SearXNG", status, why));
        }
        if status != 200 {
            return Err(refused("SearXNG", status, ""));
        }
        let answer: Answer = serde_json::from_str(body).map_err(|_| unknown_layout("SearXNG"))?;
        if answer.results.is_empty() && !answer.unresponsive_engines.is_empty() {
            let engines: Vec<String> = answer.unresponsive_engines.iter().map(engine).collect();
            let engines = in_short(&engines.join(", "));
            return Err(failed(format!("None of SearXNG's engines gave results: {engines}."), true));
        }
        if answer.results.is_empty() && !has_only(&answer.others, &OTHER_PARTS) {
            return Err(unknown_layout("SearXNG"));
        }
        let found = answer.results.into_iter();
        Ok(found.map(|found| hit(&found.title, found.url, &found.content.unwrap_or_default())).collect())
    }
}

/// `["google", "CAPTCHA"]`.
fn engine(engine: &Value) -> String {
    let text = |index: usize| engine.get(index).and_then(Value::as_str).unwrap_or("?");
    format!("{} ({})", text(0), text(1))
}
