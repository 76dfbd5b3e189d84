//! Sets up what a test starts: its directory, and the variables of its programs.

use crate::TestDir;
use crate::program::Launch;

/// Rules that allow every call.
const ALLOW_ALL: &str = "[[rule]]\ndecision = \"allow\"\n";

/// The set-up of a tool server or of a whole system; `own` is what only that one has.
#[derive(Debug)]
pub struct Builder<Own> {
    pub(crate) dir: TestDir,
    pub(crate) launch: Launch,
    pub(crate) own: Own,
}

impl<Own> Builder<Own> {
    pub fn dir(&self) -> &TestDir {
        &self.dir
    }

    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.launch.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn variables(self, variables: &[(&str, &str)]) -> Self {
        variables.iter().fold(self, |builder, (name, value)| builder.variable(name, value))
    }

    /// Gives it a file of the configuration directory, outside of what tools reach.
    #[must_use]
    pub fn config(self, name: &str, text: &str) -> Self {
        let config = self.dir.write_config(name, text);
        self.variable("AUTONOUS_CONFIG_DIR", &config)
    }

    #[must_use]
    pub fn policy(self, rules: &str) -> Self {
        self.config("policy.toml", rules)
    }

    /// Gives it a `policy.toml` that allows every call.
    #[must_use]
    pub fn allowing_all(self) -> Self {
        self.policy(ALLOW_ALL)
    }
}
