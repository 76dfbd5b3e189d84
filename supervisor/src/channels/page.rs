//! The channel of the page's chats. The page receives; what is sent stays in the outbox, which the page
//! shows, and files are kept in the database until their messages are pruned.

use std::io;

use bytes::Bytes;
use channel::content::{File, FileBody, StoredFiles as _};
use channel::download::{Download, NoDownload};
use channel::formatting::{self, Entity, FormattedText, units};
use channel::update_sink::UpdateSink;
use channel::{Access, BoxFuture, Channel, ChannelName, Content, Delivery, Outgoing, Rejection, SendOutcome};
use futures_util::stream::{self, Stream};
use protocol::{MessageId, ReplyFormat};
use store::{Store, page_files};
use texts::Language;
use tokio_util::sync::CancellationToken;

use super::local::is_chat_name;

pub(crate) const NAME: ChannelName = ChannelName::new(page::talk::CHANNEL);

/// So much of a file is in memory at once.
const PART_BYTES: usize = 256 * 1024;

/// The most bytes of a message that comes in: of its form, and of a file in it.
pub(crate) const MOST_BYTES: usize = 50 * 1024 * 1024;

#[derive(Debug)]
pub(crate) struct PageChannel {
    store: Store,
    access: Access,
    is_on: bool,
}

impl PageChannel {
    pub(crate) fn new(store: &Store, is_on: bool) -> Self {
        Self { store: store.clone(), access: Access::without_lists(true), is_on }
    }

    /// Keeps a file, and returns its ID.
    async fn keep(&self, file: &File) -> io::Result<String> {
        let name = file.name.clone();
        let begun = self.store.write(move |tx| page_files::begin(tx, &name)).await;
        let id = begun.map_err(io::Error::other)?;
        let mut number = 0;
        while let Some(bytes) = self.part_of(&file.body, number).await? {
            let file_id = id.clone();
            let added = self.store.write(move |tx| page_files::add_part(tx, &file_id, number, &bytes));
            added.await.map_err(io::Error::other)?;
            number += 1;
        }
        Ok(id)
    }

    async fn part_of(&self, body: &FileBody, number: u32) -> io::Result<Option<Vec<u8>>> {
        match body {
            FileBody::Stored(stored) => self.store.part(&stored.id, number).await,
            FileBody::Bytes(bytes) => {
                let place = usize::try_from(number).unwrap_or(usize::MAX);
                Ok(bytes.chunks(PART_BYTES).nth(place).map(<[u8]>::to_vec))
            }
        }
    }
}

impl Channel for PageChannel {
    fn name(&self) -> ChannelName {
        NAME
    }

    fn delivery(&self) -> Delivery {
        if self.is_on { Delivery::Push } else { Delivery::Off }
    }

    /// All chats: the page has checked who writes.
    fn access(&self) -> &Access {
        &self.access
    }

    /// The page receives.
    fn receive(
        self: std::sync::Arc<Self>,
        _: Box<dyn UpdateSink>,
        stop: CancellationToken,
    ) -> BoxFuture<'static, ()> {
        Box::pin(stop.cancelled_owned())
    }

    fn download<'a>(&'a self, source: &'a str) -> BoxFuture<'a, Result<Download, NoDownload>> {
        Box::pin(async move {
            let id = source.to_owned();
            let found = self.store.write(move |tx| page_files::find(tx, &id)).await;
            match found {
                Ok(Some(_)) => {}
                Ok(None) => return Err(NoDownload::Never("The file is gone.".to_owned())),
                Err(error) => return Err(NoDownload::Later(error.to_string())),
            }
            let bytes = Box::pin(parts(self.store.clone(), source.to_owned()));
            Ok(Download { bytes, most_bytes: MOST_BYTES as u64 })
        })
    }

    fn decorate(&self, reply: &str, format: ReplyFormat, _: Language) -> Vec<Content> {
        match format {
            ReplyFormat::Markdown => vec![Content::Formatted(formatted(reply))],
            ReplyFormat::Plain => vec![Content::Text(reply.to_owned())],
        }
    }

    fn prepare(&self, chat_id: &str, content: Content) -> Result<Vec<Content>, Rejection> {
        if !self.is_on {
            return Err(Rejection::Off { hint: "Start the supervisor without AUTONOUS_PAGE=false." });
        }
        if !is_chat_name(chat_id) {
            return Err(Rejection::Invalid("`chat` is no name of a chat of the page".to_owned()));
        }
        match content {
            Content::Edit { .. } => Err(Rejection::Invalid("a chat of the page has no edits".to_owned())),
            Content::Reaction { .. } => {
                Err(Rejection::Invalid("a chat of the page has no reactions".to_owned()))
            }
            other => Ok(vec![other]),
        }
    }

    fn caption(&self, markdown: &str) -> FormattedText {
        formatted(markdown)
    }

    /// A text is sent by being in the outbox; a file is kept before its row forgets it.
    fn send<'a>(&'a self, outgoing: Outgoing<'a>) -> BoxFuture<'a, SendOutcome> {
        Box::pin(async move {
            let Some(file) = outgoing.content.file() else {
                return SendOutcome::Sent { message_ids: Vec::new() };
            };
            match self.keep(file).await {
                Ok(id) => SendOutcome::Sent { message_ids: vec![MessageId::from(id)] },
                Err(error) => SendOutcome::Retry {
                    error: error.to_string(),
                    pause: std::time::Duration::from_secs(1),
                    is_unanswered: false,
                },
            }
        })
    }
}

/// The bytes of a file of the page, part by part.
pub(crate) fn parts(store: Store, id: String) -> impl Stream<Item = io::Result<Bytes>> {
    stream::unfold((store, id, 0), |(store, id, number)| async move {
        let of_file = id.clone();
        let part = store.write(move |tx| page_files::part(tx, &of_file, number)).await;
        let part = part.map_err(io::Error::other).transpose()?;
        Some((part.map(Bytes::from), (store, id, number + 1)))
    })
}

/// Markdown as a text with styles, of whatever length.
fn formatted(markdown: &str) -> FormattedText {
    let styled = formatting::render(markdown);
    let entity = |span: &formatting::Span| Entity {
        offset: units(&styled.text[..span.range.start]),
        length: units(&styled.text[span.range.clone()]),
        style: span.style.clone(),
    };
    let entities = styled.spans.iter().map(entity).filter(|entity| entity.length > 0).collect();
    FormattedText { text: styled.text.clone(), entities }
}
