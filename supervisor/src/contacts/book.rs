//! The file of contacts, as the tool server has it.

use protocol::SessionId;
use toolkit::contacts::{ACTIVE, with_cooldown};

use super::Contacts;
use crate::tool_files::{PutError, ReadText};

/// How often a change is tried on a file that others change as well.
const TRIES: usize = 5;

impl Contacts {
    /// Notes until when an active contact is not written to; none if a message arrived.
    pub(super) async fn note_in_file(
        &self,
        contact_id: &str,
        session: &SessionId,
        until: Option<&str>,
    ) -> Result<(), PutError> {
        for _ in 0..TRIES {
            let file = self.files.read_state(ACTIVE, session).await;
            let file = file.map_err(|error| PutError::NotNow(error.message))?;
            let Some(ReadText { text, sha256 }) = file else {
                return Err(PutError::Refused(format!("there is no {ACTIVE}")));
            };
            let changed = with_cooldown(&text, contact_id, until);
            let Some(changed) = changed.map_err(|error| PutError::Refused(error.to_string()))? else {
                return Ok(());
            };
            if self.files.write_state(ACTIVE, session, changed, &sha256).await? {
                return Ok(());
            }
        }
        Err(PutError::NotNow("others change the file all the time".to_owned()))
    }
}
