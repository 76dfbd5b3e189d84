//! Brave: `GET /res/v1/web/search`, results in `web.results`.

use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use super::{
    Provider, SearchRequest, endpoint, failed, has_only, hit, key_for, refused, unknown_layout, words,
};
use crate::messages::{FetchError, Recency, Search, SearchHit};

pub(super) struct Brave;

#[derive(Deserialize)]
struct Answer {
    /// `search` in every answer to a question.
    #[serde(rename = "type")]
    kind: String,
    query: Option<Query>,
    web: Option<Web>,
    error: Option<Problem>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
struct Query {
    #[serde(rename = "original")]
    _original: String,
    #[serde(default)]
    more_results_available: bool,
}

#[derive(Deserialize)]
struct Web {
    results: Vec<Found>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[derive(Deserialize)]
struct Found {
    title: String,
    url: String,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
struct Problem {
    #[serde(default)]
    code: String,
    #[serde(default)]
    detail: String,
}

/// The parts of an answer beside the results of the web.
const OTHER_PARTS: [&str; 9] =
    ["mixed", "discussions", "faq", "infobox", "locations", "news", "videos", "summarizer", "rich"];

impl Answer {
    /// Whether an answer without results is one to a question that has none: without results of the web there
    /// is no such part, and nothing else says that there are some.
    fn says_none(&self) -> bool {
        let order = self.others.get("mixed").and_then(|mixed| mixed["main"].as_array());
        let names_some = order.is_some_and(|order| order.iter().any(|item| item["type"] == "web"));
        self.query.as_ref().is_some_and(|query| !query.more_results_available)
            && !names_some
            && has_only(&self.others, &OTHER_PARTS)
            && self.web.as_ref().is_none_or(|web| has_only(&web.others, &["type"]))
    }
}

impl Provider for Brave {
    fn request(&self, base: &Url, search: &Search, key: Option<&str>) -> Result<SearchRequest, FetchError> {
        let mut query = vec![("q", words(search)), ("count", search.max_results.to_string())];
        if let Some(recency) = search.recency {
            let freshness = match recency {
                Recency::Day => "pd",
                Recency::Week => "pw",
                Recency::Month => "pm",
                Recency::Year => "py",
            };
            query.push(("freshness", freshness.to_owned()));
        }
        let key_header = Some(("X-Subscription-Token".to_owned(), key_for("Brave", key)?));
        let url = endpoint(base, "res/v1/web/search", &query);
        Ok(SearchRequest { key_header, ..SearchRequest::get(url, "application/json") })
    }

    fn hits(&self, status: u16, body: &str) -> Result<Vec<SearchHit>, FetchError> {
        let answer: Option<Answer> = serde_json::from_str(body).ok();
        if status != 200 {
            let problem = answer.and_then(|answer| answer.error);
            let is_quota = problem.as_ref().is_some_and(|problem| problem.code.contains("QUOTA"));
            if is_quota {
                return Err(failed("Brave has no quota left for this key.".to_owned(), false));
            }
            return Err(refused("Brave", status, &problem.map(|problem| problem.detail).unwrap_or_default()));
        }
        let answer =
            answer.filter(|answer| answer.kind == "search").ok_or_else(|| unknown_layout("Brave"))?;
        if answer.web.as_ref().is_none_or(|web| web.results.is_empty()) && !answer.says_none() {
            return Err(unknown_layout("Brave"));
        }
        let found = answer.web.into_iter().flat_map(|web| web.results);
        Ok(found.map(|found| hit(&found.title, found.url, &found.description)).collect())
    }
}
