//! Who administers the groups, asked when a message depends on it and kept for a minute.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use serde::Deserialize;
use teloxide::payloads::GetChatAdministrators;
use teloxide::types::ChatId;
use tokio::task::JoinSet;

use super::api::{Api, CallError};

/// Somebody who is no administrator any more is obeyed for at most this long.
const KEPT: Duration = Duration::from_secs(60);
/// How soon Telegram is asked again that did not answer.
const PAUSE: Duration = Duration::from_secs(5);
/// How long it may take: the messages of all other chats wait for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The administrators of the groups, as far as they were asked for.
#[derive(Debug, Default)]
pub(super) struct Administrators(HashMap<i64, Known>);

#[derive(Debug)]
struct Known {
    until: Instant,
    /// None if Telegram did not say.
    people: Option<HashSet<u64>>,
}

/// The fields that are read of an administrator.
#[derive(Deserialize)]
struct Member {
    user: User,
}

#[derive(Deserialize)]
struct User {
    id: u64,
    is_bot: bool,
}

impl Administrators {
    /// The people who administer a group; none if that is not known.
    pub(super) fn of(&self, group: i64) -> Option<&HashSet<u64>> {
        self.0.get(&group)?.people.as_ref()
    }

    /// Asks for those that are not known, or not any more.
    pub(super) async fn learn(&mut self, api: &Api, groups: HashSet<i64>) {
        let now = Instant::now();
        self.0.retain(|_, known| known.until > now);
        let mut asked = JoinSet::new();
        for group in groups.into_iter().filter(|group| !self.0.contains_key(group)) {
            let api = api.clone();
            asked.spawn(async move { (group, ask(&api, group).await) });
        }
        while let Some(answer) = asked.join_next().await {
            let Ok((group, people)) = answer else { continue };
            let (people, kept) = match people {
                Ok(people) => (Some(people), KEPT),
                Err(error) => {
                    tracing::warn!(%error, group, "could not read who administers a group");
                    (None, PAUSE)
                }
            };
            self.0.insert(group, Known { until: Instant::now() + kept, people });
        }
    }

    #[cfg(test)]
    pub(super) fn known(group: i64, people: &[u64]) -> Self {
        let people = Some(people.iter().copied().collect());
        Self(HashMap::from([(group, Known { until: Instant::now() + KEPT, people })]))
    }
}

async fn ask(api: &Api, group: i64) -> Result<HashSet<u64>, CallError> {
    let request = GetChatAdministrators::new(ChatId(group));
    let members: Vec<Member> = api.call_for(&request, PATIENCE).await?;
    Ok(members.into_iter().filter(|member| !member.user.is_bot).map(|member| member.user.id).collect())
}
