//! An error and its sources in one line, for the log.

use std::error::Error;

/// The error, and after each colon what caused it.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    anyhow::Chain::new(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
