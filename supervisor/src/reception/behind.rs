//! Messages of a group that do not speak to the bot, but belong to one that does: the further pieces of a
//! long text and the rest of an album, in which no client repeats the mention, and edits of them.

use channel::update::{Incoming, Update};
use store::sql::Connection;
use store::{StoreError, attachments, edits, parts};

use super::batch::{Batch, Stored};

impl Batch {
    /// Stores such a message with the task that it belongs to. Returns whether it is one.
    pub(super) fn store_behind(
        &self,
        tx: &Connection,
        update: &Update,
        incoming: &Incoming,
        stored: &mut Stored,
    ) -> Result<bool, StoreError> {
        if !self.belongs_to_a_task(tx, update, incoming)? {
            return Ok(false);
        }
        if incoming.is_edit {
            self.store_edited(tx, update, incoming, stored)?;
        } else {
            stored.brings_files |= !incoming.files.is_empty();
            stored.may_add = true;
            stored.tasks.extend(self.run(tx, update, incoming)?);
        }
        Ok(true)
    }

    fn belongs_to_a_task(
        &self,
        tx: &Connection,
        update: &Update,
        incoming: &Incoming,
    ) -> Result<bool, StoreError> {
        let chat = &update.chat;
        if incoming.is_edit {
            let edited = update.message_id.as_ref().map(|message| edits::task_of(tx, chat, message));
            return Ok(edited.transpose()?.flatten().is_some());
        }
        if let Some(album) = &incoming.album {
            return Ok(attachments::open_album(tx, chat, album)?.is_some());
        }
        // Clients cut a long text, and nothing else: a piece has no file, and answers nothing.
        let is_text = incoming.files.is_empty() && incoming.unreadable.is_none();
        let may_be_piece = is_text && incoming.answers.is_none() && !incoming.is_forwarded();
        if !may_be_piece || self.quiet_after(incoming).is_none() {
            return Ok(false);
        }
        let open = parts::open_task(tx, chat, self.user(incoming).as_deref(), incoming.sent_at)?;
        open.map_or(Ok(false), |task| parts::ends_cut(tx, &task))
    }
}
