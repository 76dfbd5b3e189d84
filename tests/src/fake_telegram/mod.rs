//! A fake Telegram server: long polling with confirmed offsets, recorded messages, and faults on request.
//!
//! Like the real server, it accepts method names in any case and serves an update again until a later
//! `offset` confirms it.

mod albums;
mod answers;
mod buttons;
mod deliveries;
mod drafts;
pub mod entities;
mod files;
mod form;
mod media;
mod methods;
mod polls;
mod recording;
mod signs;
mod state;
pub mod update;
mod webhook;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{any, get};
use serde_json::{Value, json};

use crate::serving::{ANY_PORT, Serving};
use crate::wait;

pub use drafts::Draft;
use recording::Recording;
pub use state::{Fault, Poll, Sent};
use state::{Shared, with_id};

pub const TOKEN: &str = "123456:FAKE-token-of-a-fake-bot";

#[derive(Debug)]
pub struct FakeTelegram {
    shared: Arc<Shared>,
    serving: Serving,
}

impl FakeTelegram {
    pub fn start() -> Self {
        Self::start_at(ANY_PORT)
    }

    pub fn start_at(address: SocketAddr) -> Self {
        let shared = Arc::new(Shared::default());
        shared.lock().recording = Recording::begin();
        let router = Router::new()
            .route("/{bot}/{method}", any(methods::answer))
            .route("/file/{bot}/{*path}", get(files::send))
            // What Telegram takes of a bot in one request.
            .layer(DefaultBodyLimit::max(50 << 20))
            .with_state(Arc::clone(&shared));
        Self { shared, serving: Serving::start_at(address, router) }
    }

    pub fn address(&self) -> SocketAddr {
        self.serving.address
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Adds an update with the next ID, and returns the ID.
    pub fn push(&self, update: Value) -> i64 {
        // Under one lock: no two updates may get one ID.
        let mut state = self.shared.lock();
        let id = if state.last_update_id == 0 { 700_000 } else { state.last_update_id + 1 };
        state.push(id, update);
        drop(state);
        self.shared.arrived.notify_waiters();
        id
    }

    /// Adds an update with this ID; the next ones count on from it.
    pub fn push_as(&self, id: i64, update: Value) {
        self.shared.lock().push(id, update);
        self.shared.arrived.notify_waiters();
    }

    /// Adds a file that the bot can fetch by this ID.
    pub fn add_file(&self, id: &str, content: impl Into<Vec<u8>>) {
        self.shared.lock().files.insert(id.to_owned(), content.into());
    }

    /// Makes every download stop in the middle until it is allowed to go on.
    pub fn hold_downloads(&self, hold: bool) {
        self.shared.lock().holds_downloads = hold;
        self.shared.arrived.notify_waiters();
    }

    /// Breaks the network, or mends it: meanwhile no call has an answer or an effect.
    pub fn cut(&self, is_cut: bool) {
        self.shared.lock().is_cut = is_cut;
        self.shared.arrived.notify_waiters();
    }

    /// How many downloads have begun.
    pub fn downloads(&self) -> usize {
        self.shared.lock().downloads
    }

    /// Serves a confirmed update once more, as after a failover.
    pub fn redeliver(&self, id: i64, update: Value) {
        self.shared.lock().redelivered.push(with_id(id, update));
        self.shared.arrived.notify_waiters();
    }

    /// Makes the next call of `method` (in any case) fail with `fault`. Progress messages are `sendProgress`.
    pub fn fail(&self, method: &str, fault: Fault) {
        self.shared.lock().faults.push((method.to_ascii_lowercase(), fault));
    }

    /// What happens to every call for `chat` from now on, if anything.
    pub fn fail_chat(&self, chat: i64, fault: Option<Fault>) {
        let mut state = self.shared.lock();
        match fault {
            Some(fault) => state.chat_faults.insert(chat, fault),
            None => state.chat_faults.remove(&chat),
        };
    }

    /// Makes these people administrators of a group.
    pub fn administer(&self, group: i64, people: &[i64]) {
        self.shared.lock().administrators.insert(group, people.to_vec());
    }

    /// The commands in the menu of a chat with one person, for a client in no language of the bot.
    pub fn menu_of(&self, chat: i64) -> Vec<String> {
        let menus = &self.shared.lock().menus;
        let menu = [Some(chat), None].iter().find_map(|chat| menus.get(&(*chat, String::new())));
        menu.map(listed).unwrap_or_default().into_iter().map(|(command, _)| command).collect()
    }

    /// The commands in the menu of all chats for clients in this language, with their summaries.
    pub fn menu_in(&self, language: &str) -> Vec<(String, String)> {
        let menus = &self.shared.lock().menus;
        menus.get(&(None, language.to_owned())).map(listed).unwrap_or_default()
    }

    /// The most calls that were answered at the same time, without those for updates.
    pub fn most_under_way(&self) -> usize {
        self.shared.lock().most_under_way
    }

    pub fn faults_left(&self) -> usize {
        self.shared.lock().faults.len()
    }

    /// What was sent, but for progress messages.
    pub fn sent(&self) -> Vec<Sent> {
        self.sent_that(|sent| !sent.is_progress)
    }

    /// Of all that was sent, what a test looks for.
    pub fn sent_that(&self, is_wanted: impl Fn(&Sent) -> bool) -> Vec<Sent> {
        self.shared.lock().sent.iter().filter(|sent| is_wanted(sent)).cloned().collect()
    }

    /// The number for a message of a person, behind all that were sent before.
    pub fn next_number(&self) -> i64 {
        let mut state = self.shared.lock();
        state.numbered += 1;
        state.last_number()
    }

    /// When a chat saw anything of the bot: a message, an edit, a reaction, a draft or typing.
    pub fn signs(&self, chat: i64) -> Vec<Instant> {
        self.shared.lock().signs_in(chat)
    }

    /// Progress messages and their edits, in the order in which they came.
    pub fn progress(&self) -> Vec<Sent> {
        self.sent_that(|sent| sent.is_progress)
    }

    /// The drafts that were shown, in the order in which they came.
    pub fn drafts(&self) -> Vec<Draft> {
        self.shared.lock().drafts.clone()
    }

    /// The numbers of the progress messages of a chat that are seen.
    pub fn visible_progress(&self, chat: i64) -> Vec<i64> {
        self.shared.lock().visible_progress(chat)
    }

    /// When a chat was shown typing.
    pub fn typing(&self, chat: i64) -> Vec<Instant> {
        let state = self.shared.lock();
        state.signs.typing.iter().filter(|(of, _, _)| *of == chat).map(|(_, _, at)| *at).collect()
    }

    /// How often a topic was shown typing; none is the general one.
    pub fn typing_in(&self, chat: i64, topic: Option<i64>) -> usize {
        let state = self.shared.lock();
        state.signs.typing.iter().filter(|(of, in_topic, _)| (*of, *in_topic) == (chat, topic)).count()
    }

    /// `user` presses a button of the bot's message; returns the ID of the press.
    pub fn press(&self, chat: update::Chat, user: i64, message_id: i64, data: &str) -> String {
        let mut state = self.shared.lock();
        let id = format!("press-{}", state.signs.presses.len());
        state.signs.presses.insert(id.clone(), None);
        let topic = state.sent.iter().find(|sent| sent.number == message_id).and_then(|sent| sent.topic);
        drop(state);
        let date = protocol::now_ms() / 1000;
        let mut message = json!({"message_id": message_id, "date": date, "chat": chat.json(), "text": "…"});
        if let Some(topic) = topic {
            message["message_thread_id"] = topic.into();
            message["is_topic_message"] = true.into();
        }
        self.push(signs::press(&id, user, &message, data));
        id
    }

    /// The answer to somebody's press on a button.
    pub fn answer_to(&self, press: &str) -> Option<String> {
        self.shared.lock().signs.presses.get(press).cloned().flatten()
    }

    /// Shows a message once more, as after a send whose answer was lost. Returns the new one's number.
    pub fn send_again(&self, number: i64) -> i64 {
        let mut state = self.shared.lock();
        let new = state.next_number();
        let first = state.sent.iter().find(|sent| sent.number == number).expect("it was sent").clone();
        state.sent.push(Sent { number: new, ..first });
        new
    }

    /// The number of updates served, including repeated ones.
    pub fn served(&self) -> usize {
        self.shared.lock().served
    }

    /// The number of unconfirmed updates.
    pub fn unconfirmed(&self) -> usize {
        self.shared.lock().waiting.len()
    }

    /// The confirmed updates, which the server does not serve again by itself.
    pub fn confirmed(&self) -> BTreeSet<i64> {
        self.shared.lock().confirmed.clone()
    }

    pub fn requests(&self) -> usize {
        self.shared.lock().calls.len()
    }

    pub fn calls(&self, method: &str) -> Vec<Instant> {
        let method = method.to_ascii_lowercase();
        self.shared.lock().calls.iter().filter(|(name, _)| *name == method).map(|(_, at)| *at).collect()
    }

    /// Waits until the bot has sent `count` messages, and returns all of them.
    pub fn wait_for_sent(&self, count: usize) -> Vec<Sent> {
        wait::until(&format!("the bot has sent {count} messages"), || {
            Some(self.sent()).filter(|sent| sent.len() >= count)
        })
    }
}

pub fn texts(sent: &[Sent]) -> Vec<&str> {
    sent.iter().map(|message| message.text.as_str()).collect()
}

/// The commands of a menu, with their summaries.
fn listed(menu: &Value) -> Vec<(String, String)> {
    let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
    let commands = menu.as_array().map(Vec::as_slice).unwrap_or_default();
    commands.iter().map(|command| (text(&command["command"]), text(&command["description"]))).collect()
}
