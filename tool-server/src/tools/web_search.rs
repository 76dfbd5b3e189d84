//! `web_search`: asks a search service for pages.

use std::time::Duration;

use fetcher::{Found, Job, Message, Recency, Search, SearchHit};
use protocol::{Annotations, ErrorCode, Risk, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use settings::choices::Words;
use toolkit::output::{Full, head};
use toolkit::policy::Touches;
use toolkit::{Bounds, Call, Outcome, Scope, Slot, Success, Tool, names_no_files};

use crate::tool_context::ToolContext;
use crate::web;

/// Longer titles and snippets are cut.
const MOST_TITLE_BYTES: usize = 300;
const MOST_SNIPPET_BYTES: usize = 1500;

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
    const SHOWS_OUTSIDE: bool = true;
    const ESSENTIAL: &'static [&'static str] = &["site", "recency"];

    fn example(&self) -> Value {
        json!({"q": "rust openat2 RESOLVE_BENEATH"})
    }

    fn is_offered(&self) -> bool {
        self.0.web.as_ref().is_some_and(|web| web.can_search())
    }

    fn touches(&self, _: &Value, _: &Scope) -> Touches {
        let Some(web) = &self.0.web else { return Touches::default() };
        Touches {
            hosts: web.search_host().into_iter().collect(),
            circumstances: web.search_is().into_iter().collect(),
            ..Touches::default()
        }
    }

    names_no_files!();

    fn depends_on(&self, _: &Value) -> Option<String> {
        self.0.web.as_ref()?.search_service()
    }

    fn timeout(&self, _: &Value) -> Option<Duration> {
        Some(TIMEOUT)
    }

    fn preview(&self, arguments: &Value, _: &Call) -> Result<String, ToolError> {
        let web = self.0.web.as_ref().ok_or_else(not_allowed)?;
        let words = arguments["q"].as_str().unwrap_or_default();
        web.refuse_own_secrets([words, arguments["site"].as_str().unwrap_or_default()])?;
        let host = web.search_host().unwrap_or_default();
        Ok(format!("searches at {host} for:\n{words}\n"))
    }

    fn run(&self, arguments: WebSearchArguments, call: &Call) -> Outcome<SearchData> {
        let web = self.0.web.as_ref().filter(|web| web.can_search()).ok_or_else(not_allowed)?;
        web.refuse_own_secrets([&*arguments.q, arguments.site.as_deref().unwrap_or_default()])?;
        let search = Search {
            query: arguments.q,
            max_results: arguments.max_results,
            site: arguments.site,
            recency: arguments.recency.map(Age::as_recency),
            timeout_ms: web::timeout_ms(call),
        };
        let mut exchange = web.begin(&Job::Search(search))?;
        let Message::Found(found) = web::next(&mut exchange, call)? else {
            return Err(web::out_of_turn().into());
        };
        Ok(shown(found, call.bounds))
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

/// The results within the bounds of an answer: long titles and snippets are cut first, then the last results
/// are left out.
fn shown(Found { provider, hits, left_out }: Found, bounds: Bounds) -> Success<SearchData> {
    let provider = provider.word();
    let (found, room) = (hits.len(), (bounds.bytes / 4).min(MOST_SNIPPET_BYTES));
    let (mut stdout, mut results, mut full) = (String::new(), Vec::new(), None);
    for (number, hit) in (1..).zip(hits) {
        let (result, is_cut) = ResultData::of(number, hit, room);
        let text = result.text();
        let lines = stdout.lines().count() + text.lines().count();
        if lines > bounds.lines || stdout.len() + text.len() > bounds.bytes {
            full = Some(if lines > bounds.lines { Full::Lines } else { Full::Bytes });
            break;
        }
        full = full.or(is_cut.then_some(Full::Bytes));
        stdout.push_str(&text);
        results.push(result);
    }
    let notices = notices(provider, found, results.len(), full, left_out);
    let data = SearchData { provider: provider.to_owned(), results };
    Success { stdout, notices, data, ..Success::default() }.cut_at(full)
}

fn notices(provider: &str, found: usize, shown: usize, full: Option<Full>, left_out: usize) -> Vec<String> {
    let mut notices = Vec::new();
    if found == 0 && left_out == 0 {
        notices.push(format!("{provider} found nothing. Try other or fewer words."));
    }
    if left_out > 0 {
        notices.push(format!("{left_out} results were left out: their addresses are not of the web."));
    }
    if shown < found {
        let more = found - shown;
        notices.push(format!("{more} more results do not fit into the answer: set a smaller `max_results`."));
    } else if full.is_some() {
        notices.push("Long titles and snippets were cut: read the pages with `url_fetch`.".to_owned());
    }
    notices
}

impl ResultData {
    /// The result with its title and snippet within `room` bytes each, and whether one was longer.
    fn of(number: usize, hit: SearchHit, room: usize) -> (Self, bool) {
        let SearchHit { title, url, snippet } = hit;
        let (title, title_cut) = in_one_line(&title, room.min(MOST_TITLE_BYTES));
        let (snippet, snippet_cut) = in_one_line(&snippet, room);
        (Self { number, title, url, snippet }, title_cut || snippet_cut)
    }

    fn text(&self) -> String {
        let Self { number, title, url, snippet } = self;
        let snippet = if snippet.is_empty() { String::new() } else { format!("   {snippet}\n") };
        format!("{number}. {title}\n   {url}\n{snippet}")
    }
}

/// A text in one line, as it is shown, and whether it was cut.
fn in_one_line(text: &str, most_bytes: usize) -> (String, bool) {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    protocol::visible::escape(&mut line);
    if line.len() <= most_bytes {
        return (line, false);
    }
    (format!("{}…", head(&line, most_bytes)), true)
}

fn not_allowed() -> ToolError {
    let message = "No search service may be asked on this server.";
    ToolError::new(ErrorCode::ToolNotAllowed, message)
        .with_hint("Ask the operator to set AUTONOUS_SEARCH_PROVIDER (duckduckgo, searxng, brave or tavily).")
}
