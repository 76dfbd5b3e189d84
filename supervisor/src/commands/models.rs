//! The models that a chat can choose from.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use ::models::Selectable;
use channel::Chat;

/// The name of the provider without a model, as the worker tells it.
const NO_MODEL: &str = "direct";

/// Clones share their state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Models {
    /// Those of `models.toml` whose keys are there, the first one first; empty without that file.
    listed: Arc<[String]>,
    /// The chats whose model the operator has fixed, with its name.
    fixed: Arc<BTreeMap<String, String>>,
    /// What the first worker said that it asks.
    asked: Arc<OnceLock<String>>,
}

impl Models {
    pub(crate) fn new(selectable: Selectable) -> Self {
        let Selectable { names, fixed } = selectable;
        Self { listed: names.into(), fixed: Arc::new(fixed), asked: Arc::default() }
    }

    /// The model that the operator has fixed for a chat: for itself, or for the group of a topic.
    pub(crate) fn fixed(&self, chat: &Chat) -> Option<&str> {
        let of = |chat: &Chat| self.fixed.get(chat.session().as_str());
        of(chat).or_else(|| of(&chat.whole())).map(String::as_str)
    }

    /// A worker has said which model it asks.
    pub(crate) fn introduce(&self, asked: &str) {
        let _ = self.asked.set(asked.to_owned());
    }

    pub(super) fn listed(&self) -> &[String] {
        &self.listed
    }

    /// The model that works for a chat which has chosen none; none before a worker is ready.
    pub(super) fn first(&self) -> Option<&str> {
        self.listed.first().or_else(|| self.asked.get()).map(String::as_str)
    }

    /// Whether messages are tool calls.
    pub(crate) fn is_without_model(&self) -> bool {
        self.first() == Some(NO_MODEL)
    }

    /// Whether a chat can have this model.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.listed.iter().any(|known| known == name)
    }
}
