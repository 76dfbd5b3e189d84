//! Why a model gave no reply, classed where it is seen.
//!
//! Nobody classes an error later by searching its text: the provider's file knows the status, the
//! header and the field. A class says whether asking again can help and what the user is told.

use std::time::Duration;

/// No reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} ({detail})", class.user_message())]
pub struct ModelError {
    /// What kind of failure it is.
    pub class: ModelErrorClass,
    /// What the provider or the network said, bounded and without secrets.
    pub detail: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

impl ModelError {
    /// An error without a wait that the provider asked for.
    pub fn new(class: ModelErrorClass, detail: impl Into<String>) -> Self {
        Self { class, detail: detail.into(), retry_after: None }
    }
}

/// The kinds of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorClass {
    /// Too many requests or tokens in a time.
    RateLimit,
    /// The provider is overloaded or broken.
    Overloaded,
    /// The key is missing, wrong, or has no right or no money left.
    Auth,
    /// The request itself is refused: the model's name, the address, a parameter.
    BadRequest,
    /// The conversation is longer than the model's window.
    ContextTooLong,
    /// The provider could not be reached, or the connection broke.
    Network,
    /// The connection stands, and nothing comes any more.
    Stalled,
    /// What came is not a reply.
    InvalidReply,
}

impl ModelErrorClass {
    /// All classes.
    pub const ALL: [Self; 8] = [
        Self::RateLimit,
        Self::Overloaded,
        Self::Auth,
        Self::BadRequest,
        Self::ContextTooLong,
        Self::Network,
        Self::Stalled,
        Self::InvalidReply,
    ];

    /// The class as scripts and events write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::Overloaded => "overloaded",
            Self::Auth => "auth",
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
            Self::Auth | Self::BadRequest | Self::ContextTooLong => false,
        }
    }

    /// What the class means for the person, and what to do.
    pub const fn user_message(self) -> &'static str {
        match self {
            Self::RateLimit => "The model's provider accepts no more requests right now; try again later",
            Self::Overloaded => "The model's provider is overloaded or failing; try again later",
            Self::Auth => "The model's provider refuses the key; AUTONOUS_MODEL_API_KEY must be corrected",
            Self::BadRequest => {
                "The model's provider refuses the request; \
                 AUTONOUS_MODEL_NAME and AUTONOUS_MODEL_BASE_URL should be checked, \
                 and a model that cannot call functions needs AUTONOUS_MODEL_TOOL_PROTOCOL=json"
            }
            Self::ContextTooLong => {
                "The conversation is too long for the model; \
                 ask for a smaller step, or choose a model with a larger window"
            }
            Self::Network => {
                "The model's provider cannot be reached, or the connection broke; try again later"
            }
            Self::Stalled => "The model's provider stopped answering; try again later",
            Self::InvalidReply => "The model's provider answered with something that is not a reply",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_request_itself_causes_does_not_pass_by_asking_again() {
        let lasting = ModelErrorClass::ALL.into_iter().filter(|class| !class.is_transient());
        let lasting: Vec<&str> = lasting.map(ModelErrorClass::as_str).collect();
        assert_eq!(lasting, ["auth", "bad_request", "context_too_long"]);
    }
}
