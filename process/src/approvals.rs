//! How long people have to decide about a call, in each program that has approvals.

use std::time::Duration;

use crate::{VariableError, Variables};

/// `AUTONOUS_APPROVAL_TIMEOUT_SECONDS` (600): how long a call waits for a person, and a yes for its call.
///
/// # Errors
/// If it is no number of seconds up to a day.
pub fn timeout(variables: &Variables) -> Result<Duration, VariableError> {
    variables.number("AUTONOUS_APPROVAL_TIMEOUT_SECONDS", 600, 1..=86_400).map(Duration::from_secs)
}
