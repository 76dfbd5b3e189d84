//! The effects that send: each adds its messages to the outbox.

use channel::content::{File, FileBody, Media, StoredFile};
use channel::formatting::FormattedText;
use channel::{Chat, Content, Delivery};
use protocol::effect::{Answer, EffectAnswer, EffectRequest, FileForm, OutgoingFile};
use protocol::{EventId, MessageId, ToolError};
use store::contact_messages::{self, NewMessage};
use store::{StoreError, inbox, outbox};
use toolkit::arguments::invalid;

use super::file;
use super::{Effects, Files};
use crate::file_copy::not_stored;

/// No channel has a longer ID of a message.
const MAX_ID_BYTES: usize = 64;

/// Messages for a chat.
struct Outgoing {
    chat: Chat,
    contents: Vec<Content>,
    delivery: Delivery,
}

impl Effects {
    pub(super) async fn react(
        &self,
        request: &EffectRequest,
        own: Chat,
        chat: &str,
        named: Option<MessageId>,
        (emoji, is_big): (String, bool),
    ) -> EffectAnswer {
        let target = self.target(&own, chat)?;
        if let Some(answer) = self.admit(request, &own, &target).await? {
            return Ok(answer);
        }
        let asked_in = match named {
            None if target == own => self.asked_in(request).await?,
            named => named,
        };
        let Some(message_id) = asked_in.filter(|id| (1..=MAX_ID_BYTES).contains(&id.as_str().len())) else {
            return Err(invalid("`message_id` is missing, and no message of this chat asked."));
        };
        let content = Content::Reaction { message_id: message_id.clone(), emoji, is_big };
        let outgoing = self.outgoing(target, vec![content])?;
        self.queue(request, own, outgoing, Some(message_id)).await
    }

    /// Sends files, together where the channel has albums. An error leaves none.
    pub(super) async fn send_files(
        &self,
        request: &EffectRequest,
        own: Chat,
        chat: &str,
        caption: &str,
        (files, named): (Files, Vec<OutgoingFile>),
    ) -> EffectAnswer {
        let target = self.target(&own, chat)?;
        let caption = self.channel(&target)?.caption(caption);
        file::require_bounds(&named)?;
        if let Some(answer) = self.admit(request, &own, &target).await? {
            return Ok(answer);
        }
        let stored = file::store_all(&self.store, files, &named).await?;
        let contents = self.contents(&target, named.into_iter().zip(stored.clone()), caption);
        let sent = match contents.and_then(|contents| self.outgoing(target, contents)) {
            Ok(outgoing) => self.queue(request, own, outgoing, None).await,
            Err(error) => Err(error),
        };
        if sent.is_err() {
            file::forget(&self.store, stored).await;
        }
        sent
    }

    /// The messages that files are sent as, with the caption below the first.
    fn contents(
        &self,
        chat: &Chat,
        files: impl IntoIterator<Item = (OutgoingFile, StoredFile)>,
        mut caption: FormattedText,
    ) -> Result<Vec<Content>, ToolError> {
        let (mut shown, mut voices) = (Vec::new(), Vec::new());
        for (OutgoingFile { form, name, .. }, stored) in files {
            let (media, kind) = match form {
                FileForm::Voice => (None, &mut voices),
                FileForm::Document => (None, &mut shown),
                FileForm::Photo => (Some(Media::Photo), &mut shown),
                FileForm::Video => (Some(Media::Video), &mut shown),
                FileForm::Audio => (Some(Media::Audio), &mut shown),
            };
            let caption = std::mem::replace(&mut caption, FormattedText::plain(""));
            kind.push(File { name, caption, body: FileBody::Stored(stored), media });
        }
        let voices = voices.into_iter().map(Content::Voice);
        Ok(self.channel(chat)?.together(shown).into_iter().chain(voices).collect())
    }

    pub(super) async fn write_to_contact(
        &self,
        request: &EffectRequest,
        own: Chat,
        chat: &str,
        contact_id: String,
        text: String,
    ) -> EffectAnswer {
        let target = self.target(&own, chat)?;
        if let Some(answer) = self.admit(request, &own, &target).await? {
            return Ok(answer);
        }
        let Outgoing { chat, contents, delivery } =
            self.outgoing(target.clone(), vec![Content::Text(text)])?;
        let (call, session) = (request.call.clone(), request.session.clone());
        let message = NewMessage { call, session, contact_id, chat };
        let queue = move |tx: &store::sql::Connection| {
            let outbox_id = contact_messages::queue(tx, &message, contents, delivery)?;
            Ok(Ok(Answer::Queued { outbox_id, message_id: None }))
        };
        self.add(request, own, target, queue).await
    }

    fn outgoing(&self, chat: Chat, contents: Vec<Content>) -> Result<Outgoing, ToolError> {
        let prepared = contents.into_iter().map(|content| self.prepared(&chat, content));
        let contents = prepared.collect::<Result<Vec<_>, _>>()?.concat();
        let delivery = self.channel(&chat)?.delivery();
        Ok(Outgoing { chat, contents, delivery })
    }

    async fn queue(
        &self,
        request: &EffectRequest,
        own: Chat,
        Outgoing { chat, contents, delivery }: Outgoing,
        message_id: Option<MessageId>,
    ) -> EffectAnswer {
        let (parent, target): (EventId, _) = (request.call.clone(), chat.clone());
        let queue = move |tx: &store::sql::Connection| -> Result<EffectAnswer, StoreError> {
            // A row without a task: it is no part of the reply.
            let rows = outbox::queue(tx, None, &chat, contents, delivery, Some(&parent))?;
            let outbox_id = rows.first().copied().unwrap_or_default();
            Ok(Ok(Answer::Queued { outbox_id, message_id }))
        };
        self.add(request, own, target, queue).await
    }

    /// The message that the call's task is about.
    async fn asked_in(&self, request: &EffectRequest) -> Result<Option<MessageId>, ToolError> {
        let Some(task) = request.task.clone() else { return Ok(None) };
        self.store.write(move |tx| inbox::message_id(tx, &task)).await.map_err(not_stored)
    }
}
