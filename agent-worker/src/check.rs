//! `agent-worker check`: whether the model can be reached, at no cost, or also whether it answers.
//!
//! It asks for the provider's list of models, which every compatible server has, and with `--request` for an
//! answer of one word. The key only goes to the address to which tasks send it too.

use std::time::Duration;

use reqwest::{Client, Request, StatusCode};
use serde::Serialize;
use serde_json::Value;
use texts::Language;
use tokio::time::timeout;

use crate::http::{self, HttpResponse};
use crate::model::{Message, Model, ModelErrorClass, Request as ModelRequest, Usage};

const TIMEOUT: Duration = Duration::from_secs(10);

/// Longer than any list of models.
pub(crate) const MAX_LIST_BYTES: usize = 4 << 20;

/// What to do where a server gives no answer.
const ADDRESS: &str = "Check the model's base URL, HTTPS_PROXY and the network.";

/// What to do where a server refuses the key.
const KEY: &str = "Check the model's key.";

/// A request for a provider's list of models.
#[derive(Debug)]
pub struct Probe {
    /// The provider and the model.
    pub(crate) who: String,
    /// The model's name in the list; none if the list has other names.
    pub(crate) model: Option<String>,
    /// None if the provider is not on the network.
    pub(crate) request: Option<(Client, Request)>,
}

/// The result of the check.
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

/// Asks for each model, in the order in which tasks ask them. One that answers is enough to work.
pub async fn check(probes: Vec<Probe>) -> Finding {
    let mut findings = Vec::new();
    for probe in probes {
        findings.push(check_one(probe).await);
    }
    let is = |verdict| move |finding: &Finding| finding.verdict == verdict;
    let verdict = match () {
        () if findings.iter().all(is("ok")) => "ok",
        () if findings.iter().all(is("fail")) => "fail",
        () => "warn",
    };
    let what = findings.iter().map(|finding| finding.what.as_str()).collect::<Vec<_>>().join("; then ");
    Finding { verdict, what, remedy: findings.iter().find_map(|finding| finding.remedy) }
}

/// How long a model may take for one word, if it has to be loaded first.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(45);

/// Asks the model for an answer of one word.
pub async fn ask(model: &dyn Model) -> Finding {
    let who = format!("{} {}", model.provider(), model.name()).trim_end().to_owned();
    if !model.is_language_model() {
        return Finding { verdict: "ok", what: format!("{who}: needs no network"), remedy: None };
    }
    let messages = [Message::User("Answer with the word yes.".to_owned())];
    let request = ModelRequest { messages: &messages, ..ModelRequest::default() };
    let (verdict, what, remedy) = match timeout(ANSWER_TIMEOUT, model.reply(request)).await {
        Err(_) => {
            let what = format!("no answer within {} seconds", ANSWER_TIMEOUT.as_secs());
            ("fail", what, Some("Try again when its server has loaded the model."))
        }
        Ok(Err(error)) => ("fail", error.told(Language::English), Some(remedy(error.class))),
        Ok(Ok(reply)) => {
            let Usage { input_tokens, output_tokens, .. } = reply.usage;
            let tokens = format!("{input_tokens} tokens for the question, {output_tokens} for the answer");
            ("ok", format!("answers ({tokens})"), None)
        }
    };
    Finding { verdict, what: format!("{who}: {what}"), remedy }
}

const fn remedy(class: ModelErrorClass) -> &'static str {
    match class {
        ModelErrorClass::Auth => KEY,
        ModelErrorClass::NoCredit => "Add credit to the account of the key.",
        ModelErrorClass::BadRequest | ModelErrorClass::ContextTooLong => {
            "Check the model's name and address; docs/models.md has the settings of each provider."
        }
        ModelErrorClass::Network => ADDRESS,
        ModelErrorClass::RateLimit
        | ModelErrorClass::Overloaded
        | ModelErrorClass::Stalled
        | ModelErrorClass::InvalidReply => "Try again later.",
    }
}

/// Sends the request and interprets the response.
async fn check_one(Probe { who, model, request }: Probe) -> Finding {
    let Some((client, request)) = request else {
        return Finding { verdict: "ok", what: format!("{who}: needs no network"), remedy: None };
    };
    let address = request.url().to_string();
    let response = match timeout(TIMEOUT, http::send(&client, request, MAX_LIST_BYTES)).await {
        Ok(response) => response.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {} seconds", TIMEOUT.as_secs())),
    };
    let (verdict, what, remedy) = verdict(response, model.as_deref());
    Finding { verdict, what: format!("{who} at {address}: {what}"), remedy }
}

fn verdict(
    response: Result<HttpResponse, String>,
    model: Option<&str>,
) -> (&'static str, String, Option<&'static str>) {
    let response = match response {
        Ok(response) => response,
        Err(error) => return ("fail", error, Some(ADDRESS)),
    };
    match response.status {
        status if status.is_success() && lacks(&response.body, model) => {
            ("warn", "reachable, but does not list this model".to_owned(), Some("Check the model's name."))
        }
        status if status.is_success() => ("ok", "reachable".to_owned(), None),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ("fail", "refuses the key".to_owned(), Some(KEY)),
        StatusCode::BAD_REQUEST if is_for_the_key(&response.body) => {
            ("fail", "refuses the key".to_owned(), Some(KEY))
        }
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => {
            ("warn", "responds, but has no list of models".to_owned(), Some(ADDRESS))
        }
        status => ("warn", format!("responds with {status}"), Some("Try again later.")),
    }
}

/// Whether there is a list of models without this one.
fn lacks(body: &[u8], model: Option<&str>) -> bool {
    let list: Value = serde_json::from_slice(body).unwrap_or_default();
    let is_known = |known: &Value, model: &str| {
        // Google's names begin with a folder.
        let name = known["name"].as_str().map(|name| name.strip_prefix("models/").unwrap_or(name));
        known["id"] == model || name == Some(model.strip_prefix("models/").unwrap_or(model))
    };
    match (list["data"].as_array().or(list["models"].as_array()), model) {
        // A list with further pages says nothing about a model that it lacks.
        (Some(models), Some(model)) if !models.is_empty() && list["nextPageToken"].is_null() => {
            !models.iter().any(|known| is_known(known, model))
        }
        _ => false,
    }
}

/// Google answers a wrong key as any other bad argument, with the reason in the details.
fn is_for_the_key(body: &[u8]) -> bool {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let details = body["error"]["details"].as_array();
    details.into_iter().flatten().any(|detail| detail["reason"] == "API_KEY_INVALID")
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderMap;

    use super::*;

    fn verdict_of(status: u16, body: &str) -> &'static str {
        let response = HttpResponse {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: body.into(),
        };
        verdict(Ok(response), Some("m")).0
    }

    #[test]
    fn a_response_becomes_a_verdict() {
        for (status, body, expected) in [
            (200, r#"{"data":[{"id":"m"},{"id":"n"}]}"#, "ok"),
            (200, r#"{"data":[{"id":"n"}]}"#, "warn"),
            (200, r#"{"models":[{"name":"models/n"},{"name":"models/m"}]}"#, "ok"),
            (200, r#"{"models":[{"name":"models/n"}]}"#, "warn"),
            (200, r#"{"models":[{"name":"models/n"}],"nextPageToken":"p"}"#, "ok"),
            (200, r#"{"data":[{"id":"m","name":"The M"}]}"#, "ok"),
            (200, "not a list", "ok"),
            (401, "", "fail"),
            (403, "", "fail"),
            (400, r#"{"error":{"code":400,"details":[{"reason":"API_KEY_INVALID"}]}}"#, "fail"),
            (400, r#"{"error":{"code":400}}"#, "warn"),
            (404, "", "warn"),
            (503, "", "warn"),
        ] {
            assert_eq!(verdict_of(status, body), expected, "{status} {body}");
        }
    }
}
