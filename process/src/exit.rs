//! The exit codes that the programs agree on.
//!
//! A child whose settings can not work says so by its exit code: starting it again with the same settings
//! can not help, so its parent stops instead of trying for ever.

use std::process::ExitCode;

use crate::VariableError;

/// The settings can not work: `EX_CONFIG` of `sysexits.h`.
pub const BAD_SETTINGS: u8 = 78;

/// What a setting was used for failed by the setting's own fault: a context for an error, which names the
/// setting.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadSetting(pub &'static str);

/// The exit code of a program that ends with this error.
pub fn code_of(error: &anyhow::Error) -> ExitCode {
    let is_setting =
        error.downcast_ref::<VariableError>().is_some() || error.downcast_ref::<BadSetting>().is_some();
    if is_setting { ExitCode::from(BAD_SETTINGS) } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    fn check(error: anyhow::Error, expected: ExitCode) {
        assert_eq!(code_of(&error), expected, "{error:#}");
    }

    #[test]
    fn a_bad_setting_has_a_code_of_its_own_however_deep_it_lies() {
        let variable = || anyhow::Error::from(VariableError::new("NAME", "value", "another"));
        let missing = || Err::<(), _>(std::io::Error::from(std::io::ErrorKind::NotFound));
        check(variable(), ExitCode::from(78));
        check(variable().context("at the start").context("further out"), ExitCode::from(78));
        check(missing().context(BadSetting("NAME can not be used")).unwrap_err(), ExitCode::from(78));
        check(missing().context("the file is gone").unwrap_err(), ExitCode::FAILURE);
    }
}
