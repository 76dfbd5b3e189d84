//! An error and its sources in one line, for the log.

use std::error::Error;

pub(crate) fn error_chain(error: &(dyn Error + 'static)) -> String {
    anyhow::Chain::new(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
