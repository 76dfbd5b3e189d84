//! What holds for every channel whose service pushes messages: each is taken through the same day, against
//! its service as tests play it.

mod fake;

use std::sync::Arc;
use std::time::Duration;

use channel::access::{GroupMembers, GroupTrigger};
use channel::content::StoredFiles;
use channel::{Channel, Channels, Chat, SendLimits};
use harness::fake_telegram::update::{Chat as Private, now_seconds};
use harness::fake_telegram::{FakeTelegram, Sent as SentByTelegram, TOKEN};
use process::Secret;
use protocol::MessageId;
use serde_json::json;
use settings::choices::Reactions;
use store::attempt;
use store::claim::{self, Claim, Claimed};
use store::fixture::{Fixture, done};
use store::inbox;
use telegram::{Telegram, TelegramSettings};
use texts::Language;
use tokio_util::sync::CancellationToken;

use super::pace::SharedPace;
use super::sender::send_queued;
use crate::approvals::follow::Asker;
use crate::approvals::words::tests::approval;
use crate::commands::COMMANDS;
use crate::reception::{Inbound, Reception};
use crate::words::Words;
use fake::PostOffice;

/// Of the messages that waited, at most so many are run in each chat, none older than this.
pub(super) const MOST: u32 = 2;
pub(super) const WINDOW: Duration = Duration::from_secs(600);
/// What is sent with shorter pauses is one task.
pub(super) const QUIET: Duration = Duration::from_secs(1);

const OWNER: &str = "4711";
const STRANGER: &str = "4712";

/// A message that the service got from the channel.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sent {
    pub(super) chat: String,
    pub(super) text: String,
    pub(super) message_id: MessageId,
    /// Their labels, and what a press of them says.
    pub(super) buttons: Vec<(String, String)>,
}

/// A service, as a test plays it: people write in their private chats.
pub(super) trait Service {
    /// The channel that speaks with it, for an owner.
    fn channel(&self, owner: &str, files: Arc<dyn StoredFiles>) -> Arc<dyn Channel>;
    fn say(&self, person: &str, text: &str, age_seconds: i64);
    /// Presses a button; returns the ID of the press.
    fn press(&self, person: &str, below: &MessageId, data: &str) -> String;
    fn sent(&self) -> Vec<Sent>;
    /// What somebody read after their press.
    fn answer_to(&self, press: &str) -> Option<String>;
}

struct Day<S> {
    service: S,
    fixture: Fixture,
    channel: Arc<dyn Channel>,
    channels: Channels,
    stop: CancellationToken,
}

impl<S: Service> Day<S> {
    /// Begins with what the service has for the channel.
    async fn begin(service: S) -> Self {
        let fixture = Fixture::new().await;
        let inbound = Inbound {
            store: fixture.store.clone(),
            run: fixture.run.clone(),
            cancel_signal: Default::default(),
            file_requests: Default::default(),
            models: Default::default(),
            current: Default::default(),
            board: Default::default(),
            approvals: None,
            files: None,
            files_came: Default::default(),
            overheard: Default::default(),
        };
        let channel = service.channel(OWNER, Arc::new(fixture.store.clone()));
        let (stop, pace) = (CancellationToken::new(), SharedPace::new(SendLimits::NONE));
        let reception = Reception::after_a_pause(Arc::clone(&channel), inbound).await;
        tokio::spawn(Arc::clone(&channel).receive(Box::new(reception), stop.clone()));
        let (store, words) = (fixture.store.clone(), Words::default());
        tokio::spawn(send_queued(Arc::clone(&channel), store, pace, words, stop.clone()));
        let channels = Channels::new([Arc::clone(&channel)]);
        Self { service, fixture, channel, channels, stop }
    }

    /// The first message to a chat that has this text, once it is there.
    async fn sent(&self, chat: &str, text: &str) -> Sent {
        let is_it = |sent: &Sent| sent.chat == chat && sent.text.contains(text);
        self.until(text, async || self.service.sent().into_iter().find(is_it)).await
    }

    /// Presses a button below a message, and reads the answer.
    async fn pressed(&self, person: &str, below: &Sent, data: &str, answer: &str) {
        let press = self.service.press(person, &below.message_id, data);
        let read = self.until(answer, async || self.service.answer_to(&press)).await;
        assert!(read.starts_with(answer), "{read}");
    }

    async fn until<T>(&self, what: &str, look: impl AsyncFn() -> Option<T>) -> T {
        for _ in 0..2000 {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{what:?} did not come: {:?}", self.service.sent());
    }

    /// The next task, once it is due.
    async fn claim(&self) -> Claimed {
        let claimed = async || {
            let run = self.fixture.run.clone();
            let claim = move |tx: &store::sql::Connection| claim::claim(tx, Duration::from_secs(60), &run);
            match self.fixture.store.write(claim).await.unwrap() {
                Claim::Task(task) => Some(*task),
                Claim::Exhausted(_) | Claim::Nothing { .. } => None,
            }
        };
        self.until("a task", claimed).await
    }

    async fn reply(&self, task: Claimed, reply: &str) {
        let (channels, ending) = (self.channels.clone(), done(reply));
        self.fixture.store.write(move |tx| attempt::end(tx, &channels, &task, &ending)).await.unwrap();
    }

    /// Of what waited, the newest messages are run, and the chat reads how many were not.
    async fn backlog(&self) {
        self.sent(OWNER, "While I was off, 2 messages came that I did not run.").await;
        for text in ["the third", "the fourth"] {
            let task = self.claim().await;
            assert_eq!((task.text.as_str(), task.chat.id.as_str()), (text, OWNER));
            self.reply(task, &format!("Done: {text}")).await;
            self.sent(OWNER, &format!("Done: {text}")).await;
        }
    }

    async fn commands(&self) {
        self.service.say(OWNER, "/whoami", 0);
        self.sent(OWNER, &format!("(ID {OWNER}).")).await;
        self.service.say(OWNER, "/cancel please", 0);
        self.sent(OWNER, "/cancel stops what I am doing").await;
        self.service.say(OWNER, "/retry", 0);
        self.sent(OWNER, "Running this again: “the second”").await;
        self.reply(self.claim().await, "Done at last").await;
    }

    /// What somebody sends in short succession is one task, but a command is none of it.
    async fn gathering(&self) {
        for text in ["in one", "and another", "/whoami", "alone"] {
            self.service.say(OWNER, text, 0);
        }
        for text in ["in one\n\nand another", "alone"] {
            let task = self.claim().await;
            assert_eq!(task.text, text);
            self.reply(task, "Done").await;
        }
    }

    /// A stranger is let in by the owner alone, and counts for themselves.
    async fn pairing(&self) {
        self.service.say(STRANGER, "hello", 0);
        self.sent(STRANGER, "supervisor pair").await;
        let question = self.sent(OWNER, "wants to use this bot").await;
        let (_, allow) = question.buttons[0].clone();
        self.pressed(STRANGER, &question, &allow, "Only the owner").await;
        self.pressed(OWNER, &question, &allow, "Allowed.").await;
        self.sent(STRANGER, "You may use this bot now").await;
        self.service.say(STRANGER, "hello again", 0);
        let task = self.claim().await;
        assert_eq!(task.text, "hello again");
        let id = task.id.clone();
        let origin = self.fixture.store.write(move |tx| inbox::origin(tx, &id)).await.unwrap().unwrap();
        assert_eq!(origin.from.unwrap().id.as_str(), STRANGER);
        let users = self
            .fixture
            .column::<String>("select distinct user_id from inbox where user_id <> '' order by 1")
            .await;
        let user = |person| format!("{}:{person}", self.channel.name());
        assert_eq!(users, [user(OWNER), user(STRANGER)]);
        // A button stops the task in its own chat.
        let stop = format!("stop:{}", task.id);
        self.pressed(OWNER, &question, &stop, "This has already ended.").await;
        self.pressed(STRANGER, &question, &stop, "Stopping.").await;
        self.reply(task, "Done").await;
    }

    /// The chat of the task is asked, and a press is kept until it is passed on.
    async fn approval(&self) {
        let (store, run) = (self.fixture.store.clone(), self.fixture.run.clone());
        let asker = Asker { store, channels: self.channels.clone(), run };
        let session = Chat::new(self.channel.name(), OWNER).session();
        let mut approval = approval(json!({"cmd": "git push"}), json!({"session": session}));
        asker.ask(&approval).await.unwrap();
        let question = self.sent(OWNER, "May I call bash").await;
        let (_, once) = question.buttons[0].clone();
        let outsider = "4713";
        self.pressed(outsider, &question, &once, "Only an approver").await;
        self.pressed(OWNER, &question, &once, "").await;
        let kept = "select choice || ' ' || substr(decided_by, -9) from decisions";
        assert_eq!(self.fixture.column::<String>(kept).await, [format!("o (ID {OWNER})")]);
        approval.state = toolkit::approvals::ApprovalState::Expired;
        asker.close(&approval).await.unwrap();
        self.sent(OWNER, "Nobody decided in time").await;
    }
}

async fn every_channel_has_such_a_day(service: impl Service) {
    for (text, age_seconds) in
        [("the first", 9000), ("the second", 30), ("the third", 20), ("the fourth", 10)]
    {
        service.say(OWNER, text, age_seconds);
    }
    let day = Day::begin(service).await;
    day.backlog().await;
    day.commands().await;
    day.gathering().await;
    day.pairing().await;
    day.approval().await;
    day.stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_channel() {
    every_channel_has_such_a_day(Arc::<PostOffice>::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn telegram() {
    every_channel_has_such_a_day(FakeTelegram::start()).await;
}

fn private(person: &str) -> Private {
    Private { id: person.parse().unwrap() }
}

impl Service for FakeTelegram {
    fn channel(&self, owner: &str, files: Arc<dyn StoredFiles>) -> Arc<dyn Channel> {
        let owner = owner.parse().unwrap();
        let settings = TelegramSettings {
            token: Secret::from(TOKEN),
            api_url: Some(self.url().parse().unwrap()),
            webhook: None,
            allowed_chats: Default::default(),
            allowed_users: [owner].into(),
            approvers: None,
            owner: Some(owner),
            group_members: GroupMembers::Admins,
            group_trigger: GroupTrigger::Mention,
            reactions: Reactions::Off,
            gather: QUIET,
            pending_window: WINDOW,
            pending_max: MOST,
            language: Language::English,
        };
        Arc::new(Telegram::new(Some(&settings), None, files, &COMMANDS).unwrap())
    }

    fn say(&self, person: &str, text: &str, age_seconds: i64) {
        self.push(private(person).text_at(text, now_seconds() - age_seconds));
    }

    fn press(&self, person: &str, below: &MessageId, data: &str) -> String {
        let number = below.as_str().parse().unwrap();
        FakeTelegram::press(self, private(person), person.parse().unwrap(), number, data)
    }

    fn sent(&self) -> Vec<Sent> {
        let sent = |sent: SentByTelegram| Sent {
            chat: sent.chat_id.to_string(),
            text: sent.text.clone(),
            message_id: sent.number.into(),
            buttons: sent.buttons(),
        };
        FakeTelegram::sent(self).into_iter().map(sent).collect()
    }

    fn answer_to(&self, press: &str) -> Option<String> {
        FakeTelegram::answer_to(self, press)
    }
}
