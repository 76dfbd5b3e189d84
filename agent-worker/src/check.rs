//! `agent-worker check`: whether the model can be reached, without asking it anything that costs.
//!
//! It asks for the provider's list of models, which every compatible server has, and says what that means
//! for a task. The key goes only where the model is asked anyhow.

use std::time::Duration;

use reqwest::{Request, StatusCode};
use serde::Serialize;
use serde_json::Value;

use crate::http::{self, HttpError, HttpResponse};

/// How long the list of models may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// More than any list of models.
const MAX_LIST_BYTES: usize = 4 << 20;

/// How a provider is asked for its models.
#[derive(Debug)]
pub struct Probe {
    /// The provider.
    pub provider: &'static str,
    /// The model that tasks are given to; none where there is no model.
    pub model: Option<String>,
    /// What is sent; none where nothing is on the network.
    pub request: Option<Request>,
}

/// How it is with the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `ok`, `warn` or `fail`.
    pub verdict: &'static str,
    /// The provider, the model and what was found.
    pub what: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<&'static str>,
}

/// Asks, and judges the answer.
pub async fn check(probe: Probe) -> Finding {
    let who = match &probe.model {
        Some(model) => format!("{}, {model}", probe.provider),
        None => probe.provider.to_owned(),
    };
    let Some(request) = probe.request else {
        return Finding { verdict: "ok", what: format!("{who}: nothing on the network"), remedy: None };
    };
    let address = request.url().to_string();
    let answer = match http::client(TIMEOUT) {
        Ok(client) => http::send(&client, request, MAX_LIST_BYTES).await,
        Err(error) => Err(error),
    };
    let (verdict, what, remedy) = judge(answer, probe.model.as_deref());
    Finding { verdict, what: format!("{who} at {address}: {what}"), remedy }
}

fn judge(
    answer: Result<HttpResponse, HttpError>,
    model: Option<&str>,
) -> (&'static str, String, Option<&'static str>) {
    const ADDRESS: &str = "Look at AUTONOUS_MODEL_BASE_URL and at the network.";
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return ("fail", error.to_string(), Some(ADDRESS)),
    };
    match answer.status {
        status if status.is_success() && lacks(&answer.body, model) => (
            "warn",
            "reachable, and does not list this model".to_owned(),
            Some("Look at AUTONOUS_MODEL_NAME."),
        ),
        status if status.is_success() => ("ok", "reachable".to_owned(), None),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            ("fail", "the key is refused".to_owned(), Some("Look at AUTONOUS_MODEL_API_KEY."))
        }
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            ("warn", "something answers, and has no list of models".to_owned(), Some(ADDRESS))
        }
        status => ("warn", format!("answers with {status}"), Some("Try again later.")),
    }
}

/// Whether a list of models is there and does not have this one.
fn lacks(body: &[u8], model: Option<&str>) -> bool {
    let list: Value = serde_json::from_slice(body).unwrap_or_default();
    match (list["data"].as_array(), model) {
        (Some(models), Some(model)) if !models.is_empty() => models.iter().all(|known| known["id"] != model),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderMap;

    use super::*;

    fn judged(status: u16, body: &str) -> &'static str {
        let answer = HttpResponse {
            status: StatusCode::from_u16(status).unwrap(),
            retry_after: None,
            headers: HeaderMap::new(),
            body: body.into(),
        };
        judge(Ok(answer), Some("m")).0
    }

    #[test]
    fn an_answer_is_judged_by_what_it_means_for_a_task() {
        for (status, body, expected) in [
            (200, r#"{"data":[{"id":"m"},{"id":"n"}]}"#, "ok"),
            (200, r#"{"data":[{"id":"n"}]}"#, "warn"),
            (200, "not a list", "ok"),
            (401, "", "fail"),
            (403, "", "fail"),
            (404, "", "warn"),
            (503, "", "warn"),
        ] {
            assert_eq!(judged(status, body), expected, "{status} {body}");
        }
    }
}
