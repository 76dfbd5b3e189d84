//! `web_search`: asks a search service for pages.

use std::time::Duration;

use fetcher::{Job, Message, Recency, Search, SearchHit};
use protocol::{Annotations, ErrorCode, Risk, SessionId, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::policy::Touches;
use toolkit::{Call, Outcome, Slot, Success, Tool};

use crate::tool_context::ToolContext;
use crate::web;

/// How long the service may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Searches the web. Each result has a title, an address and a few words; read a page with `url_fetch`.
///
/// # Details
///
/// The operator chooses the service (`AUTONOUS_SEARCH_PROVIDER`). That there is no result is an answer; a
/// service that does not answer, asks for a puzzle or has no quota left is an error that says so.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebSearchArguments {
    /// The words to search for.
    #[schemars(length(min = 1, max = 1000))]
    q: String,
    /// Default 10, at most 20.
    #[serde(default = "ten")]
    #[schemars(range(min = 1, max = 20))]
    max_results: usize,
    /// Only pages of this host, such as docs.rs.
    #[serde(default)]
    #[schemars(length(min = 1, max = 253), regex(pattern = "^[A-Za-z0-9.-]+$"))]
    site: Option<String>,
    /// Only pages that are at most this old.
    #[serde(default)]
    recency: Option<Age>,
}

/// How old a page may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Age {
    /// A day.
    Day,
    /// A week.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

/// What was found.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct SearchData {
    /// The service that was asked.
    provider: String,
    /// The results, best first.
    results: Vec<ResultData>,
}

/// A result.
#[derive(Debug, Serialize, JsonSchema)]
struct ResultData {
    /// From 1.
    number: usize,
    /// The title of the page.
    title: String,
    /// Its address.
    url: String,
    /// A few words of it.
    snippet: String,
}

const fn ten() -> usize {
    10
}

pub(crate) struct WebSearch(pub(super) ToolContext);

impl Tool for WebSearch {
    type Arguments = WebSearchArguments;
    type Data = SearchData;
    const NAME: &'static str = "web_search";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations { open_world: true, ..Annotations::READS };
    const SLOT: Slot = Slot::Web;
    const ESSENTIAL: &'static [&'static str] = &["site", "recency"];

    fn example(&self) -> Value {
        json!({"q": "rust openat2 RESOLVE_BENEATH"})
    }

    fn is_offered(&self) -> bool {
        self.0.web.as_ref().is_some_and(|web| web.can_search())
    }

    fn touches(&self, _: &Value, _: &SessionId) -> Touches {
        let Some(web) = &self.0.web else { return Touches::default() };
        Touches {
            hosts: web.search_host().into_iter().collect(),
            circumstances: web.search_is().into_iter().collect(),
            ..Touches::default()
        }
    }

    fn timeout(&self, _: &Value) -> Option<Duration> {
        Some(TIMEOUT)
    }

    fn preview(&self, arguments: &Value, _: &Call) -> Result<String, ToolError> {
        let web = self.0.web.as_ref().ok_or_else(not_allowed)?;
        let words = arguments["q"].as_str().unwrap_or_default();
        web.refuse_own_secrets(&[words])?;
        let host = web.search_host().unwrap_or_default();
        Ok(format!("searches at {host} for:\n{words}\n"))
    }

    fn run(&self, arguments: WebSearchArguments, call: &Call) -> Outcome<SearchData> {
        let web = self.0.web.as_ref().filter(|web| web.can_search()).ok_or_else(not_allowed)?;
        web.refuse_own_secrets(&[&arguments.q])?;
        let search = Search {
            query: arguments.q,
            max_results: arguments.max_results,
            site: arguments.site,
            recency: arguments.recency.map(Age::as_recency),
            timeout_ms: u64::try_from(TIMEOUT.as_millis()).unwrap_or(u64::MAX),
        };
        let mut exchange = web.begin(&Job::Search(search))?;
        let Message::Hits(provider, hits) = web::next(&mut exchange, call)? else {
            return Err(web::out_of_turn().into());
        };
        Ok(found(provider.as_str(), hits))
    }
}

impl Age {
    const fn as_recency(self) -> Recency {
        match self {
            Self::Day => Recency::Day,
            Self::Week => Recency::Week,
            Self::Month => Recency::Month,
            Self::Year => Recency::Year,
        }
    }
}

fn found(provider: &str, hits: Vec<SearchHit>) -> Success<SearchData> {
    let results: Vec<ResultData> = (1..)
        .zip(hits)
        .map(|(number, SearchHit { title, url, snippet })| ResultData { number, title, url, snippet })
        .collect();
    let mut stdout = String::new();
    for ResultData { number, title, url, snippet } in &results {
        stdout.push_str(&format!("{number}. {title}\n   {url}\n"));
        if !snippet.is_empty() {
            stdout.push_str(&format!("   {snippet}\n"));
        }
    }
    let notices = if results.is_empty() {
        vec![format!("{provider} found nothing. Try other or fewer words.")]
    } else {
        Vec::new()
    };
    Success {
        stdout,
        notices,
        data: SearchData { provider: provider.to_owned(), results },
        ..Success::default()
    }
}

fn not_allowed() -> ToolError {
    let message = "No search service may be asked on this server.";
    ToolError::new(ErrorCode::ToolNotAllowed, message)
        .with_hint("Ask the operator to set AUTONOUS_SEARCH_PROVIDER (duckduckgo, searxng, brave or tavily).")
}
