//! The chats that the bot works for.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use super::NAME;
use crate::store::{Store, StoreError, chats};

/// Those of the settings, and the supergroups that they became. Clones share one list.
#[derive(Debug, Clone)]
pub(super) struct AllowedChats(Arc<RwLock<HashSet<i64>>>);

impl AllowedChats {
    pub(super) fn new(configured: &HashSet<i64>) -> Self {
        Self(Arc::new(RwLock::new(configured.clone())))
    }

    pub(super) fn contains(&self, chat: i64) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(&chat)
    }

    pub(super) fn numbers(&self) -> Vec<i64> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }

    /// A group became a supergroup, whose members are the same.
    pub(super) fn moved(&self, from: i64, to: i64) {
        let mut chats = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if chats.contains(&from) {
            chats.insert(to);
        }
    }

    /// Adds the groups that moved in earlier runs.
    pub(super) async fn load(&self, store: &Store) -> Result<(), StoreError> {
        for (from, to) in store.write(|tx| chats::moved(tx, &NAME)).await? {
            if let (Ok(from), Ok(to)) = (from.parse(), to.parse()) {
                self.moved(from, to);
            }
        }
        Ok(())
    }
}
