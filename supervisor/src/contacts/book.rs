//! The files of contacts, as the tool server has them.

use protocol::{ErrorCode, SessionId, ToolError};
use toolkit::contacts::{ACTIVE, Contact, Contacts, INACTIVE, Misunderstood, with_cooldown};

use crate::tool_files::{ReadText, ToolFiles, WriteError};

/// How often a change is tried on a file that others change as well.
const TRIES: usize = 5;

/// The most contacts that an error lists.
const MOST_LISTED: usize = 20;

#[derive(Debug, Clone)]
pub(crate) struct Book(pub(crate) ToolFiles);

/// Why what became of a message does not stand in the file.
#[derive(Debug)]
pub(crate) enum NoteError {
    /// Another time, perhaps.
    NotNow(String),
    /// Never.
    Refused(String),
}

impl Book {
    /// The contact with this ID, if it may be written to at all.
    pub(crate) async fn active(&self, contact_id: &str, session: &SessionId) -> Result<Contact, ToolError> {
        let inactive = self.read(INACTIVE, session).await?;
        match inactive.find(contact_id) {
            Ok(None) => {}
            Ok(Some(_)) | Err(_) => {
                let message = format!("The contact `{contact_id}` is inactive: it is in {INACTIVE}.");
                let hint = format!("Ask the user. {ACTIVE} has all contacts.");
                return Err(ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint));
            }
        }
        let active = self.read(ACTIVE, session).await?;
        match active.find(contact_id) {
            Ok(Some(contact)) => Ok(contact.clone()),
            Ok(None) => Err(unknown(contact_id, &active)),
            Err(bad) => Err(misunderstood(contact_id, bad)),
        }
    }

    async fn read(&self, name: &str, session: &SessionId) -> Result<Contacts, ToolError> {
        let file = self.0.read_state(name, session).await?;
        Ok(file.map(|file| Contacts::parse(&file.text)).unwrap_or_default())
    }

    /// Notes until when an active contact is not written to; none if a message arrived.
    pub(crate) async fn note(
        &self,
        contact_id: &str,
        session: &SessionId,
        until: Option<&str>,
    ) -> Result<(), NoteError> {
        for _ in 0..TRIES {
            let file = self.0.read_state(ACTIVE, session).await;
            let file = file.map_err(|error| NoteError::NotNow(error.message))?;
            let Some(ReadText { text, sha256 }) = file else {
                return Err(NoteError::Refused(format!("there is no {ACTIVE}")));
            };
            let changed = with_cooldown(&text, contact_id, until);
            let Some(changed) = changed.map_err(|error| NoteError::Refused(error.to_string()))? else {
                return Ok(());
            };
            match self.0.write_state(ACTIVE, session, changed, &sha256).await {
                Ok(()) => return Ok(()),
                Err(WriteError::Changed) => {}
                Err(WriteError::Refused(why)) => return Err(NoteError::Refused(why)),
                Err(WriteError::NotNow(why)) => return Err(NoteError::NotNow(why)),
            }
        }
        Err(NoteError::NotNow("others change the file all the time".to_owned()))
    }
}

fn unknown(contact_id: &str, active: &Contacts) -> ToolError {
    let known: Vec<&str> = active.known.iter().map(|contact| contact.contact_id.as_str()).collect();
    let hint = match known.len() {
        0 => format!("file_state_dir/{ACTIVE} has no contacts. Ask the user for a chat to write to."),
        1..=MOST_LISTED => format!("The contacts are: {}.", known.join(", ")),
        _ => format!("Look for it with `grep` in file_state_dir/{ACTIVE}."),
    };
    let message = format!("There is no contact `{contact_id}` in {ACTIVE}.");
    ToolError::new(ErrorCode::NotFound, message).with_hint(hint)
}

fn misunderstood(contact_id: &str, bad: &Misunderstood) -> ToolError {
    let Misunderstood { line, what, .. } = bad;
    let message = format!("The contact `{contact_id}` cannot be used: {ACTIVE}, line {line}: {what}.");
    ToolError::new(ErrorCode::Conflict, message).with_hint("Correct the file with `edit`, or ask the user.")
}
