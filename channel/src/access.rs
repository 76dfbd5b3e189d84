//! Who may use a channel: the chats and people of its settings, and those that were paired while it ran.
//!
//! A chat with one person has that person's ID.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use protocol::{PersonId, Sender};
pub use settings::choices::{GroupMembers, GroupTrigger};

use super::chat::whole;

/// What the settings of a channel say about access.
#[derive(Debug, Clone)]
pub struct AccessRules {
    pub chats: BTreeSet<String>,
    pub users: BTreeSet<String>,
    /// The people who decide about calls; without a list, all who may use the bot by themselves.
    pub approvers: Option<BTreeSet<String>>,
    /// Who is asked about strangers.
    pub owner: Option<String>,
    pub group_members: GroupMembers,
    pub group_trigger: GroupTrigger,
    /// Whether the ID of a chat is that of a group.
    pub is_group: fn(&str) -> bool,
    /// Whether every chat may: the channel itself has checked who writes.
    pub is_open: bool,
}

/// Clones share one list of chats.
#[derive(Debug, Clone)]
pub struct Access {
    lists: Arc<RwLock<Lists>>,
    is_group: fn(&str) -> bool,
}

#[derive(Debug)]
struct Lists {
    rules: Arc<AccessRules>,
    /// Those of the settings, and the groups that they became.
    chats: BTreeSet<String>,
    /// People and groups.
    paired: BTreeSet<String>,
    /// The person who was paired before all others.
    first_paired: Option<String>,
}

/// Who a chat is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    Person,
    Group,
    /// A sender that the bot does nothing for: such notices leave after all others.
    Stranger,
}

impl Access {
    pub fn new(rules: AccessRules) -> Self {
        let (chats, is_group) = (rules.chats.clone(), rules.is_group);
        let lists = Lists { rules: Arc::new(rules), chats, paired: BTreeSet::new(), first_paired: None };
        Self { lists: Arc::new(RwLock::new(lists)), is_group }
    }

    /// From now on these settings hold. What was paired stays paired, and a group that has another ID since
    /// keeps it.
    pub fn replace(&self, rules: AccessRules) {
        let mut lists = self.lists.write().unwrap_or_else(PoisonError::into_inner);
        let moved: Vec<String> = lists.chats.difference(&lists.rules.chats).cloned().collect();
        lists.chats = rules.chats.iter().cloned().chain(moved).collect();
        lists.rules = Arc::new(rules);
    }

    /// Access without any person or chat, as to a channel that is off; if it `is_open`, for all.
    pub fn without_lists(is_open: bool) -> Self {
        Self::new(AccessRules {
            is_open,
            chats: BTreeSet::new(),
            users: BTreeSet::new(),
            approvers: None,
            owner: None,
            group_members: GroupMembers::Listed,
            group_trigger: GroupTrigger::Mention,
            is_group: |_| false,
        })
    }

    pub fn rules(&self) -> Arc<AccessRules> {
        Arc::clone(&self.read().rules)
    }

    /// Whether the bot works in a chat.
    pub fn allows(&self, chat_id: &str) -> bool {
        let (lists, id) = (self.read(), whole(chat_id));
        lists.rules.is_open
            || lists.chats.contains(id)
            || lists.rules.users.contains(id)
            || lists.paired.contains(id)
    }

    /// Whether a person may use the bot wherever it works.
    pub fn lists(&self, person: &Sender) -> bool {
        !person.is_bot && self.allows(person.id.as_str())
    }

    pub fn is_group(&self, chat_id: &str) -> bool {
        (self.is_group)(whole(chat_id))
    }

    pub fn audience(&self, chat_id: &str) -> Audience {
        match (self.allows(chat_id), self.is_group(chat_id)) {
            (true, true) => Audience::Group,
            (true, false) => Audience::Person,
            (false, _) => Audience::Stranger,
        }
    }

    /// The people who decide about calls that wait for a person.
    pub fn approvers(&self) -> Vec<PersonId> {
        let lists = self.read();
        let all = || lists.chats.iter().chain(&lists.rules.users).chain(&lists.paired).cloned().collect();
        let people: BTreeSet<String> = lists.rules.approvers.clone().unwrap_or_else(all);
        people.into_iter().filter(|id| !self.is_group(id)).map(PersonId::from).collect()
    }

    pub fn may_approve(&self, person: &str) -> bool {
        self.approvers().iter().any(|approver| approver.as_str() == person)
    }

    /// Who is asked about strangers, in private; without one in the settings, the first person paired.
    pub fn owner(&self) -> Option<String> {
        let lists = self.read();
        lists.rules.owner.clone().or_else(|| lists.first_paired.clone())
    }

    /// Each chat and user of the settings.
    pub fn configured(&self) -> Vec<String> {
        let lists = self.read();
        lists.chats.union(&lists.rules.users).cloned().collect()
    }

    pub fn count(&self) -> usize {
        let lists = self.read();
        lists.chats.len() + lists.rules.users.len() + lists.paired.len()
    }

    /// From now on a chat is allowed by pairing, or no longer.
    pub fn set_paired(&self, chat_id: &str, is_paired: bool) {
        let mut lists = self.lists.write().unwrap_or_else(PoisonError::into_inner);
        if is_paired {
            lists.paired.insert(chat_id.to_owned());
            let person = Some(chat_id.to_owned()).filter(|id| !self.is_group(id));
            lists.first_paired = lists.first_paired.take().or(person);
        } else {
            lists.paired.remove(chat_id);
            lists.first_paired.take_if(|first| first == chat_id);
        }
    }

    /// From now on these chats are allowed by pairing, in the order in which they were paired, and no others.
    pub fn replace_paired(&self, chats: impl Iterator<Item = String>) {
        let mut lists = self.lists.write().unwrap_or_else(PoisonError::into_inner);
        (lists.paired, lists.first_paired) = (BTreeSet::new(), None);
        for chat in chats {
            let person = Some(chat.clone()).filter(|id| !self.is_group(id));
            lists.first_paired = lists.first_paired.take().or(person);
            lists.paired.insert(chat);
        }
    }

    /// A group has another ID from now on, and the same rights.
    pub fn moved(&self, from: &str, to: &str) {
        let mut lists = self.lists.write().unwrap_or_else(PoisonError::into_inner);
        if lists.chats.contains(from) {
            lists.chats.insert(to.to_owned());
        }
        if lists.paired.remove(from) {
            lists.paired.insert(to.to_owned());
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Lists> {
        self.lists.read().unwrap_or_else(PoisonError::into_inner)
    }
}
