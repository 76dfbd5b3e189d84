//! The YAML block of one contact: a flat mapping, so that nothing in it can grow when it is read.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};

use super::{BlockError, Contact, Kind};

/// The fields of a block, in their order.
#[derive(Debug)]
pub(super) struct Block<'a> {
    text: &'a str,
    pub(super) fields: Vec<Field>,
    /// Whether each field has a line of its own.
    pub(super) has_lines: bool,
}

#[derive(Debug)]
pub(super) struct Field {
    pub(super) key: String,
    pub(super) value: Value,
    /// Where the key begins.
    pub(super) at: Place,
}

/// A place in the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// From 1.
    pub(super) line: usize,
    /// In characters, from 0.
    pub(super) column: usize,
}

#[derive(Debug)]
pub(super) enum Value {
    Null,
    One {
        text: String,
        from: Place,
    },
    Many(Vec<String>),
    /// A mapping, or a list of anything but plain values.
    Deeper,
}

impl From<Marker> for Place {
    fn from(marker: Marker) -> Self {
        Self { line: marker.line(), column: marker.col() }
    }
}

impl<'a> Block<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, BlockError> {
        let mut events = Parser::new_from_str(text);
        let mut block = Self { text, fields: Vec::new(), has_lines: true };
        let mut next = || match events.next() {
            Some(Ok((Event::Alias(_), span))) => {
                Err(BlockError::new(span.start.line(), "aliases (`*name`) are not read: write the value out"))
            }
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                Err(BlockError::new(error.marker().line(), format!("no valid YAML: {}", error.info())))
            }
            None => Ok((Event::StreamEnd, Span::default())),
        };
        loop {
            match next()? {
                (Event::StreamStart | Event::DocumentStart(_), _) => {}
                (Event::MappingStart(..), span) => {
                    let line = text.lines().nth(span.start.line() - 1);
                    block.has_lines = line.and_then(|line| line.chars().nth(span.start.col())) != Some('{');
                    break;
                }
                (_, span) => return Err(not_a_mapping(span.start.line())),
            }
        }
        loop {
            let (event, key_span) = next()?;
            let key = match event {
                Event::MappingEnd => break,
                Event::Scalar(key, ..) => key.into_owned(),
                _ => return Err(BlockError::new(key_span.start.line(), "a key is no plain word")),
            };
            let (event, span) = next()?;
            let value = value(event, span, &mut next)?;
            if block.fields.iter().any(|field| field.key == key) {
                return Err(BlockError::new(key_span.start.line(), format!("`{key}` is there twice")));
            }
            block.fields.push(Field { key, value, at: key_span.start.into() });
        }
        Ok(block)
    }

    /// The lines of the block, with their ends.
    pub(super) fn lines(&self) -> impl Iterator<Item = &'a str> {
        self.text.split_inclusive('\n')
    }

    pub(super) fn field(&self, key: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// The contact that this describes.
    pub(super) fn contact(&self, heading: &str) -> Result<Contact, BlockError> {
        let contact_id = self.text("contact_id")?;
        let contact_id = contact_id.ok_or_else(|| BlockError::new(0, "`contact_id` is missing"))?;
        let kind = match self.text("kind")?.as_deref() {
            None | Some("human") => Kind::Human,
            Some("agent") => Kind::Agent,
            Some(_) => return Err(self.wrong("kind", "must be human or agent")),
        };
        let private = self.text("tg_private_chat_id")?.map(|id| id.parse::<i64>().ok().filter(|id| *id > 0));
        if private == Some(None) {
            return Err(self.wrong("tg_private_chat_id", "must be the number of a private chat, above 0"));
        }
        let groups = self.texts("tg_group_chat_ids")?;
        let groups: Option<Vec<i64>> =
            groups.iter().map(|id| id.parse::<i64>().ok().filter(|id| *id < 0)).collect();
        let tg_group_chat_ids = groups.ok_or_else(|| {
            self.wrong("tg_group_chat_ids", "must be a list of the numbers of groups, each below 0")
        })?;
        let username = self.text("tg_username")?;
        Ok(Contact {
            name: heading.trim().to_owned(),
            nickname: self.text("nickname")?.unwrap_or_else(|| heading.trim().to_owned()),
            kind,
            channel: self.text("channel")?,
            tg_username: username.map(|name| name.trim_start_matches('@').to_owned()),
            tg_private_chat_id: private.flatten(),
            tg_group_chat_ids,
            page_chat: self.text("page_chat")?,
            persona_brief: self.text("persona_brief")?,
            topic_preferences: self.texts("topic_preferences")?,
            cooldown_until: self.text("cooldown_until")?,
            last_interaction_at: self.text("last_interaction_at")?,
            contact_id,
        })
    }

    fn text(&self, key: &str) -> Result<Option<String>, BlockError> {
        match self.field(key).map(|field| &field.value) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::One { text, .. }) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
            Some(Value::Many(_) | Value::Deeper) => Err(self.wrong(key, "must be one value")),
        }
    }

    /// A list; one value counts as a list of one.
    fn texts(&self, key: &str) -> Result<Vec<String>, BlockError> {
        match self.field(key).map(|field| &field.value) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::One { text, .. }) => Ok(vec![text.trim().to_owned()]),
            Some(Value::Many(texts)) => Ok(texts.iter().map(|text| text.trim().to_owned()).collect()),
            Some(Value::Deeper) => Err(self.wrong(key, "must be a list")),
        }
    }

    fn wrong(&self, key: &str, rule: &str) -> BlockError {
        let line = self.field(key).map_or(0, |field| field.at.line);
        BlockError::new(line, format!("`{key}` {rule}"))
    }
}

fn value<'a>(
    event: Event<'a>,
    span: Span,
    next: &mut impl FnMut() -> Result<(Event<'a>, Span), BlockError>,
) -> Result<Value, BlockError> {
    match event {
        Event::Scalar(text, style, ..) if is_null(&text, style) => Ok(Value::Null),
        Event::Scalar(text, ..) => Ok(Value::One { text: text.into_owned(), from: span.start.into() }),
        Event::SequenceStart(..) => {
            let (mut texts, mut is_flat) = (Vec::new(), true);
            loop {
                match next()?.0 {
                    Event::SequenceEnd => break,
                    Event::Scalar(text, ..) => texts.push(text.into_owned()),
                    start => is_flat = skip(&start, next).map(|()| false)?,
                }
            }
            Ok(if is_flat { Value::Many(texts) } else { Value::Deeper })
        }
        start => skip(&start, next).map(|()| Value::Deeper),
    }
}

/// Reads on to the end of what has just begun.
fn skip<'a>(
    start: &Event<'a>,
    next: &mut impl FnMut() -> Result<(Event<'a>, Span), BlockError>,
) -> Result<(), BlockError> {
    let mut depth = usize::from(matches!(start, Event::MappingStart(..) | Event::SequenceStart(..)));
    while depth > 0 {
        match next()? {
            (Event::MappingStart(..) | Event::SequenceStart(..), _) => depth += 1,
            (Event::MappingEnd | Event::SequenceEnd, _) => depth -= 1,
            (Event::StreamEnd, span) => return Err(BlockError::new(span.start.line(), "no valid YAML")),
            _ => {}
        }
    }
    Ok(())
}

fn is_null(text: &str, style: ScalarStyle) -> bool {
    style == ScalarStyle::Plain && matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

fn not_a_mapping(line: usize) -> BlockError {
    BlockError::new(line, "the block has no fields: write `contact_id: …` and the others, one in a line")
}
