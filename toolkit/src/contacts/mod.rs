//! The people and agents that an agent knows: the Markdown files `contacts/ACTIVE.md` and `INACTIVE.md` of
//! the `state` root, which models and people edit with the file tools.
//!
//! Reading is a pure function of the text. A block that is not understood stays in the file, and a call that
//! asks for that contact gets its fault; nothing is guessed where a message could reach the wrong chat.

mod block;
mod edit;
#[cfg(test)]
mod tests;

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use block::Block;
pub use edit::{EditError, with_cooldown};

/// The file of those who may be written to, beneath the `state` root.
pub const ACTIVE: &str = "contacts/ACTIVE.md";

/// The file of those who may not, beneath the `state` root.
pub const INACTIVE: &str = "contacts/INACTIVE.md";

/// Longer blocks are not understood.
const MAX_BLOCK_BYTES: usize = 16 * 1024;

/// What a contact is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A person.
    Human,
    /// A program.
    Agent,
}

/// A contact as its block says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// Its name for tools, such as `tg:@anna`.
    pub contact_id: String,
    /// Its heading.
    pub name: String,
    /// What people call it: the nickname, else the heading.
    pub nickname: String,
    /// What it is; a person if nothing is said.
    pub kind: Kind,
    /// The channel over which it is reached.
    pub channel: Option<String>,
    /// Without `@`.
    pub tg_username: Option<String>,
    /// Positive.
    pub tg_private_chat_id: Option<i64>,
    /// Negative.
    pub tg_group_chat_ids: Vec<i64>,
    /// The name of its chat at the page.
    pub page_chat: Option<String>,
    /// Who it is, in a few words.
    pub persona_brief: Option<String>,
    /// What it likes to hear about.
    pub topic_preferences: Vec<String>,
    /// Until when it is not written to, as written: RFC 3339.
    pub cooldown_until: Option<String>,
    /// When it was last in touch, as written: RFC 3339.
    pub last_interaction_at: Option<String>,
}

impl Contact {
    /// All names by which a text can refer to it, such as `tg:4711` and `tg:@anna`.
    pub fn references(&self) -> Vec<String> {
        let mut names = vec![self.contact_id.clone()];
        names.extend(self.tg_username.as_ref().map(|name| format!("tg:@{name}")));
        names.extend(
            self.tg_private_chat_id.iter().chain(&self.tg_group_chat_ids).map(|id| format!("tg:{id}")),
        );
        names.dedup();
        names
    }
}

/// A contact whose block cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misunderstood {
    /// Its heading.
    pub heading: String,
    /// Its `contact_id`, if that much can be read.
    pub contact_id: Option<String>,
    /// The line in the file, from 1.
    pub line: usize,
    /// The fault, and the right form.
    pub what: String,
}

/// What a file of contacts says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contacts {
    /// Those that are understood, in their order.
    pub known: Vec<Contact>,
    /// Those that are not.
    pub misunderstood: Vec<Misunderstood>,
}

impl Contacts {
    /// Reads a file.
    pub fn parse(text: &str) -> Self {
        let mut contacts = Self::default();
        for section in sections(text) {
            match section.read(text).and_then(|block| block.contact(&section.heading)) {
                Ok(contact) if contacts.known.iter().any(|known| known.contact_id == contact.contact_id) => {
                    let what = "the contact_id is used twice: give each contact its own".to_owned();
                    let contact_id = Some(contact.contact_id);
                    contacts.misunderstood.push(section.misunderstood(text, contact_id, 0, what));
                }
                Ok(contact) => contacts.known.push(contact),
                Err(error) => {
                    let contact_id = section.contact_id(text);
                    contacts
                        .misunderstood
                        .push(section.misunderstood(text, contact_id, error.line, error.what));
                }
            }
        }
        contacts
    }

    /// The contact with this `contact_id`.
    ///
    /// # Errors
    /// The fault of its block, or that there are two.
    pub fn find(&self, contact_id: &str) -> Result<Option<&Contact>, &Misunderstood> {
        let is_it = |bad: &&Misunderstood| bad.contact_id.as_deref() == Some(contact_id);
        match self.misunderstood.iter().find(is_it) {
            Some(bad) => Err(bad),
            None => Ok(self.known.iter().find(|known| known.contact_id == contact_id)),
        }
    }
}

/// A heading of the second level with the block below it.
struct Section {
    heading: String,
    /// The content of the block in the file; none if it is indented line by line.
    content: Option<Range<usize>>,
    /// Where the block begins in the file.
    start: usize,
}

impl Section {
    fn read<'a>(&self, text: &'a str) -> Result<Block<'a>, BlockError> {
        let Some(content) = self.content.clone() else {
            return Err(BlockError::new(0, "the block is indented or quoted: begin its lines at the margin"));
        };
        if content.len() > MAX_BLOCK_BYTES {
            return Err(BlockError::new(0, format!("the block has more than {MAX_BLOCK_BYTES} bytes")));
        }
        Block::parse(&text[content])
    }

    /// The ID of a block that is not understood as a whole.
    fn contact_id(&self, text: &str) -> Option<String> {
        let content = &text[self.content.clone()?];
        let line = content.lines().find_map(|line| line.trim().strip_prefix("contact_id:"))?;
        Some(line.trim().trim_matches(['"', '\'']).to_owned())
    }

    /// `line` counts within the block, from 1; 0 is its first line in the file.
    fn misunderstood(
        &self,
        text: &str,
        contact_id: Option<String>,
        line: usize,
        what: String,
    ) -> Misunderstood {
        let line = 1 + text[..self.start].bytes().filter(|byte| *byte == b'\n').count() + line;
        Misunderstood { heading: self.heading.clone(), contact_id, line, what }
    }
}

/// The fault of a block, and its line in it, from 1; 0 if it is the block as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
struct BlockError {
    line: usize,
    what: String,
}

impl BlockError {
    fn new(line: usize, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }
}

/// The first YAML block below each heading of the second level. Comments have none.
fn sections(text: &str) -> Vec<Section> {
    let options = Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut events = Parser::new_ext(text, options).into_offset_iter();
    let (mut sections, mut heading) = (Vec::new(), None);
    while let Some((event, range)) = events.next() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let words = events.by_ref().map(|(event, _)| event);
                let words: String =
                    words.take_while(|event| !is_end_of_heading(event)).filter_map(word).collect();
                match level {
                    HeadingLevel::H1 => heading = None,
                    HeadingLevel::H2 => heading = Some(words),
                    _ => {}
                }
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if is_yaml(&info) => {
                let pieces =
                    events.by_ref().take_while(|(event, _)| !matches!(event, Event::End(TagEnd::CodeBlock)));
                let pieces: Vec<Range<usize>> = pieces.map(|(_, range)| range).collect();
                if let Some(heading) = heading.take() {
                    sections.push(Section {
                        heading,
                        content: joined(text, &pieces, range.start),
                        start: range.start,
                    });
                }
            }
            _ => {}
        }
    }
    sections
}

fn is_end_of_heading(event: &Event<'_>) -> bool {
    matches!(event, Event::End(TagEnd::Heading(_)))
}

fn word(event: Event<'_>) -> Option<String> {
    match event {
        Event::Text(text) | Event::Code(text) => Some(text.into_string()),
        Event::SoftBreak | Event::HardBreak => Some(" ".to_owned()),
        _ => None,
    }
}

fn is_yaml(info: &str) -> bool {
    let language = info.split_whitespace().next().unwrap_or_default();
    language.eq_ignore_ascii_case("yaml") || language.eq_ignore_ascii_case("yml")
}

/// The range of pieces between which nothing is left out but the `\r` of line ends.
fn joined(text: &str, pieces: &[Range<usize>], start: usize) -> Option<Range<usize>> {
    let Some(first) = pieces.first() else { return Some(start..start) };
    pieces.iter().skip(1).try_fold(first.clone(), |all, next| {
        matches!(text.get(all.end..next.start), Some("" | "\r")).then_some(all.start..next.end)
    })
}
