//! What tools have of the web: the fetcher's socket, and what of its answers is kept for further pages.
//!
//! This process opens no connection. The fetcher judges addresses; here is decided what it may get and
//! what a caller sees of the answer.

mod error;
mod kept;

use std::sync::Arc;
use std::time::{Duration, Instant};

use fetcher::{Exchange, Fetcher, Job, Message, Secrets, Settings, Standing, check_headers};
use files::output_store::OutputStore;
use files::roots::Workspaces;
use process::Secret;
use protocol::{ErrorCode, ToolError};
use toolkit::Call;
use toolkit::policy::Circumstance;

pub(crate) use error::to_tool_error;
pub(crate) use kept::cut;

/// The most that one request may take.
pub(crate) const MAX_TIMEOUT: Duration = Duration::from_secs(300);

/// How long an answer of the fetcher may take to be read.
const ANSWERS_WITHIN: Duration = Duration::from_millis(250);

/// The web, as far as tools have it.
#[derive(Debug)]
pub struct Web {
    /// None where rules are only tried out.
    fetcher: Option<Arc<Fetcher>>,
    /// Whether somebody can be asked about a host that is not listed.
    asks: bool,
    settings: Settings,
    /// What never leaves this machine.
    own_secrets: Secrets,
    output: Arc<OutputStore>,
    workspaces: Arc<Workspaces>,
}

impl Web {
    /// The web as it is set up, without a fetcher.
    pub fn new(settings: Settings, output: Arc<OutputStore>, workspaces: Arc<Workspaces>) -> Self {
        Self { fetcher: None, asks: false, settings, own_secrets: Secrets::default(), output, workspaces }
    }

    /// The same behind a fetcher. `asks` says whether somebody can be asked about a host.
    pub(crate) fn behind<'a>(
        self,
        fetcher: Arc<Fetcher>,
        own_secrets: impl IntoIterator<Item = &'a Secret>,
        asks: bool,
    ) -> Self {
        let own_secrets = Secrets::new(own_secrets.into_iter().map(Secret::expose));
        Self { fetcher: Some(fetcher), own_secrets, asks, ..self }
    }

    pub(crate) fn can_fetch(&self) -> bool {
        self.asks || self.settings.can_fetch()
    }

    pub(crate) fn can_search(&self) -> bool {
        self.asks || self.settings.can_search()
    }

    /// The circumstances of asking the search service.
    pub(crate) fn search_is(&self) -> Option<Circumstance> {
        (!self.settings.can_search()).then_some(Circumstance::NewHost)
    }

    /// Whether an address is of a host that is listed, or why no rule could allow it.
    pub(crate) fn standing(&self, url: &str) -> Result<Standing, ToolError> {
        self.settings.standing(url).map_err(to_tool_error)
    }

    /// Refuses headers that no call with this credential may set.
    pub(crate) fn check_headers(
        &self,
        headers: &[(String, String)],
        profile: Option<&str>,
    ) -> Result<(), ToolError> {
        let profile = profile.and_then(|name| self.settings.profiles.get(name));
        let more = profile.map_or(&[][..], |profile| &profile.allow_user_headers);
        check_headers(headers, more).map_err(to_tool_error)
    }

    /// What a search needs.
    pub(crate) fn search_service(&self) -> Option<String> {
        fetcher::service_of(self.settings.search.url.as_str())
    }

    /// The host of the search service.
    pub(crate) fn search_host(&self) -> Option<String> {
        fetcher::host_of(self.settings.search.url.as_str())
    }

    /// The credentials that a caller may name, each with what it is for.
    pub(crate) fn profiles(&self) -> impl Iterator<Item = (&str, &str)> {
        self.settings.profiles.iter().map(|(name, profile)| (name.as_str(), profile.description.as_str()))
    }

    /// Refuses what would carry a secret of this server away, in whatever form.
    pub(crate) fn refuse_own_secrets<'a>(
        &self,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), ToolError> {
        if !texts.into_iter().any(|text| self.own_secrets.are_in(text.as_bytes())) {
            return Ok(());
        }
        let message = "The request has a secret of this server in it, so it was not sent.";
        Err(ToolError::new(ErrorCode::UrlBlocked, message).with_hint("Send the request without the secret."))
    }

    pub(crate) fn begin(&self, job: &Job) -> Result<Exchange, ToolError> {
        let fetcher = self
            .fetcher
            .as_ref()
            .ok_or_else(|| ToolError::new(ErrorCode::UrlBlocked, "No host may be asked on this server."))?;
        fetcher.begin(job).map_err(|error| unanswered(&error))
    }
}

/// How long a request may take so that the fetcher, which knows what it waits for, says first that it is
/// late.
pub(crate) fn timeout_ms(call: &Call) -> u64 {
    let left = call.deadline.saturating_duration_since(Instant::now()).saturating_sub(ANSWERS_WITHIN);
    u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1)
}

/// The next message of a request, unless it failed, or its caller has gone.
pub(crate) fn next(exchange: &mut Exchange, call: &Call) -> Result<Message, ToolError> {
    let next = exchange.next(|| call.check().map_err(Stopped::Call)).map_err(|stopped| match stopped {
        Stopped::Call(error) => error,
        Stopped::Io(error) => unanswered(&error),
    })?;
    match next {
        Message::Failed { error, at } => Err(ToolError { failed_at: at, ..to_tool_error(error) }),
        message => Ok(message),
    }
}

enum Stopped {
    Call(ToolError),
    Io(std::io::Error),
}

impl From<std::io::Error> for Stopped {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// The process of the request ended without a word: it reached a limit of memory, or broke on what it read.
fn unanswered(error: &std::io::Error) -> ToolError {
    tracing::warn!(%error, "the fetcher did not answer a request");
    let message = "The page could not be read: the process that read it ended.";
    ToolError::new(ErrorCode::IoError, message)
        .with_hint("Try {\"extract\":\"raw\"} or a smaller `max_bytes`, or store it with `download_path`.")
}

/// The error for a message that does not belong here.
pub(crate) fn out_of_turn() -> ToolError {
    ToolError::new(ErrorCode::Internal, "The fetcher answered out of turn.")
}
