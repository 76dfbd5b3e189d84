//! A page as a stream of tags and text. There is no tree: neither depth nor broken nesting costs anything.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// A piece of a page.
pub(crate) enum Element<'a> {
    Start(&'a str, Attributes<'a>),
    End(&'a str),
    Text(&'a str),
}

/// The attributes of a tag.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<'a>(&'a [html5ever::Attribute]);

impl<'a> Attributes<'a> {
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
    }

    /// Whether `class` has this word.
    pub(crate) fn has_class(&self, class: &str) -> bool {
        self.get("class").is_some_and(|classes| classes.split_ascii_whitespace().any(|word| word == class))
    }
}

/// Calls `take` with each piece of the page, in order.
pub(crate) fn elements(page: &str, take: impl FnMut(Element<'_>)) {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(page));
    let tokenizer = Tokenizer::new(Sink(RefCell::new(take)), TokenizerOpts::default());
    // It pauses only for scripts, which are never run.
    while !input.is_empty() {
        let _ = tokenizer.feed(&input);
    }
    tokenizer.end();
}

struct Sink<F>(RefCell<F>);

impl<F: FnMut(Element<'_>)> TokenSink for Sink<F> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut take = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                take(Element::Start(&tag.name, Attributes(&tag.attrs)));
                return match &*tag.name {
                    "script" => TokenSinkResult::RawData(RawKind::ScriptData),
                    "style" | "xmp" | "iframe" | "noembed" | "noframes" => {
                        TokenSinkResult::RawData(RawKind::Rawtext)
                    }
                    "title" | "textarea" => TokenSinkResult::RawData(RawKind::Rcdata),
                    "plaintext" => TokenSinkResult::Plaintext,
                    _ => TokenSinkResult::Continue,
                };
            }
            Token::TagToken(tag) => take(Element::End(&tag.name)),
            Token::CharacterTokens(text) => take(Element::Text(&text)),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}
