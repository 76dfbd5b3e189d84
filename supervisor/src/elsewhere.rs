//! Where the tool server is, if not on this machine, and what of it does not work at the moment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use toolkit::locked;

/// What of it does not work at the moment, in words.
#[derive(Debug, Clone, Default)]
pub(crate) struct Troubles(Arc<Mutex<BTreeMap<&'static str, String>>>);

impl Troubles {
    pub(crate) fn set(&self, name: &'static str, trouble: Option<String>) {
        let mut troubles = locked(&self.0);
        let known = match trouble {
            Some(trouble) => troubles.insert(name, trouble.clone()).filter(|known| *known == trouble),
            None => return drop(troubles.remove(name)),
        };
        if known.is_none() {
            tracing::warn!(error = troubles[name], "{name} of the tool server elsewhere cannot be reached");
        }
    }

    /// Each with its name.
    pub(crate) fn in_words(&self) -> Option<String> {
        let troubles = locked(&self.0);
        let parts: Vec<_> = troubles.iter().map(|(name, trouble)| format!("{name}: {trouble}")).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// Where it is, for health.
#[derive(Debug, Clone)]
pub(crate) struct Elsewhere {
    pub(crate) url: String,
    pub(crate) troubles: Troubles,
}
