//! What a message says to the bot and brings: its text, what else it says put into words, and its files.

use channel::attachment::Attachment;
use teloxide::types::{FileMeta, Message, PhotoSize};

/// What Telegram gives out to a bot (<https://core.telegram.org/bots/api#getfile>).
pub(super) const MAX_FILE_BYTES: u64 = 20 * 1024 * 1024;

/// How much of a message that somebody replies to is repeated.
const MAX_QUOTED_CHARS: usize = 2000;

/// The content of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct MessageContent {
    pub(super) text: String,
    pub(super) files: Vec<Attachment>,
    /// The album that it is a part of.
    pub(super) album: Option<String>,
}

impl MessageContent {
    pub(super) fn of(message: &Message, bot: &Identity) -> Self {
        let mut files = files_of(message);
        let mut parts: Vec<String> = message.reply_to_message().and_then(in_reply_to).into_iter().collect();
        if let Some(quote) = message.quote() {
            parts.push(format!("[Quoted from it: {:?}]", shortened(&quote.text)));
        }
        // The message to the bot, without its name in front.
        parts.extend(bot.addressed(text_of(message)).filter(|text| !text.is_empty()));
        parts.extend(in_words(message));
        if let Some(replied) = message.reply_to_message() {
            files.extend(files_of(replied));
        }
        Self { text: parts.join("\n\n"), files, album: message.media_group_id().map(|album| album.0.clone()) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.files.is_empty()
    }
}

pub(super) fn text_of(message: &Message) -> &str {
    message.text().or_else(|| message.caption()).unwrap_or_default()
}

fn in_reply_to(replied: &Message) -> Option<String> {
    let mut said: Vec<String> = replied.text().or(replied.caption()).map(shortened).into_iter().collect();
    said.extend(in_words(replied));
    let said = said.join(" ");
    // A message of a topic replies to the notice that began the topic, which says nothing.
    (!said.is_empty()).then(|| {
        let who = replied.from.as_ref().map_or_else(|| "a message".to_owned(), |user| user.full_name());
        format!("[In reply to {who:?}: {said:?}]")
    })
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What a message without a text says.
fn in_words(message: &Message) -> Option<String> {
    if let Some(venue) = message.venue() {
        let (title, address, place) = (&venue.title, &venue.address, &venue.location);
        let (latitude, longitude) = (place.latitude, place.longitude);
        return Some(format!(
            "[Place: {title:?}, {address:?}, at latitude {latitude}, longitude {longitude}]"
        ));
    }
    if let Some(place) = message.location() {
        return Some(format!("[Location: latitude {}, longitude {}]", place.latitude, place.longitude));
    }
    if let Some(contact) = message.contact() {
        let name = [Some(contact.first_name.as_str()), contact.last_name.as_deref()];
        let name = name.into_iter().flatten().collect::<Vec<_>>().join(" ");
        return Some(format!("[Contact: {name:?}, phone number {:?}]", contact.phone_number));
    }
    if let Some(poll) = message.poll() {
        let options = poll.options.iter().map(|option| format!("{:?} ({})", option.text, option.voter_count));
        let options = options.collect::<Vec<_>>().join(", ");
        return Some(format!("[Poll: {:?} Options with votes: {options}]", poll.question));
    }
    if let Some(dice) = message.dice() {
        return Some(format!("[Thrown: {:?}, which shows {}]", dice.emoji, dice.value));
    }
    let sticker = message.sticker()?;
    Some(format!("[Sticker: {}]", sticker.emoji.as_deref().unwrap_or("without an emoji")))
}

fn files_of(message: &Message) -> Vec<Attachment> {
    let file =
        |kind: &'static str, file: &FileMeta, media_type: Option<String>, name: &Option<String>| Attachment {
            source: file.id.0.clone(),
            kind: kind.into(),
            media_type,
            file_name: name.clone(),
            // The client's word for a size that Telegram did not tell.
            size_bytes: (file.size < u32::MAX).then_some(u64::from(file.size)),
        };
    // An animation comes as a document, too.
    let document = message.document().filter(|_| message.animation().is_none());
    let photo = message.photo().and_then(largest);
    let all = [
        photo.map(|it| file("photo", &it.file, Some("image/jpeg".to_owned()), &None)),
        message.voice().map(|it| file("voice message", &it.file, typed(&it.mime_type, "audio/ogg"), &None)),
        message.audio().map(|it| file("audio", &it.file, typed(&it.mime_type, "audio/mpeg"), &it.file_name)),
        message.video_note().map(|it| file("video note", &it.file, Some("video/mp4".to_owned()), &None)),
        message.video().map(|it| file("video", &it.file, typed(&it.mime_type, "video/mp4"), &it.file_name)),
        message
            .animation()
            .map(|it| file("animation", &it.file, typed(&it.mime_type, "video/mp4"), &it.file_name)),
        document.map(|it| {
            file("document", &it.file, it.mime_type.as_ref().map(ToString::to_string), &it.file_name)
        }),
    ];
    all.into_iter().flatten().collect()
}

fn typed(media_type: &Option<impl ToString>, default: &str) -> Option<String> {
    Some(media_type.as_ref().map_or_else(|| default.to_owned(), ToString::to_string))
}

fn largest(sizes: &[PhotoSize]) -> Option<&PhotoSize> {
    sizes.iter().max_by_key(|size| u64::from(size.width) * u64::from(size.height))
}

/// What `getMe` says of the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Its number.
    pub id: u64,
    /// Without the `@`.
    pub username: String,
}

/// The longest word that may be a command; a tool's name may be longer than Telegram's 32 characters.
const MAX_COMMAND_CHARS: usize = 64;

impl Identity {
    /// What a text says to us: without a mention of us in front, and `/x@us` as `/x`. None for the command of
    /// another bot.
    pub(super) fn addressed(&self, text: &str) -> Option<String> {
        let text = self.without_mention(text);
        let (word, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
        match command(word) {
            Some((_, Some(bot))) if !self.is_named(bot) => None,
            Some((command, Some(_))) => Some(format!("/{command}{rest}")),
            Some((_, None)) | None => Some(text.to_owned()),
        }
    }

    /// Whether a text names us anywhere.
    pub(super) fn is_mentioned_in(&self, text: &str) -> bool {
        let mut rest = text;
        let mut before = None;
        while let Some(at) = rest.find('@') {
            before = rest[..at].chars().next_back().or(before.filter(|_| at == 0));
            rest = &rest[at + 1..];
            let name_ends = rest.find(|c: char| !is_of_a_name(c)).unwrap_or(rest.len());
            if self.is_named(&rest[..name_ends]) && !before.is_some_and(is_of_a_name) {
                return true;
            }
            before = Some('@');
        }
        false
    }

    fn is_named(&self, name: &str) -> bool {
        self.username.eq_ignore_ascii_case(name)
    }

    fn without_mention<'a>(&self, text: &'a str) -> &'a str {
        let text = text.trim_start();
        let Some(rest) = text.strip_prefix('@') else { return text };
        let (name, rest) = rest.split_at(rest.find(|c: char| !is_of_a_name(c)).unwrap_or(rest.len()));
        let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',' || c == ':');
        if self.is_named(name) && !rest.is_empty() { rest } else { text }
    }
}

/// Whether a text begins with a command, of whichever bot.
pub(super) fn is_command(text: &str) -> bool {
    text.split_whitespace().next().and_then(command).is_some()
}

/// The name of a command, and the bot that it is for.
fn command(word: &str) -> Option<(&str, Option<&str>)> {
    let word = word.strip_prefix('/')?;
    let (name, bot) = word.split_once('@').map_or((word, None), |(name, bot)| (name, Some(bot)));
    let is_name = !name.is_empty() && name.len() <= MAX_COMMAND_CHARS && name.chars().all(is_of_a_name);
    is_name.then_some((name, bot))
}

const fn is_of_a_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

/// A message of a person in private with these fields, for tests.
#[cfg(test)]
pub(super) fn test_message(fields: &serde_json::Value) -> Message {
    let mut message = serde_json::json!({
        "message_id": 1, "date": 1000,
        "chat": {"id": 7, "type": "private", "first_name": "A"},
        "from": {"id": 7, "is_bot": false, "first_name": "Ada"},
    });
    message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    serde_json::from_str(&message.to_string()).unwrap()
}

#[cfg(test)]
pub(super) fn test_bot() -> Identity {
    Identity { id: 5, username: "our_bot".to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn incoming(fields: Value) -> MessageContent {
        MessageContent::of(&test_message(&fields), &test_bot())
    }

    fn file(name: &str, size: u64) -> Value {
        json!({"file_id": name, "file_unique_id": name, "file_size": size})
    }

    #[test]
    fn of_a_photo_the_largest_size_is_taken_and_its_caption_is_the_text() {
        let size = |name: &str, edge: u32| {
            json!({
                "file_id": name, "file_unique_id": name, "width": edge, "height": edge, "file_size": edge,
            })
        };
        let photo = json!([size("s", 90), size("l", 1280), size("m", 320)]);
        let found = incoming(json!({"photo": photo, "caption": "who?", "media_group_id": "g"}));
        assert_eq!((found.text.as_str(), found.album.as_deref()), ("who?", Some("g")));
        let [photo] = found.files.try_into().unwrap();
        assert_eq!((photo.source.as_str(), &*photo.kind, photo.size_bytes), ("l", "photo", Some(1280)));
    }

    #[test]
    fn each_kind_of_file_is_named_and_typed() {
        let check =
            |field: &str, mut value: Value, more: Value, expected: (&str, Option<&str>, Option<&str>)| {
                value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                let found = incoming(json!({field: value}));
                let [file] = found.files.try_into().unwrap_or_else(|files| panic!("{field}: {files:?}"));
                assert_eq!((&*file.kind, file.media_type.as_deref(), file.file_name.as_deref()), expected);
            };
        let timed = json!({"duration": 1, "mime_type": "audio/ogg"});
        check("voice", file("f", 9), timed, ("voice message", Some("audio/ogg"), None));
        let audio = json!({"duration": 1, "mime_type": "audio/mpeg", "file_name": "a.mp3"});
        check("audio", file("f", 9), audio, ("audio", Some("audio/mpeg"), Some("a.mp3")));
        let note = json!({"duration": 1, "length": 240});
        check("video_note", file("f", 9), note, ("video note", Some("video/mp4"), None));
        let video = json!({"duration": 1, "width": 1, "height": 1, "mime_type": "video/mp4"});
        check("video", file("f", 9), video, ("video", Some("video/mp4"), None));
        let document = json!({"file_name": "r.pdf", "mime_type": "application/pdf"});
        check("document", file("f", 9), document, ("document", Some("application/pdf"), Some("r.pdf")));
    }

    #[test]
    fn what_is_no_text_is_put_into_words_and_a_reply_repeats_what_it_answers() {
        let place = json!({"latitude": 52.5, "longitude": 13.25});
        let contact = json!({"phone_number": "+49 1", "first_name": "B", "last_name": "C"});
        let replied = json!({
            "message_id": 9, "date": 900, "chat": {"id": 7, "type": "private", "first_name": "A"},
            "from": {"id": 8, "is_bot": false, "first_name": "Bob"},
            "document": {"file_id": "f", "file_unique_id": "f", "file_size": 3, "file_name": "plan.txt"},
            "caption": "the plan",
        });
        for (fields, expected) in [
            (json!({"location": place}), "[Location: latitude 52.5, longitude 13.25]"),
            (json!({"contact": contact}), "[Contact: \"B C\", phone number \"+49 1\"]"),
            (
                json!({"text": "and now?", "reply_to_message": replied}),
                "[In reply to \"Bob\": \"the plan\"]\n\nand now?",
            ),
        ] {
            let found = incoming(fields.clone());
            assert_eq!(found.text, expected, "{fields}");
            assert_eq!(found.files.len(), usize::from(fields.get("reply_to_message").is_some()));
        }
        assert!(incoming(json!({"new_chat_title": "x"})).is_empty());
    }

    #[test]
    fn a_text_is_read_without_our_name_and_not_at_all_if_it_commands_another_bot() {
        for (text, expected) in [
            ("ls path=.", Some("ls path=.")),
            ("@our_bot ls path=.", Some("ls path=.")),
            (" @Our_Bot, /status", Some("/status")),
            ("@our_bot: @our_bot", Some("@our_bot")),
            ("@our_bot", Some("@our_bot")),
            ("@our_bots ls", Some("@our_bots ls")),
            ("/cancel@our_bot all", Some("/cancel all")),
            ("/CANCEL@OUR_BOT", Some("/CANCEL")),
            ("/cancel@other_bot", None),
            ("@our_bot /cancel@other_bot", None),
            ("/etc/passwd@home is a path", Some("/etc/passwd@home is a path")),
            ("", Some("")),
        ] {
            assert_eq!(test_bot().addressed(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn a_mention_is_our_whole_name() {
        for (text, expected) in [
            ("hello @our_bot", true),
            ("@OUR_BOT!", true),
            ("(@our_bot)", true),
            ("ä@our_bot", true),
            ("me@our_bot", false),
            ("@our_bot2", false),
            ("our_bot", false),
            ("a@b @our_bot", true),
            ("@@our_bot", true),
        ] {
            assert_eq!(test_bot().is_mentioned_in(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_command_is_a_word_and_not_a_path() {
        for (text, expected) in
            [("/ls path=.", true), (" /x@any_bot", true), ("/etc/hosts", false), ("/", false), ("ls", false)]
        {
            assert_eq!(is_command(text), expected, "{text:?}");
        }
    }
}
