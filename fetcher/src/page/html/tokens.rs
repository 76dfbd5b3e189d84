//! A page as a stream of tags and text. There is no tree: neither depth nor broken nesting costs anything.
//! Attributes that no part of this program reads are never kept, so their number costs nothing either.

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, State, Tokenizer};

/// A piece of a page.
pub(crate) enum Element<'a> {
    Start(&'a str, Attributes<'a>),
    End(&'a str),
    Text(&'a str),
}

/// The attributes that are read.
const READ: [&str; 16] = [
    "alt", "aria-hidden", "class", "colspan", "content", "hidden", "href", "id", "name", "placeholder",
    "role", "src", "start", "style", "type", "value",
];

/// The attributes of a tag.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'a>(&'a [(&'static str, String)]);

impl<'a> Attributes<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        debug_assert!(READ.contains(&name), "{name} is not among the attributes that are read");
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// Whether `class` has this word.
    pub(crate) fn has_class(&self, class: &str) -> bool {
        self.get("class").is_some_and(|classes| classes.split_ascii_whitespace().any(|word| word == class))
    }
}

/// Calls `take` with each piece of the page, in order.
pub(crate) fn elements(page: &str, take: impl FnMut(Element<'_>)) {
    let mut sink = Sink { take, name: String::new(), attributes: Vec::new(), takes_value: false };
    let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| sink.event(event));
    let mut tokenizer = Tokenizer::new_with_emitter(page, emitter);
    // It gives a state where an element begins whose content is no markup.
    while let Some(Ok(state)) = tokenizer.next() {
        tokenizer.set_state(state);
    }
}

struct Sink<F> {
    take: F,
    /// The tag that has begun, and what it has so far.
    name: String,
    attributes: Vec<(&'static str, String)>,
    /// Whether a value belongs to the last of the attributes.
    takes_value: bool,
}

impl<F: FnMut(Element<'_>)> Sink<F> {
    fn event(&mut self, event: CallbackEvent<'_>) -> Option<State> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.name.clear();
                self.name.push_str(&String::from_utf8_lossy(name));
                self.attributes.clear();
                self.takes_value = false;
            }
            CallbackEvent::AttributeName { name } => self.attribute(name),
            CallbackEvent::AttributeValue { value } => {
                if let Some((_, known)) = self.attributes.last_mut().filter(|_| self.takes_value) {
                    known.push_str(&String::from_utf8_lossy(value));
                }
                self.takes_value = false;
            }
            CallbackEvent::CloseStartTag { .. } => {
                (self.take)(Element::Start(&self.name, Attributes(&self.attributes)));
                return content_state(&self.name);
            }
            CallbackEvent::EndTag { name } => (self.take)(Element::End(&String::from_utf8_lossy(name))),
            CallbackEvent::String { value } => self.text(&String::from_utf8_lossy(value)),
            CallbackEvent::Comment { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
        None
    }

    /// Of several attributes of one name, the first holds.
    fn attribute(&mut self, name: &[u8]) {
        let read = READ.iter().find(|read| read.as_bytes() == name);
        let new = read.filter(|read| self.attributes.iter().all(|(known, _)| known != *read));
        self.takes_value = new.is_some();
        self.attributes.extend(new.map(|name| (*name, String::new())));
    }

    fn text(&mut self, text: &str) {
        if text.contains('\0') {
            (self.take)(Element::Text(&text.replace('\0', "")));
        } else {
            (self.take)(Element::Text(text));
        }
    }
}

/// How the content of an element is read that is no markup.
fn content_state(name: &str) -> Option<State> {
    match name {
        "script" => Some(State::ScriptData),
        "style" | "xmp" | "iframe" | "noembed" | "noframes" => Some(State::RawText),
        "title" | "textarea" => Some(State::RcData),
        "plaintext" => Some(State::PlainText),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(page: &str, expected: &str) {
        let mut seen = String::new();
        elements(page, |element| match element {
            Element::Start(name, attributes) => {
                seen += &format!("<{name}");
                for name in READ {
                    seen += &attributes.get(name).map(|value| format!(" {name}={value}")).unwrap_or_default();
                }
                seen += ">";
            }
            Element::End(name) => seen += &format!("</{name}>"),
            Element::Text(text) => seen += text,
        });
        assert_eq!(seen, expected, "{page}");
    }

    #[test]
    fn tags_attributes_and_text_are_read_as_browsers_do() {
        check("<A HREF=x>a</A >", "<a href=x>a</a>");
        check("<a href='1' other=2 href=3 hidden id=\"4&amp;5\">", "<a hidden= href=1 id=4&5>");
        check("<p>1 &lt; 2 &#x41;&nbsp;&copy &unknown;", "<p>1 < 2 A\u{a0}\u{a9} &unknown;");
        check("<script>'<p>' < \"</p>\"</script><p>x", "<script>'<p>' < \"</p>\"</script><p>x");
        check("<title>a <b>&amp; c</title><b>d", "<title>a <b>& c</title><b>d");
        check("<style></p></style ><!-- <p> --><!doctype x><p/>", "<style></p></style><p>");
        check("<noscript><p>x</noscript>a\0b\r\nc", "<noscript><p>x</noscript>ab\nc");
        check("a < b <3 </> <? x> <a", "a < b <3   ");
        check("<textarea><p>&lt;</textarea></p id=1>x", "<textarea><p><</textarea></p>x");
    }
}
