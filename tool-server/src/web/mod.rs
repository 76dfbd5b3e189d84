//! What tools have of the web: the fetcher's socket, and what of its answers is kept for further pages.
//!
//! This process opens no connection. The fetcher judges addresses; here is decided what may be told to it and
//! what a caller sees of the answer.

mod error;
mod kept;

use std::sync::Arc;
use std::time::Duration;

use fetcher::{Exchange, Fetcher, Job, Message, Settings};
use process::Secret;
use protocol::{ErrorCode, ToolError};
use toolkit::Call;

use crate::output_store::OutputStore;
use crate::roots::Workspaces;

pub(crate) use error::to_tool_error;
pub(crate) use kept::cut;

/// The most that one request may take.
pub(crate) const MAX_TIMEOUT: Duration = Duration::from_secs(300);

/// The web, as far as tools have it.
#[derive(Debug)]
pub struct Web {
    fetcher: Arc<Fetcher>,
    settings: Settings,
    /// What never leaves this machine.
    own_secrets: Vec<Secret>,
    output: Arc<OutputStore>,
    workspaces: Arc<Workspaces>,
}

impl Web {
    /// The web behind a fetcher.
    pub fn new(
        fetcher: Arc<Fetcher>,
        settings: Settings,
        own_secrets: Vec<Secret>,
        output: Arc<OutputStore>,
        workspaces: Arc<Workspaces>,
    ) -> Self {
        Self { fetcher, settings, own_secrets, output, workspaces }
    }

    pub(crate) fn can_fetch(&self) -> bool {
        self.settings.can_fetch()
    }

    pub(crate) fn can_search(&self) -> bool {
        self.settings.can_search()
    }

    /// The host of the search service.
    pub(crate) fn search_host(&self) -> Option<String> {
        fetcher::host_of(self.settings.search.url.as_str())
    }

    /// The credentials that a caller may name, each with what it is for.
    pub(crate) fn profiles(&self) -> impl Iterator<Item = (&str, &str)> {
        self.settings.profiles.iter().map(|(name, profile)| (name.as_str(), profile.description.as_str()))
    }

    /// Refuses what would carry a secret of this server away.
    pub(crate) fn refuse_own_secrets(&self, texts: &[&str]) -> Result<(), ToolError> {
        let has_secret = |text: &&str| self.own_secrets.iter().any(|secret| text.contains(secret.expose()));
        if !texts.iter().any(has_secret) {
            return Ok(());
        }
        let message = "The request has a secret of this server in it, so it was not sent.";
        Err(ToolError::new(ErrorCode::UrlBlocked, message).with_hint("Send the request without the secret."))
    }

    pub(crate) fn begin(&self, job: &Job) -> Result<Exchange, ToolError> {
        self.fetcher.begin(job).map_err(|error| unanswered(&error))
    }
}

/// The next message of a request, unless it failed, or nobody waits for it any more.
pub(crate) fn next(exchange: &mut Exchange, call: &Call) -> Result<Message, ToolError> {
    let next = exchange.next(|| call.check().map_err(Stopped::Call)).map_err(|stopped| match stopped {
        Stopped::Call(error) => error,
        Stopped::Io(error) => unanswered(&error),
    })?;
    match next {
        Message::Failed(error) => Err(to_tool_error(error)),
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
