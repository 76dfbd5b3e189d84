//! Why a model gave no reply, classified where the error is seen: by status, header or field.
//!
//! We never classify errors by matching their text. A class says whether a retry can help and what the
//! user reads.

use std::time::Duration;

use protocol::event::Unreachable;
use texts::{Language, Text};

/// Why there is no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.told(Language::English))]
pub struct ModelError {
    /// What kind of failure it is.
    pub class: ModelErrorClass,
    /// What the provider or the network said, bounded and without secrets.
    pub detail: String,
    /// How long the provider asks us to wait.
    pub retry_after: Option<Duration>,
    /// The server to which no connection could be made; none if there was one.
    pub unreachable: Option<Unreachable>,
}

impl ModelError {
    /// What the user reads, in a language.
    pub fn told(&self, language: Language) -> String {
        match &self.unreachable {
            Some(server) if detail_of(server) == self.detail => unreachable(server, language),
            Some(server) => format!("{} ({})", unreachable(server, language), self.detail),
            None => format!("{} ({})", self.class.user_message().to(language), self.detail),
        }
    }

    /// The error of a server to which no connection could be made.
    pub fn unreachable(server: Unreachable) -> Self {
        let error = Self::new(ModelErrorClass::Network, detail_of(&server));
        Self { unreachable: Some(server), ..error }
    }

    /// An error for which the provider asks for no wait.
    pub fn new(class: ModelErrorClass, detail: impl Into<String>) -> Self {
        Self { class, detail: detail.into(), retry_after: None, unreachable: None }
    }
}

/// That a model's server cannot be reached, for the user.
pub(crate) fn unreachable(server: &Unreachable, language: Language) -> String {
    let Unreachable { address, cause } = server;
    Text::ModelServerUnreachable { address, cause }.to(language)
}

fn detail_of(server: &Unreachable) -> String {
    format!("{} cannot be reached ({})", server.address, server.cause)
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorClass {
    /// Too many requests or tokens in a period.
    RateLimit,
    /// The provider is overloaded or broken.
    Overloaded,
    /// The key is missing, wrong or lacks a permission.
    Auth,
    /// The account of the key has no credit left.
    NoCredit,
    /// The request itself is refused: the model name, the address, a parameter.
    BadRequest,
    /// The conversation is longer than the model's window.
    ContextTooLong,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// The connection is open, but nothing arrives any more.
    Stalled,
    /// The response is not a valid reply.
    InvalidReply,
}

impl ModelErrorClass {
    /// All classes.
    pub const ALL: [Self; 9] = [
        Self::RateLimit,
        Self::Overloaded,
        Self::Auth,
        Self::NoCredit,
        Self::BadRequest,
        Self::ContextTooLong,
        Self::Network,
        Self::Stalled,
        Self::InvalidReply,
    ];

    /// The name in scripts and events.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Auth => "auth",
            Self::NoCredit => "no_credit",
            Self::BadRequest => "bad_request",
            Self::ContextTooLong => "context_too_long",
            Self::Network => "network",
            Self::Stalled => "stalled",
            Self::InvalidReply => "invalid_reply",
        }
    }

    /// Whether the same request can succeed later.
    pub const fn is_transient(self) -> bool {
        match self {
            Self::RateLimit | Self::Overloaded | Self::Network | Self::Stalled | Self::InvalidReply => true,
            Self::Auth | Self::NoCredit | Self::BadRequest | Self::ContextTooLong => false,
        }
    }

    /// What the user reads: what happened and what to do.
    pub const fn user_message(self) -> Text<'static> {
        match self {
            Self::RateLimit => Text::ModelRateLimit,
            Self::Overloaded => Text::ModelOverloaded,
            Self::Auth => Text::ModelRefusesKey,
            Self::NoCredit => Text::ModelNoCredit,
            Self::BadRequest => Text::ModelRefusesRequest,
            Self::ContextTooLong => Text::ModelContextTooLong,
            Self::Network => Text::ModelUnreachable,
            Self::Stalled => Text::ModelStalled,
            Self::InvalidReply => Text::ModelInvalidReply,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_the_request_causes_are_permanent() {
        let permanent = ModelErrorClass::ALL.into_iter().filter(|class| !class.is_transient());
        let permanent: Vec<&str> = permanent.map(ModelErrorClass::as_str).collect();
        assert_eq!(permanent, ["auth", "no_credit", "bad_request", "context_too_long"]);
    }
}
