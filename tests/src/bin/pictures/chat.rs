//! A chat as it stands now: what people wrote, and what the bot's messages say after all edits.

use std::time::{Duration, Instant};

use harness::FakeTelegram;
use harness::fake_telegram::Sent;
use harness::fake_telegram::update::Chat;
use serde_json::{Value, json};

/// A bubble and its content.
#[derive(Debug, Clone)]
pub(crate) struct Bubble {
    pub(crate) number: i64,
    pub(crate) at: Instant,
    /// Who wrote it; none for the bot.
    pub(crate) by: Option<&'static str>,
    pub(crate) text: String,
    pub(crate) entities: Value,
    /// Rows of buttons: what each says.
    pub(crate) buttons: Vec<Vec<String>>,
    /// A file: its name and what it is.
    pub(crate) file: Option<(String, Vec<u8>)>,
    /// The number of the message that it quotes.
    pub(crate) answers: Option<i64>,
    pub(crate) reaction: String,
    pub(crate) is_draft: bool,
}

/// A chat and who writes in it.
#[derive(Debug)]
pub(crate) struct Scene<'a> {
    pub(crate) telegram: &'a FakeTelegram,
    pub(crate) chat: Chat,
    pub(crate) language: &'static str,
    people: Vec<Bubble>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(telegram: &'a FakeTelegram, chat: i64, language: &'static str) -> Self {
        Self { telegram, chat: Chat { id: chat }, language, people: Vec::new() }
    }

    /// Somebody writes this; returns the message's number.
    pub(crate) fn say(&mut self, by: (&'static str, i64), text: &str) -> i64 {
        self.send(by, text, &json!({"text": text}), None)
    }

    /// Somebody sends a message with these fields, which looks like this.
    pub(crate) fn send(
        &mut self,
        (name, id): (&'static str, i64),
        text: &str,
        fields: &Value,
        file: Option<(&str, &[u8])>,
    ) -> i64 {
        let number = self.telegram.next_number();
        let mut update = self.chat.with(fields);
        let language = self.language;
        update["message"]["message_id"] = number.into();
        update["message"]["from"] =
            json!({"id": id, "is_bot": false, "first_name": name, "language_code": language});
        if self.chat.id < 0 {
            update["message"]["chat"]["title"] = "Family".into();
        }
        let file = file.map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
        self.people.push(Bubble {
            number,
            at: Instant::now(),
            by: Some(name),
            text: text.to_owned(),
            entities: Value::Null,
            buttons: Vec::new(),
            file,
            answers: None,
            reaction: String::new(),
            is_draft: false,
        });
        self.telegram.push(update);
        number
    }

    /// Everything that is seen now, in order.
    pub(crate) fn bubbles(&self) -> Vec<Bubble> {
        let (chat, telegram) = (self.chat.id, self.telegram);
        let mut bubbles = self.people.clone();
        let progress = telegram.visible_progress(chat);
        for sent in telegram.sent_that(|sent| sent.chat_id == chat) {
            match sent.target {
                None if sent.is_progress && !progress.contains(&sent.number) => {}
                None => bubbles.push(bubble(&sent)),
                Some(target) => {
                    let target = bubbles.iter_mut().find(|bubble| bubble.number == target);
                    target.into_iter().for_each(|bubble| change(bubble, &sent));
                }
            }
        }
        bubbles
            .extend(self.draft(bubbles.iter().filter(|bubble| bubble.by.is_none()).map(|one| one.at).max()));
        bubbles.sort_by_key(|bubble| bubble.at);
        bubbles
    }

    pub(crate) fn is_typing(&self) -> bool {
        let typing = self.telegram.typing(self.chat.id);
        typing.iter().any(|at| at.elapsed() < Duration::from_secs(5))
    }

    /// The draft that no message has replaced.
    fn draft(&self, last_message: Option<Instant>) -> Option<Bubble> {
        let drafts = self.telegram.drafts();
        let draft = drafts.iter().rfind(|draft| draft.chat_id == self.chat.id)?;
        let is_replaced = last_message.is_some_and(|at| at > draft.at);
        (!is_replaced).then(|| Bubble {
            number: 0,
            at: draft.at,
            by: None,
            text: draft.text.clone(),
            entities: draft.entities.clone(),
            buttons: Vec::new(),
            file: None,
            answers: None,
            reaction: String::new(),
            is_draft: true,
        })
    }
}

fn bubble(sent: &Sent) -> Bubble {
    Bubble {
        number: sent.number,
        at: sent.at,
        by: None,
        text: sent.text.clone(),
        entities: sent.entities.clone(),
        buttons: rows(&sent.markup),
        file: sent.file.clone(),
        answers: sent.answers,
        reaction: String::new(),
        is_draft: false,
    }
}

/// Applies an edit or a reaction.
fn change(bubble: &mut Bubble, sent: &Sent) {
    if sent.method == "setmessagereaction" {
        bubble.reaction.clone_from(&sent.text);
        return;
    }
    bubble.buttons = rows(&sent.markup);
    if sent.method == "editmessagetext" {
        (bubble.text, bubble.entities) = (sent.text.clone(), sent.entities.clone());
    }
}

fn rows(markup: &Value) -> Vec<Vec<String>> {
    let rows = markup["inline_keyboard"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |button: &Value| button["text"].as_str().unwrap_or_default().to_owned();
    rows.iter().map(|row| row.as_array().into_iter().flatten().map(text).collect()).collect()
}
