//! What crosses the socket between the tool server and the process of one request.

use serde::{Deserialize, Serialize};
use settings::choices::SearchService;

/// What to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Job {
    /// One request, with the redirects that it leads to.
    Fetch(Fetch),
    /// One question to the search service.
    Search(Search),
}

/// A request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fetch {
    /// In capitals.
    pub method: String,
    /// The address, as the caller wrote it.
    pub url: String,
    /// What the caller set; the fetcher checks the names.
    pub headers: Vec<(String, String)>,
    /// The body, if the method has one.
    pub body: Option<Vec<u8>>,
    /// The name of the credential that goes with it.
    pub profile: Option<String>,
    /// Hosts that may be asked beside those of the settings, because a person or a rule allowed it. Their
    /// addresses must be public.
    pub allowed_hosts: Vec<String>,
    /// Whether it stays at the host that it begins with.
    pub stays: bool,
    /// What the answer's body is for.
    pub purpose: Purpose,
    /// The most bytes of the body, after decompression.
    pub max_bytes: u64,
    /// How long all of it may take.
    pub timeout_ms: u64,
}

/// What the body of an answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// To be read: it becomes text.
    Read(Extract),
    /// To be stored as it is.
    Store,
}

/// How a body becomes text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Extract {
    /// HTML as Markdown, JSON with indentation, other text as it is.
    Auto,
    /// HTML as text without links and marks.
    Text,
    /// As it was sent, with its charset decoded.
    Raw,
}

/// A question to the search service.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Search {
    /// The words.
    pub query: String,
    /// The most results.
    pub max_results: usize,
    /// Only results of this host.
    pub site: Option<String>,
    /// Only results that are at most this old.
    pub recency: Option<Recency>,
    /// How long it may take.
    pub timeout_ms: u64,
}

/// How old a result may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recency {
    /// A day.
    Day,
    /// A week.
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
}

impl Recency {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

/// What comes back, in this order: a head, then data or one page, then an end; or hits; or a failure at any
/// time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Message {
    /// The answer has begun.
    Head(Head),
    /// A part of a body that is stored.
    Data(Vec<u8>),
    /// The body as text.
    Page(Page),
    /// The body is complete.
    End(End),
    /// The results of a search.
    Found(Found),
    /// It did not work.
    Failed {
        /// Why.
        error: FetchError,
        /// The service that was asked last, as [`service_of`](crate::service_of) names it.
        at: Option<String>,
    },
}

/// The beginning of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The status.
    pub status: u16,
    /// Where the answer is from, after redirects.
    pub final_url: String,
    /// How many redirects led there.
    pub redirects: usize,
    /// The `Content-Type`.
    pub content_type: Option<String>,
    /// Headers that tell something to a reader.
    pub headers: Vec<(String, String)>,
}

/// A body as text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The text.
    pub text: String,
    /// The title of a page of HTML.
    pub title: Option<String>,
    /// The links of a page of HTML, absolute, at most 50.
    pub links: Vec<Link>,
    /// What the body was.
    pub kind: PageKind,
    /// Whether there is more: the body had more than `max_bytes`, or the text became too long.
    pub is_cut: bool,
    /// Whether the body is only a part of what the server has: it was cut, or a range was asked for.
    pub is_part: bool,
}

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its words.
    pub text: String,
    /// Where it leads.
    pub url: String,
}

/// What a body was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PageKind {
    /// A page of HTML.
    Html,
    /// JSON.
    Json,
    /// Any other text.
    #[default]
    Text,
    /// A PDF, which is answered with its text.
    Pdf,
    /// No text.
    Binary,
}

/// The end of a body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How long it was, after decompression.
    pub bytes: u64,
    /// Of the whole; none of a part.
    pub sha256: Option<String>,
}

/// The results of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The service.
    pub provider: SearchService,
    /// The results whose addresses are of the web, best first.
    pub hits: Vec<SearchHit>,
    /// How many others there were.
    pub left_out: usize,
}

/// A result of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchHit {
    /// Its title.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// What the service shows of it.
    pub snippet: String,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum FetchError {
    /// The address must not be asked.
    #[error("{url} is blocked: {reason}")]
    Blocked {
        /// The address, without secrets.
        url: String,
        /// Why.
        reason: String,
        /// The host, if it could be allowed.
        host: Option<String>,
    },
    /// The request is wrong.
    #[error("{0}")]
    Invalid(String),
    /// No such host.
    #[error("{0} has no address: the name does not exist or no name server answers.")]
    NoSuchHost(String),
    /// No connection, or it broke.
    #[error("{0}")]
    Unreachable(String),
    /// It took too long.
    #[error("The server did not answer in time.")]
    TimedOut,
    /// More bytes than allowed.
    #[error("The body has more than {0} bytes.")]
    TooLarge(u64),
    /// The answer is none.
    #[error("{0}")]
    BadAnswer(String),
    /// The search service did not give results.
    #[error("{message}")]
    Search {
        /// What it did instead.
        message: String,
        /// Whether it may work later.
        retryable: bool,
    },
}
