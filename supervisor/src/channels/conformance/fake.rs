//! A further channel, which exists in tests only: all that a channel is, in one file.
//!
//! Its service is a list of letters that people write, in which the channel remembers its place.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use channel::access::{Access, AccessRules, GroupMembers, GroupTrigger};
use channel::content::StoredFiles;
use channel::update::{Incoming, Kind, Press, PressAnswer, Update};
use channel::update_sink::UpdateSink;
use channel::{
    BacklogLimits, BoxFuture, Channel, ChannelName, Chat, Content, Delivery, Outgoing, Rejection, SendOutcome,
};
use protocol::{MessageId, Origin, ReplyFormat, Sender, now_ms};
use texts::Language;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{MOST, QUIET, Sent, Service, WINDOW};

const NAME: ChannelName = ChannelName::new("post");

/// A letter, or a press of a button below one of ours.
#[derive(Clone)]
enum Letter {
    Text { from: String, text: String, sent_at: i64 },
    Press { from: String, below: MessageId, data: String },
}

/// The service that the channel speaks with.
#[derive(Default)]
pub(super) struct PostOffice {
    letters: Mutex<Vec<Letter>>,
    arrived: Notify,
    sent: Mutex<Vec<Sent>>,
    answers: Mutex<HashMap<String, String>>,
}

impl PostOffice {
    /// Returns the ID of the letter.
    fn bring(&self, letter: Letter) -> String {
        let mut letters = self.letters.lock().unwrap();
        letters.push(letter);
        self.arrived.notify_one();
        id(letters.len() - 1)
    }
}

impl Service for Arc<PostOffice> {
    fn channel(&self, owner: &str, _: Arc<dyn StoredFiles>) -> Arc<dyn Channel> {
        let access = Access::new(AccessRules {
            chats: BTreeSet::new(),
            users: BTreeSet::from([owner.to_owned()]),
            approvers: None,
            owner: Some(owner.to_owned()),
            group_members: GroupMembers::Listed,
            group_trigger: GroupTrigger::Mention,
            is_group: |_| false,
            is_open: false,
        });
        Arc::new(Post { office: Arc::clone(self), access })
    }

    fn say(&self, person: &str, text: &str, age_seconds: i64) {
        let sent_at = now_ms() / 1000 - age_seconds;
        self.bring(Letter::Text { from: person.to_owned(), text: text.to_owned(), sent_at });
    }

    fn press(&self, person: &str, below: &MessageId, data: &str) -> String {
        self.bring(Letter::Press { from: person.to_owned(), below: below.clone(), data: data.to_owned() })
    }

    fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }

    fn answer_to(&self, press: &str) -> Option<String> {
        self.answers.lock().unwrap().get(press).cloned()
    }
}

/// The channel; the first attempt to send anything fails.
struct Post {
    office: Arc<PostOffice>,
    access: Access,
}

impl Channel for Post {
    fn name(&self) -> ChannelName {
        NAME
    }

    fn delivery(&self) -> Delivery {
        Delivery::Push
    }

    fn access(&self) -> &Access {
        &self.access
    }

    fn backlog(&self) -> Option<BacklogLimits> {
        Some(BacklogLimits { window: WINDOW, most: MOST })
    }

    fn quiet_time(&self) -> Duration {
        QUIET
    }

    fn receive(
        self: Arc<Self>,
        mut sink: Box<dyn UpdateSink>,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            while !stop.is_cancelled() {
                let position = sink.position().await.unwrap().map_or(0, |at| at.parse().unwrap());
                let letters = self.office.letters.lock().unwrap()[position..].to_vec();
                let next = (position + letters.len()).to_string();
                let updates = (position..).zip(letters).map(update).collect();
                sink.store(updates, Some(next), true).await.unwrap();
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = self.office.arrived.notified() => {}
                }
            }
        })
    }

    fn decorate(&self, reply: &str, _: ReplyFormat, _: Language) -> Vec<Content> {
        reply.lines().map(|line| Content::Text(format!("» {line}"))).collect()
    }

    fn prepare(&self, _: &str, content: Content) -> Result<Vec<Content>, Rejection> {
        Ok(vec![content])
    }

    fn send<'a>(&'a self, outgoing: Outgoing<'a>) -> BoxFuture<'a, SendOutcome> {
        let Outgoing { chat_id, content, attempt, .. } = outgoing;
        if attempt == 1 {
            let error = "the office is closed".to_owned();
            return Box::pin(std::future::ready(SendOutcome::Retry {
                error,
                pause: Duration::ZERO,
                is_unanswered: false,
            }));
        }
        let mut sent = self.office.sent.lock().unwrap();
        let message_id = MessageId::from(format!("letter {}", sent.len()));
        let buttons = content.buttons().unwrap_or_default().concat();
        let buttons = buttons.into_iter().map(|button| (button.label, button.data)).collect();
        let (chat, text) = (chat_id.to_owned(), content.text().to_owned());
        sent.push(Sent { chat, text, message_id: message_id.clone(), buttons });
        Box::pin(std::future::ready(SendOutcome::Sent { message_ids: vec![message_id] }))
    }

    fn answer(&self, answer: PressAnswer) -> BoxFuture<'_, ()> {
        self.office.answers.lock().unwrap().insert(answer.press_id, answer.words);
        Box::pin(std::future::ready(()))
    }
}

fn update((number, letter): (usize, Letter)) -> Update {
    let sender =
        |id: &str| Sender { id: id.to_owned().into(), name: "Ada".to_owned(), username: None, is_bot: false };
    let id = id(number);
    match letter {
        Letter::Text { from, text, sent_at } => Update {
            id: Some(id),
            chat: Chat::new(NAME, &from),
            message_id: Some(format!("theirs {number}").into()),
            kind: Kind::Message(Box::new(Incoming {
                origin: Some(Origin { from: Some(sender(&from)), ..Origin::default() }),
                ..Incoming::text(&text, sent_at)
            })),
        },
        Letter::Press { from, below, data } => Update {
            id: Some(id.clone()),
            chat: Chat::new(NAME, &from),
            message_id: Some(below),
            kind: Kind::Press(Press { id, by: sender(&from), data, client_language: None }),
        },
    }
}

fn id(number: usize) -> String {
    format!("no. {number}")
}
