//! Brave: `GET /res/v1/web/search`, results in `web.results`.

use serde::Deserialize;
use url::Url;

use super::{Provider, SearchRequest, endpoint, failed, key_for, plain, refused, unknown_layout, words};
use crate::messages::{FetchError, Recency, Search, SearchHit};

pub(super) struct Brave;

#[derive(Deserialize)]
struct Answer {
    /// `search` in every answer to a question.
    #[serde(rename = "type")]
    kind: String,
    web: Option<Web>,
    error: Option<Problem>,
}

#[derive(Deserialize)]
struct Web {
    results: Vec<Found>,
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
        Ok(SearchRequest {
            method: "GET",
            url: endpoint(base, "res/v1/web/search", &query),
            headers: vec![("Accept".to_owned(), "application/json".to_owned())],
            key_header: Some(("X-Subscription-Token".to_owned(), key_for("Brave", key)?)),
            body: None,
        })
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
        // Without results of the web there is no such part.
        let found = answer.web.map(|web| web.results).unwrap_or_default();
        Ok(found
            .into_iter()
            .map(|found| SearchHit {
                title: plain(&found.title),
                url: found.url,
                snippet: plain(&found.description),
            })
            .collect())
    }
}
