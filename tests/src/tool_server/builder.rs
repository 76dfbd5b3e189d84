//! Sets up a tool server, also one that must refuse to start.

use std::path::PathBuf;
use std::process::ExitStatus;

use super::{ToolServer, listening};
use crate::program::Launch;
use crate::test_dir::ALLOW_ALL;
use crate::{Program, TestDir, leftovers};

#[derive(Debug)]
pub struct ToolServerBuilder {
    dir: TestDir,
    launch: Launch,
    roots: Vec<PathBuf>,
    token: Option<String>,
}

#[derive(Debug)]
pub struct Refusal {
    pub status: ExitStatus,
    pub stderr: String,
}

impl Refusal {
    pub(crate) fn of(dir: &TestDir, launch: &Launch) -> Self {
        let mut program = Program::start(dir, launch);
        let status = program.wait();
        leftovers::assert_no_process(dir);
        Self { status, stderr: program.log() }
    }
}

impl ToolServerBuilder {
    pub(super) fn new() -> Self {
        let dir = TestDir::new();
        let launch = Launch::new(&dir, "tool-server", "serve");
        let roots = vec![dir.root()];
        Self { dir, launch, roots, token: None }
    }

    pub fn dir(&self) -> &TestDir {
        &self.dir
    }

    #[must_use]
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.launch.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Replaces the roots.
    #[must_use]
    pub fn roots(mut self, roots: &[PathBuf]) -> Self {
        self.roots = roots.to_vec();
        self
    }

    #[must_use]
    pub fn token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self.variable("AUTONOUS_TOOL_TOKEN", token)
    }

    /// Gives the server a `policy.toml` with these rules, outside its root.
    #[must_use]
    pub fn policy(self, rules: &str) -> Self {
        let config = self.dir.write_policy(rules);
        self.variable("AUTONOUS_CONFIG_DIR", &config)
    }

    /// Gives the server a `policy.toml` that allows every call.
    #[must_use]
    pub fn allowing_all(self) -> Self {
        self.policy(ALLOW_ALL)
    }

    /// Runs the server as an ordinary user, who then owns the directory, even if the test runs as root.
    #[must_use]
    pub fn unprivileged(mut self) -> Self {
        self.launch.unprivileged = true;
        self.launch.binary = self.dir.hand_over(&self.launch.binary);
        self
    }

    /// Starts the server and waits until it listens.
    pub fn start(self) -> ToolServer {
        let launch = self.whole_launch();
        let (program, address) = listening(&self.dir, &launch);
        ToolServer { program, launch, address, token: self.token, roots: self.roots, dir: self.dir }
    }

    /// Starts a server that must refuse to run.
    pub fn start_refused(self) -> Refusal {
        Refusal::of(&self.dir, &self.whole_launch())
    }

    fn whole_launch(&self) -> Launch {
        let mut launch = self.launch.clone();
        let roots: Vec<String> = self.roots.iter().map(|root| root.display().to_string()).collect();
        launch.variables.insert(0, ("AUTONOUS_TOOL_ALLOWED_ROOTS".to_owned(), roots.join(",")));
        launch
    }
}
