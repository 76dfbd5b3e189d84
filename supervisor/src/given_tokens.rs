//! The tokens that the operator gives, and that they differ; the others are made at each start.

use process::Secret;
use settings::table::{CONTROL_READ_TOKEN, CONTROL_TOKEN, TOOL_TOKEN};
use settings::{SettingError, Source};

const CALLS_TOOLS: &str =
    "another token than AUTONOUS_CONTROL_TOKEN: who calls tools must not decide about it";
const CHANGES_EVERYTHING: &str = "another token than AUTONOUS_CONTROL_TOKEN, which may change everything";

#[derive(Debug, Default)]
pub struct GivenTokens {
    pub control: Option<Secret>,
    /// Reads at the control port, and changes nothing.
    pub control_read: Option<Secret>,
    /// For callers of the tool server.
    pub tool: Option<Secret>,
}

impl GivenTokens {
    /// Fails with the variable of one that is too weak, or the same as another one.
    pub(crate) fn read(source: &Source) -> Result<Self, SettingError> {
        let given = Self {
            control: CONTROL_TOKEN.read(source)?,
            control_read: CONTROL_READ_TOKEN.read(source)?,
            tool: TOOL_TOKEN.read(source)?,
        };
        let Self { control, control_read, tool } = &given;
        for (setting, token, other, expected) in [
            (TOOL_TOKEN, tool, control, CALLS_TOOLS),
            (CONTROL_READ_TOKEN, control_read, control, CHANGES_EVERYTHING),
            (CONTROL_READ_TOKEN, control_read, tool, "another token than AUTONOUS_TOOL_TOKEN"),
        ] {
            if token.as_ref().zip(other.as_ref()).is_some_and(|(one, other)| one.matches(other.expose())) {
                return Err(setting.refuse("***", expected));
            }
        }
        Ok(given)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<const N: usize>(pairs: [(&str, &str); N]) -> Option<String> {
        let read = GivenTokens::read(&Source::from_pairs(pairs));
        read.err().map(|error| error.to_string())
    }

    #[test]
    fn weak_tokens_and_equal_ones_are_refused_by_name_and_not_printed() {
        let (control, reading, tool) =
            ("AUTONOUS_CONTROL_TOKEN", "AUTONOUS_CONTROL_READ_TOKEN", "AUTONOUS_TOOL_TOKEN");
        for (name, refused) in [
            (tool, refused([(tool, "hunter2")])),
            (tool, refused([(tool, "hunter2 hunter2")])),
            (reading, refused([(reading, "hunter2")])),
            (tool, refused([(control, "hunter2hunter2"), (tool, "hunter2hunter2")])),
            (reading, refused([(control, "hunter2hunter2"), (reading, "hunter2hunter2")])),
            (reading, refused([(tool, "hunter2hunter2"), (reading, "hunter2hunter2")])),
        ] {
            let refused = refused.unwrap_or_else(|| panic!("{name} is accepted"));
            assert!(refused.contains(name) && !refused.contains("hunter2"), "{refused}");
        }
        assert_eq!(refused([(control, "FAKE-one-"), (tool, "FAKE-two-"), (reading, "FAKE-three")]), None);
    }
}
