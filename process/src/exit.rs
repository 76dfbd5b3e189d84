//! The exit codes that the programs agree on.
//!
//! A child with invalid settings says so by its exit code. Starting it again with the same settings would not
//! help, so its parent stops instead of trying forever.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use protocol::visible;

use crate::log_queue::{self, LogSink};

/// The settings are invalid: `EX_CONFIG` of `sysexits.h`.
pub const BAD_SETTINGS: u8 = 78;

/// Context for an error that a bad setting caused; the text names the setting.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadSetting(pub &'static str);

/// How long the last lines of a log may take to be written.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Ends a program: prints the error that ended it, if one did, waits for its log, and returns its exit code.
/// If nothing reads stderr, the code must do. `is_bad_setting` knows the errors about settings.
pub fn end(
    program: &str,
    ended: anyhow::Result<ExitCode>,
    is_bad_setting: fn(&anyhow::Error) -> bool,
) -> ExitCode {
    let code = ended.unwrap_or_else(|error| {
        let text = format!("{program}: {error:#}");
        let _ = LogSink.write_all(format!("{}\n", visible::escaped(&text)).as_bytes());
        code_of(&error, is_bad_setting)
    });
    log_queue::flush(LAST_LINES);
    code
}

/// The exit code of a program that ends with this error.
fn code_of(error: &anyhow::Error, is_bad_setting: fn(&anyhow::Error) -> bool) -> ExitCode {
    let is_setting = is_bad_setting(error) || error.downcast_ref::<BadSetting>().is_some();
    if is_setting { ExitCode::from(BAD_SETTINGS) } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    fn check(error: anyhow::Error, expected: ExitCode) {
        let is_bad_setting = |error: &anyhow::Error| error.downcast_ref::<std::fmt::Error>().is_some();
        assert_eq!(code_of(&error, is_bad_setting), expected, "{error:#}");
    }

    #[test]
    fn a_bad_setting_has_its_own_exit_code_at_any_depth() {
        let known = || anyhow::Error::from(std::fmt::Error);
        let missing = || Err::<(), _>(std::io::Error::from(std::io::ErrorKind::NotFound));
        check(known(), ExitCode::from(78));
        check(known().context("at the start").context("further out"), ExitCode::from(78));
        check(missing().context(BadSetting("cannot use NAME")).unwrap_err(), ExitCode::from(78));
        check(missing().context("the file is gone").unwrap_err(), ExitCode::FAILURE);
    }
}
