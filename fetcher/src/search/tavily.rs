//! Tavily: `POST /search` with JSON.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::Url;

use super::{Provider, SearchRequest, endpoint, has_only, hit, key_for, refused, unknown_layout};
use crate::messages::{FetchError, Search, SearchHit};

pub(super) struct Tavily;

#[derive(Deserialize)]
struct Answer {
    results: Vec<Found>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// The parts of an answer beside the results.
const OTHER_PARTS: [&str; 8] = [
    "query", "follow_up_questions", "answer", "images", "response_time", "auto_parameters", "usage",
    "request_id",
];

#[derive(Deserialize)]
struct Found {
    title: String,
    url: String,
    #[serde(default)]
    content: String,
}

impl Provider for Tavily {
    fn request(&self, base: &Url, search: &Search, key: Option<&str>) -> Result<SearchRequest, FetchError> {
        let mut question = json!({"query": search.query, "max_results": search.max_results});
        if let Some(site) = &search.site {
            question["include_domains"] = json!([site]);
        }
        if let Some(recency) = search.recency {
            question["time_range"] = json!(recency.word());
        }
        Ok(SearchRequest {
            method: "POST",
            url: endpoint(base, "search", &[]),
            headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
            key_header: Some(("Authorization".to_owned(), format!("Bearer {}", key_for("Tavily", key)?))),
            body: Some(question.to_string().into_bytes()),
        })
    }

    fn hits(&self, status: u16, body: &str) -> Result<Vec<SearchHit>, FetchError> {
        if status != 200 {
            let answer: Value = serde_json::from_str(body).unwrap_or_default();
            let why = answer["detail"]["error"].as_str().or(answer["detail"].as_str()).unwrap_or_default();
            return Err(refused("Tavily", status, why.trim_end_matches('.')));
        }
        let answer: Answer = serde_json::from_str(body).map_err(|_| unknown_layout("Tavily"))?;
        if answer.results.is_empty() && !has_only(&answer.others, &OTHER_PARTS) {
            return Err(unknown_layout("Tavily"));
        }
        let found = answer.results.into_iter();
        Ok(found.map(|found| hit(&found.title, found.url, &found.content)).collect())
    }
}
