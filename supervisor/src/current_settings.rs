//! What of the settings can change while the supervisor runs: the limits of a day, and what is shown of all.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use settings::quotas::Limits;

use crate::config::{Config, Settings};

/// Clones share what holds.
#[derive(Debug, Clone, Default)]
pub(crate) struct CurrentSettings(Arc<RwLock<Held>>);

#[derive(Debug, Default)]
struct Held {
    limits: Limits,
    settings: Settings,
    /// Where those settings come from that have no default, in words.
    origins: BTreeMap<String, String>,
}

impl CurrentSettings {
    pub(crate) fn of(config: &Config) -> Self {
        let held =
            Held { limits: config.limits, settings: config.settings(), origins: config.origins.clone() };
        Self(Arc::new(RwLock::new(held)))
    }

    /// `[limits.…]` of `policy.toml`: what chats and users may use in a day.
    pub(crate) fn limits(&self) -> Limits {
        self.read().limits
    }

    /// The settings that hold, by variable; secrets are left out.
    pub(crate) fn settings(&self) -> Settings {
        self.read().settings.clone()
    }

    /// Where a setting comes from, in words; none for a default.
    pub(crate) fn origin(&self, variable: &str) -> Option<String> {
        self.read().origins.get(variable).cloned()
    }

    /// From now on the limits and these settings of another configuration hold.
    pub(crate) fn replace(&self, config: &Config, variables: &[&str]) {
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        held.limits = config.limits;
        let settings = config.settings();
        for variable in variables {
            let (name, held) = ((*variable).to_owned(), &mut *held);
            match settings.get(*variable) {
                Some(value) => held.settings.insert(name.clone(), value.clone()),
                None => held.settings.remove(*variable),
            };
            match config.origins.get(*variable) {
                Some(origin) => held.origins.insert(name, origin.clone()),
                None => held.origins.remove(*variable),
            };
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Held> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}
