//! The files of contacts, as a session sees them.

use protocol::{ErrorCode, ToolError};
use toolkit::contacts::{ACTIVE, Contact, Contacts, INACTIVE, Misunderstood};

use crate::state_files::contacts;
use files::roots::Roots;

/// The most contacts that an error lists.
const MOST_LISTED: usize = 20;

/// The contact with this ID, if it may be written to at all.
pub(super) fn active(roots: &Roots, contact_id: &str) -> Result<Contact, ToolError> {
    match contacts(roots, INACTIVE)?.find(contact_id) {
        Ok(None) => {}
        Ok(Some(_)) | Err(_) => {
            let message = format!("The contact `{contact_id}` is inactive: it is in {INACTIVE}.");
            let hint = format!("Ask the user. {ACTIVE} has all contacts.");
            return Err(ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint));
        }
    }
    let active = contacts(roots, ACTIVE)?;
    match active.find(contact_id) {
        Ok(Some(contact)) => Ok(contact.clone()),
        Ok(None) => Err(unknown(contact_id, &active)),
        Err(bad) => Err(misunderstood(contact_id, bad)),
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
