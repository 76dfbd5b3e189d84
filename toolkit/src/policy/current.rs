//! The rules that hold now: they can be replaced while calls are decided.

use std::sync::{Arc, PoisonError, RwLock};

use super::Policy;

/// Clones share the rules.
#[derive(Debug, Clone, Default)]
pub struct CurrentPolicy(Arc<RwLock<Arc<Policy>>>);

impl CurrentPolicy {
    /// These rules, until others replace them.
    pub fn new(policy: Policy) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(policy))))
    }

    /// The rules that hold. A decision that has begun keeps to those that it began with.
    pub fn get(&self) -> Arc<Policy> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// From now on these rules hold.
    pub fn replace(&self, policy: Policy) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(policy);
    }
}
