//! What a group wrote before somebody spoke to the bot: kept where the group has allowed it, and given to the
//! task that comes next.

use channel::update::{Incoming, Update};
use protocol::TaskId;
use store::StoreError;
use store::sql::Connection;

use super::batch::Batch;
use crate::commands::context;

impl Batch {
    /// Keeps a message in memory, if its group has allowed it. Returns why it is not run.
    pub(super) fn overhear(
        &self,
        tx: &Connection,
        update: &Update,
        incoming: &Incoming,
    ) -> Result<&'static str, StoreError> {
        let text = incoming.said.trim();
        if !text.is_empty() && !incoming.is_edit && context::is_on(tx, &update.chat)? {
            let from = incoming.sender().map_or_else(String::new, |sender| sender.name.clone());
            self.inbound.overheard.note(&update.chat, update.message_id.as_ref(), &from, text);
        }
        Ok("the message does not speak to the bot")
    }

    /// The same as [`Self::run`], with what the group wrote before. Its task has seen words of others.
    pub(super) fn run_with_context(
        &self,
        tx: &Connection,
        update: &Update,
        incoming: &Incoming,
    ) -> Result<Option<TaskId>, StoreError> {
        let overheard = &self.inbound.overheard;
        if !overheard.has(&update.chat) {
            return self.run(tx, update, incoming);
        }
        let mut incoming = incoming.clone();
        if let Some(origin) = &mut incoming.origin {
            origin.outside = Some("what others wrote in the group".to_owned());
        }
        let task = self.run(tx, update, &incoming)?;
        task.iter().for_each(|task| overheard.give(&update.chat, task));
        Ok(task)
    }
}
