//! The server's state: waiting updates, sent messages, and faults to come.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::drafts::Draft;
use super::entities;
use super::form::Form;
use super::media;
use super::recording::Recording;
use super::signs::{Signs, check_markup, is_progress};
use super::webhook::Webhook;

const MAX_CAPTION_UNITS: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// 429, with the seconds to wait.
    RetryAfter(u64),
    /// 401: the token is wrong.
    Unauthorized,
    /// 409: another program polls with this token.
    Conflict,
    /// 400, for a reason other than the message.
    BadRequest,
    /// 500.
    ServerError,
    /// No response; the call has no effect.
    Silent,
    /// 403: the user has blocked the bot.
    Blocked,
    /// The call takes effect, but the connection closes before the response.
    Dropped,
    /// 500, with a JSON body as Telegram has it, or a proxy's page.
    ServerErrorPage,
    /// The call takes effect, but nothing is answered.
    Unanswered,
    /// 413: the server takes no such request.
    TooLarge,
    /// 429 without saying for how long.
    TooMany,
    /// No response to any call for the chat for this long; then it takes effect.
    Drips(Duration),
    /// 400: the group is a supergroup with this number now.
    Moved(i64),
}

/// One request for updates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poll {
    /// The address that was asked.
    pub host: String,
    pub from_ms: i64,
    /// None while it waits.
    pub until_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub chat_id: i64,
    /// The topic that it goes into.
    pub topic: Option<i64>,
    /// The method, in lower case.
    pub method: String,
    /// The text, caption or emoji.
    pub text: String,
    /// The entities of the text or caption; null without any.
    pub entities: Value,
    /// The message that is edited or reacted to.
    pub target: Option<i64>,
    /// The message that it quotes.
    pub answers: Option<i64>,
    pub file: Option<(String, Vec<u8>)>,
    /// The buttons below it; null without any.
    pub markup: Value,
    /// Whether it is a silent message with buttons, or an edit of one.
    pub is_progress: bool,
    /// Its album, and the type that it has there.
    pub album: Option<(String, String)>,
    /// Its number in the chat, or that of the message that is edited.
    pub number: i64,
    pub at: Instant,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    pub(super) arrived: Notify,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) waiting: VecDeque<(i64, Value)>,
    pub(super) confirmed: BTreeSet<i64>,
    pub(super) redelivered: Vec<Value>,
    pub(super) last_update_id: i64,
    pub(super) served: usize,
    pub(super) sent: Vec<Sent>,
    /// How many messages of people have a number of their own.
    pub(super) numbered: usize,
    pub(super) faults: Vec<(String, Fault)>,
    /// What happens to every call for a chat.
    pub(super) chat_faults: HashMap<i64, Fault>,
    /// The calls that are being answered, but for those for updates.
    pub(super) under_way: usize,
    pub(super) most_under_way: usize,
    pub(super) calls: Vec<(String, Instant)>,
    pub(super) polls: Vec<Poll>,
    pub(super) signs: Signs,
    pub(super) drafts: Vec<Draft>,
    /// The people who administer a group.
    pub(super) administrators: HashMap<i64, Vec<i64>>,
    /// What the bot set as its menus, by the chat, or for all, and by the language of the client, or for all
    /// others.
    pub(super) menus: HashMap<(Option<i64>, String), Value>,
    /// What the bot can fetch, by file ID.
    pub(super) files: HashMap<String, Vec<u8>>,
    pub(super) webhook: Webhook,
    /// Where all calls are written down, if anywhere.
    pub(super) recording: Option<Recording>,
    /// Whether the network is broken.
    pub(super) is_cut: bool,
    pub(super) holds_downloads: bool,
    pub(super) downloads: usize,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no handler panics")
    }
}

impl State {
    pub(super) fn begin(&mut self, method: &str, chat: Option<i64>) -> Option<Fault> {
        self.calls.push((method.to_owned(), Instant::now()));
        let once = self.faults.iter().position(|(name, _)| name == method);
        once.map(|index| self.faults.remove(index).1)
            .or_else(|| chat.and_then(|chat| self.chat_faults.get(&chat).copied()))
    }

    /// Adds an update with this ID; the next ones count on from it.
    pub(super) fn push(&mut self, id: i64, update: Value) {
        self.last_update_id = id;
        let update = with_id(id, update);
        if let Some(recording) = &mut self.recording {
            recording.update(&update);
        }
        self.waiting.push_back((id, update));
    }

    pub(super) fn updates(&mut self, parameters: &Value) -> Vec<Value> {
        let offset = parameters["offset"].as_i64().unwrap_or(0);
        let limit = parameters["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(100);
        let confirmed = self.waiting.iter().map(|(id, _)| *id).filter(|id| *id < offset);
        self.confirmed.extend(confirmed);
        self.waiting.retain(|(id, _)| *id >= offset);
        // Presses are served to those that ask for them.
        let asked = |update: &Value| {
            let kinds = parameters["allowed_updates"].as_array();
            update["callback_query"].is_null()
                || kinds.is_some_and(|kinds| kinds.contains(&"callback_query".into()))
        };
        let fresh = self.waiting.iter().map(|(_, update)| update.clone()).filter(asked);
        let updates: Vec<Value> = self.redelivered.drain(..).chain(fresh).take(limit).collect();
        self.served += updates.len();
        updates
    }

    /// The highest number so far. What is sent counts, whether it is a message or not.
    pub(super) fn last_number(&self) -> i64 {
        i64::try_from(self.sent.len() + self.numbered).unwrap_or(i64::MAX)
    }

    /// When a chat saw anything of the bot.
    pub(super) fn signs_in(&self, chat: i64) -> Vec<Instant> {
        let typing = self.signs.typing.iter().filter(|(of, _, _)| *of == chat).map(|(_, _, at)| *at);
        let drafts = self.drafts.iter().filter(|draft| draft.chat_id == chat).map(|draft| draft.at);
        let sent = self.sent.iter().filter(|sent| sent.chat_id == chat).map(|sent| sent.at);
        typing.chain(drafts).chain(sent).collect()
    }

    /// Records what the bot sends, or returns why Telegram would refuse it.
    pub(super) fn take(&mut self, method: &str, form: &Form) -> Result<Value, String> {
        let parameters = &form.parameters;
        let chat_id = parameters["chat_id"].as_i64().ok_or("Bad Request: chat not found")?;
        let target = parameters["message_id"].as_i64();
        let Content { text, file } = self.content(method, form)?;
        let markup = parameters["reply_markup"].clone();
        check_markup(&markup)?;
        if method.starts_with("editmessage") {
            self.check_edit(chat_id, target, &text, &markup)?;
        }
        let number = target.unwrap_or_else(|| self.next_number());
        let is_progress =
            is_progress(parameters) || self.sent.iter().any(|sent| sent.is_progress && sent.number == number);
        let topic = topic_of(parameters)?;
        self.sent.push(Sent {
            chat_id,
            topic,
            method: method.to_owned(),
            text,
            entities: entities_of(parameters),
            target,
            answers: parameters["reply_parameters"]["message_id"].as_i64(),
            file,
            markup,
            is_progress,
            album: None,
            number,
            at: Instant::now(),
        });
        Ok(if method == "setmessagereaction" { Value::Bool(true) } else { self.message(number) })
    }

    /// The number of the next message in any chat.
    pub(super) fn next_number(&self) -> i64 {
        self.last_number() + 1
    }

    /// What a method sends, if its form has it.
    fn content(&self, method: &str, form: &Form) -> Result<Content, String> {
        let parameters = &form.parameters;
        let (text, file) = match method {
            "senddocument" => (caption(parameters)?, Some(form.file("document").ok_or(NO_FILE)?)),
            "sendvoice" => (caption(parameters)?, Some(form.file("voice").ok_or(NO_FILE)?)),
            shown if media::shows(shown) => {
                let file = form.file(&method["send".len()..]).ok_or(NO_FILE)?;
                media::check(method, &file.1)?;
                (caption(parameters)?, Some(file))
            }
            "setmessagereaction" => (emoji(parameters)?, None),
            "editmessagereplymarkup" => {
                let edited = self.current(parameters["message_id"].as_i64());
                (edited.map(|sent| sent.text.clone()).unwrap_or_default(), None)
            }
            _ => (text(parameters)?, None),
        };
        Ok(Content { text, file })
    }

    /// Refuses to edit a message that is not there or would stay the same.
    fn check_edit(&self, chat: i64, target: Option<i64>, text: &str, markup: &Value) -> Result<(), String> {
        let is_known = |id: i64| {
            let is_it = |sent: &Sent| sent.chat_id == chat && sent.number == id && sent.target.is_none();
            self.sent.iter().any(is_it) && !self.signs.deleted.contains(&id)
        };
        if !target.is_some_and(is_known) {
            return Err("Bad Request: message to edit not found".to_owned());
        }
        if self.current(target).is_some_and(|sent| sent.text == text && sent.markup == *markup) {
            return Err(NOT_MODIFIED.to_owned());
        }
        Ok(())
    }

    /// A message as it is now. Its number is its position among everything that was sent.
    fn current(&self, number: Option<i64>) -> Option<&Sent> {
        let is_it = |sent: &&Sent| Some(sent.number) == number && sent.method != "setmessagereaction";
        self.sent.iter().rfind(is_it)
    }

    /// Removes a message.
    pub(super) fn delete(&mut self, parameters: &Value) -> Result<Value, String> {
        let number = parameters["message_id"].as_i64().unwrap_or_default();
        let chat = parameters["chat_id"].as_i64();
        let is_known = self.sent.iter().any(|sent| sent.number == number && Some(sent.chat_id) == chat);
        match is_known && self.signs.deleted.insert(number) {
            true => Ok(Value::Bool(true)),
            false => Err("Bad Request: message to delete not found".to_owned()),
        }
    }

    pub(super) fn visible_progress(&self, chat: i64) -> Vec<i64> {
        let of_chat = self.sent.iter().filter(|sent| sent.is_progress && sent.chat_id == chat);
        let sent = of_chat.filter(|sent| sent.method == "sendmessage").map(|sent| sent.number);
        sent.filter(|number| !self.signs.deleted.contains(number)).collect()
    }

    /// The message that was just sent, as an answer has it.
    pub(super) fn message(&self, message_id: i64) -> Value {
        let sent = self.sent.last().expect("it was just taken");
        let mut message = json!({
            "message_id": message_id, "date": protocol::now_ms() / 1000,
            "chat": {"id": sent.chat_id, "type": "private", "first_name": "Ada"},
            "from": {"id": 123_456, "is_bot": true, "first_name": "Fake", "username": "fake_bot"},
        });
        match sent.method.as_str() {
            "senddocument" => message["document"] = json!({"file_id": "f", "file_unique_id": "u"}),
            "sendvoice" => message["voice"] = json!({"file_id": "f", "file_unique_id": "u", "duration": 1}),
            shown if media::shows(shown) || shown == "sendmediagroup" => {}
            _ => message["text"] = json!(sent.text),
        }
        message
    }
}

const NOT_MODIFIED: &str = "Bad Request: message is not modified: specified new message content and reply \
    markup are exactly the same as a current content and reply markup of the message";
const NO_FILE: &str = "Bad Request: there is no file in the request";

/// What the bot sends: a text, caption or emoji, and a file.
struct Content {
    text: String,
    file: Option<(String, Vec<u8>)>,
}

/// The topic that a message goes into.
pub(super) fn topic_of(parameters: &Value) -> Result<Option<i64>, String> {
    match parameters["message_thread_id"].as_i64() {
        // The general topic, which takes no number.
        Some(1) => Err("Bad Request: message thread not found".to_owned()),
        topic => Ok(topic),
    }
}

/// The entities of a text, or else of a caption.
pub(super) fn entities_of(parameters: &Value) -> Value {
    let of_text = &parameters["entities"];
    let given = if of_text.is_null() { &parameters["caption_entities"] } else { of_text };
    given.clone()
}

/// A text of the bot; a preview of its links would make Telegram fetch them.
fn text(parameters: &Value) -> Result<String, String> {
    if parameters["link_preview_options"]["is_disabled"] != true {
        return Err("Bad Request: this test server refuses link previews".to_owned());
    }
    let text = parameters["text"].as_str().unwrap_or_default();
    entities::check(text, &parameters["entities"])?;
    Ok(text.to_owned())
}

pub(super) fn caption(parameters: &Value) -> Result<String, String> {
    let caption = parameters["caption"].as_str().unwrap_or_default();
    if caption.encode_utf16().count() > MAX_CAPTION_UNITS {
        return Err("Bad Request: message caption is too long".to_owned());
    }
    match &parameters["caption_entities"] {
        Value::Null => {}
        given if given.is_array() => entities::check(caption, given)?,
        _ => return Err("Bad Request: can't parse caption entities".to_owned()),
    }
    Ok(caption.to_owned())
}

/// Some of <https://core.telegram.org/bots/api#reactiontypeemoji>: a bot gives no others.
const REACTIONS: &str = "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 \
                         💔 🤨 😐 🍓 🍾 😈 😴 😭 🤓 👻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊";

/// The reaction; empty to take one away.
fn emoji(parameters: &Value) -> Result<String, &'static str> {
    const INVALID: &str = "Bad Request: REACTION_INVALID";
    match parameters["reaction"].as_array().map(Vec::as_slice) {
        Some([]) => Ok(String::new()),
        Some([one]) => {
            let emoji = one["emoji"].as_str().ok_or(INVALID)?;
            let is_known = REACTIONS.split_whitespace().any(|known| known == emoji);
            if is_known { Ok(emoji.to_owned()) } else { Err(INVALID) }
        }
        _ => Err(INVALID),
    }
}

pub(super) fn with_id(id: i64, mut update: Value) -> Value {
    update["update_id"] = id.into();
    update
}
