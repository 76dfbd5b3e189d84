//! An error with its causes in one line, for the log.

use std::error::Error;

/// The error, then what caused it, down to the first cause.
pub fn in_one_line(error: &(dyn Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(found) = cause {
        line.push_str(": ");
        line.push_str(&found.to_string());
        cause = found.source();
    }
    line
}
