//! Who may use the bot: the chats and people of the settings, and those that were paired while it ran.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::NAME;
use crate::config::{GroupMembers, GroupTrigger, TelegramSettings};
use crate::store::{Store, StoreError, chats, pairing};

/// Clones share one list of chats.
#[derive(Debug, Clone)]
pub(super) struct Permissions {
    lists: Arc<RwLock<Lists>>,
    pub(super) group_members: GroupMembers,
    pub(super) group_trigger: GroupTrigger,
    /// Who is asked about strangers: the first person of the settings.
    owner: Option<i64>,
    /// `AUTONOUS_APPROVERS`.
    approvers: Option<HashSet<i64>>,
}

#[derive(Debug)]
struct Lists {
    /// Those of the settings, and the supergroups that they became.
    chats: HashSet<i64>,
    /// The people of the settings.
    users: HashSet<i64>,
    /// People and groups.
    paired: HashSet<i64>,
    /// The person who was paired before all others.
    first_paired: Option<i64>,
}

impl Permissions {
    pub(super) fn new(settings: &TelegramSettings) -> Self {
        let lists = Lists {
            chats: settings.allowed_chats.clone(),
            users: settings.allowed_users.clone(),
            paired: HashSet::new(),
            first_paired: None,
        };
        Self {
            lists: Arc::new(RwLock::new(lists)),
            group_members: settings.group_members,
            group_trigger: settings.group_trigger,
            owner: settings.owner,
            approvers: settings.approvers.clone(),
        }
    }

    /// Whether the bot works in a chat; in a private one that is the person with the same number.
    pub(super) fn allows(&self, chat: i64) -> bool {
        let lists = self.read();
        lists.chats.contains(&chat) || lists.users.contains(&chat) || lists.paired.contains(&chat)
    }

    /// Whether the settings name people.
    pub(super) fn names_users(&self) -> bool {
        !self.read().users.is_empty()
    }

    /// The people who decide about calls that wait for a person: those of `AUTONOUS_APPROVERS`, or else all
    /// who may use the bot by themselves.
    pub(super) fn approvers(&self) -> Vec<i64> {
        let lists = self.read();
        let all = || lists.chats.iter().chain(&lists.users).chain(&lists.paired).copied().collect();
        let mut people: Vec<i64> = match &self.approvers {
            Some(named) => named.iter().copied().collect(),
            None => all(),
        };
        people.retain(|person| *person > 0);
        people.sort_unstable();
        people.dedup();
        people
    }

    pub(super) fn may_approve(&self, person: i64) -> bool {
        self.approvers().contains(&person)
    }

    /// Who is asked about strangers, in private; without one in the settings, the first person paired.
    pub(super) fn owner(&self) -> Option<i64> {
        self.owner.or_else(|| self.read().first_paired)
    }

    /// Each chat and user of the settings.
    pub(super) fn configured(&self) -> Vec<i64> {
        let lists = self.read();
        let mut numbers: Vec<i64> = lists.chats.union(&lists.users).copied().collect();
        numbers.sort_unstable();
        numbers
    }

    pub(super) fn count(&self) -> usize {
        let lists = self.read();
        lists.chats.len() + lists.users.len() + lists.paired.len()
    }

    pub(super) fn set_paired(&self, chat: i64, is_paired: bool) {
        let mut lists = self.lists.write().unwrap_or_else(PoisonError::into_inner);
        if is_paired {
            lists.paired.insert(chat);
            lists.first_paired = lists.first_paired.or(Some(chat).filter(|chat| *chat > 0));
        } else {
            lists.paired.remove(&chat);
            lists.first_paired = lists.first_paired.filter(|first| *first != chat);
        }
    }

    /// A group became a supergroup, whose members are the same.
    pub(super) fn moved(&self, from: i64, to: i64) {
        let mut lists = self.lists.write().unwrap_or_else(PoisonError::into_inner);
        if lists.chats.contains(&from) {
            lists.chats.insert(to);
        }
        if lists.paired.remove(&from) {
            lists.paired.insert(to);
        }
    }

    /// Adds the chats that were paired, and the groups that moved in earlier runs.
    pub(super) async fn load(&self, store: &Store) -> Result<(), StoreError> {
        let (moved, paired) = store.write(|tx| Ok((chats::moved(tx, &NAME)?, pairing::paired(tx)?))).await?;
        for (from, to) in moved {
            if let (Ok(from), Ok(to)) = (from.parse(), to.parse()) {
                self.moved(from, to);
            }
        }
        for known in paired.into_iter().filter(|known| known.chat.channel == NAME) {
            if let Ok(number) = known.chat.id.parse() {
                self.set_paired(number, true);
            }
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn test(
        chats: &[i64],
        users: &[i64],
        group_members: GroupMembers,
        group_trigger: GroupTrigger,
    ) -> Self {
        let set = |numbers: &[i64]| numbers.iter().copied().collect();
        let lists =
            Lists { chats: set(chats), users: set(users), paired: HashSet::new(), first_paired: None };
        Self {
            lists: Arc::new(RwLock::new(lists)),
            group_members,
            group_trigger,
            owner: None,
            approvers: None,
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Lists> {
        self.lists.read().unwrap_or_else(PoisonError::into_inner)
    }
}
