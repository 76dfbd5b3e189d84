//! Who administers the groups, kept for a minute.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use protocol::PersonId;
use serde::Deserialize;
use teloxide::payloads::GetChatAdministrators;
use teloxide::types::{ChatId, UserId};
use tokio::sync::Mutex;

use super::api::{Api, CallError};

/// Somebody who is no administrator any more is obeyed for at most this long.
const KEPT: Duration = Duration::from_secs(60);
/// How soon Telegram is asked again that did not answer.
const PAUSE: Duration = Duration::from_secs(5);
/// How long it may take: the messages of all other chats wait for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// The administrators of the groups, as far as they were asked for.
#[derive(Debug, Default)]
pub(super) struct Administrators(Mutex<HashMap<ChatId, Known>>);

#[derive(Debug)]
struct Known {
    until: Instant,
    /// None if Telegram did not say.
    people: Option<HashSet<PersonId>>,
}

/// The fields that are read of an administrator.
#[derive(Deserialize)]
struct Member {
    user: User,
}

#[derive(Deserialize)]
struct User {
    id: UserId,
    is_bot: bool,
}

impl Administrators {
    /// The people who administer a group; none if that is not known.
    pub(super) async fn of(&self, api: &Api, group: ChatId) -> Option<HashSet<PersonId>> {
        let now = Instant::now();
        let mut known = self.0.lock().await;
        known.retain(|_, known| known.until > now);
        if let Some(known) = known.get(&group) {
            return known.people.clone();
        }
        // Other groups are asked meanwhile.
        drop(known);
        let (people, kept) = match ask(api, group).await {
            Ok(people) => (Some(people), KEPT),
            Err(error) => {
                tracing::warn!(%error, group = group.0, "could not read who administers a group");
                (None, PAUSE)
            }
        };
        let known = Known { until: Instant::now() + kept, people: people.clone() };
        self.0.lock().await.insert(group, known);
        people
    }
}

async fn ask(api: &Api, group: ChatId) -> Result<HashSet<PersonId>, CallError> {
    let members: Vec<Member> = api.call_for(&GetChatAdministrators::new(group), PATIENCE).await?;
    let people = members.into_iter().filter(|member| !member.user.is_bot);
    Ok(people.map(|member| member.user.id.to_string().into()).collect())
}
