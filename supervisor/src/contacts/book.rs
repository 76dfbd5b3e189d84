//! The file of contacts, as the tool server has it.

use protocol::SessionId;
use toolkit::contacts::{ACTIVE, with_cooldown};

use crate::tool_files::{ReadText, ToolFiles, WriteError};

/// How often a change is tried on a file that others change as well.
const TRIES: usize = 5;

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
