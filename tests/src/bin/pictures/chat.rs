//! A chat as it stands now: what people wrote, and what the bot's messages say after all edits.

use std::time::{Duration, Instant};

use harness::fake_telegram::Sent;
use harness::fake_telegram::update::Chat;
use harness::{FakeTelegram, wait};
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
    /// Each file's name, and what it is.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// Messages with one name are shown as one.
    album: Option<String>,
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
    /// What was sent before is not in the picture.
    begun: Instant,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(telegram: &'a FakeTelegram, chat: i64, language: &'static str) -> Self {
        Self { telegram, chat: Chat { id: chat }, language, people: Vec::new(), begun: Instant::now() }
    }

    /// Somebody writes this; returns the message's number.
    pub(crate) fn say(&mut self, by: (&'static str, i64), text: &str) -> i64 {
        self.send(by, text, &json!({"text": text}), &[])
    }

    /// Somebody passes on what another person wrote.
    pub(crate) fn forward(&mut self, by: (&'static str, i64), writer: &str, text: &str) -> i64 {
        let origin = json!({"type": "hidden_user", "sender_user_name": writer, "date": 1});
        let shown = format!("Forwarded from {writer}\n{text}");
        self.send(by, &shown, &json!({"text": text, "forward_origin": origin}), &[])
    }

    /// Somebody sends pictures together, with a text below them.
    pub(crate) fn album(&mut self, by: (&'static str, i64), text: &str, pictures: &[(&str, &[u8])]) {
        let mut first = None;
        for (name, bytes) in pictures {
            self.telegram.add_file(name, *bytes);
            let mut size = json!({"file_id": name, "file_unique_id": name, "width": 390, "height": 400});
            size["file_size"] = bytes.len().into();
            let caption = if first.is_none() { text } else { "" };
            let fields = json!({"photo": [size], "caption": caption, "media_group_id": text});
            first.get_or_insert(self.push(by, &fields));
        }
        self.people.extend(first.map(|number| Self::written(number, by.0, text, pictures)));
    }

    /// Somebody sends a message with these fields, which looks like this.
    pub(crate) fn send(
        &mut self,
        by: (&'static str, i64),
        text: &str,
        fields: &Value,
        files: &[(&str, &[u8])],
    ) -> i64 {
        let number = self.push(by, fields);
        self.people.push(Self::written(number, by.0, text, files));
        number
    }

    fn written(number: i64, by: &'static str, text: &str, files: &[(&str, &[u8])]) -> Bubble {
        let files = files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
        Bubble { by: Some(by), files, ..Bubble::new(number, Instant::now(), text) }
    }

    fn push(&self, (name, id): (&'static str, i64), fields: &Value) -> i64 {
        let number = self.telegram.next_number();
        let mut update = self.chat.with(fields);
        let language = self.language;
        update["message"]["message_id"] = number.into();
        update["message"]["from"] =
            json!({"id": id, "is_bot": false, "first_name": name, "language_code": language});
        if self.chat.id < 0 {
            update["message"]["chat"]["title"] = "Family".into();
        }
        self.telegram.push(update);
        number
    }

    /// Waits for a message of the bot.
    pub(crate) fn message(&self, what: &str, is_it: impl Fn(&Sent) -> bool) -> Sent {
        let is_message = |sent: &Sent| {
            sent.chat_id == self.chat.id && sent.at > self.begun && sent.target.is_none() && !sent.is_progress
        };
        let found = || self.telegram.sent_that(|sent| is_message(sent) && is_it(sent)).into_iter().next();
        wait::until(what, found)
    }

    /// Waits for a progress message that says this.
    pub(crate) fn progress(&self, says: &str) {
        let says_so = |bubble: &Bubble| bubble.by.is_none() && bubble.text.contains(says);
        wait::until_true("there is progress", || self.bubbles().iter().any(says_so));
    }

    /// Waits until all tasks have the reaction of those that are answered, and no progress is shown.
    pub(crate) fn settle(&self) {
        wait::until_true("all is marked as answered", || {
            let bubbles = self.bubbles();
            let reactions: Vec<&str> = bubbles.iter().map(|bubble| &*bubble.reaction).collect();
            reactions.contains(&"👌")
                && reactions.iter().all(|reaction| ["", "👌"].contains(reaction))
                && self.telegram.visible_progress(self.chat.id).is_empty()
        });
    }

    /// Everything that is seen now, in order.
    pub(crate) fn bubbles(&self) -> Vec<Bubble> {
        let (chat, telegram) = (self.chat.id, self.telegram);
        let mut bubbles = self.people.clone();
        let progress = telegram.visible_progress(chat);
        for sent in telegram.sent_that(|sent| sent.chat_id == chat && sent.at > self.begun) {
            let album = sent.album.as_ref().map(|(album, _)| album.clone());
            match sent.target {
                None if sent.is_progress && !progress.contains(&sent.number) => {}
                None => match bubbles.iter_mut().find(|one| album.is_some() && one.album == album) {
                    Some(before) => before.files.extend(sent.file),
                    None => bubbles.push(bubble(&sent, album)),
                },
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
        let draft = drafts.iter().rfind(|draft| draft.chat_id == self.chat.id && draft.at > self.begun)?;
        let is_replaced = last_message.is_some_and(|at| at > draft.at);
        let bubble = Bubble::new(0, draft.at, &draft.text);
        (!is_replaced).then(|| Bubble { entities: draft.entities.clone(), is_draft: true, ..bubble })
    }
}

impl Bubble {
    /// One of the bot's with a text alone.
    fn new(number: i64, at: Instant, text: &str) -> Self {
        Self {
            number,
            at,
            by: None,
            text: text.to_owned(),
            entities: Value::Null,
            buttons: Vec::new(),
            files: Vec::new(),
            album: None,
            answers: None,
            reaction: String::new(),
            is_draft: false,
        }
    }
}

fn bubble(sent: &Sent, album: Option<String>) -> Bubble {
    Bubble {
        entities: sent.entities.clone(),
        buttons: rows(&sent.markup),
        files: sent.file.iter().cloned().collect(),
        album,
        answers: sent.answers,
        ..Bubble::new(sent.number, sent.at, &sent.text)
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
