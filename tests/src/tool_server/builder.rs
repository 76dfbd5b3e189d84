//! Sets up a tool server, also one that must refuse to start.

use std::path::PathBuf;
use std::process::ExitStatus;

use super::{APPROVER, ToolServer, listening};
use crate::builder::Builder;
use crate::program::Launch;
use crate::{Program, TestDir, leftovers};

pub type ToolServerBuilder = Builder<OfToolServer>;

#[derive(Debug)]
pub struct OfToolServer {
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
        let own = OfToolServer { roots: vec![dir.root()], token: None };
        Self { dir, launch, own }
    }

    /// Replaces the roots.
    #[must_use]
    pub fn roots(mut self, roots: &[PathBuf]) -> Self {
        self.own.roots = roots.to_vec();
        self
    }

    #[must_use]
    pub fn token(mut self, token: &str) -> Self {
        self.own.token = Some(token.to_owned());
        self.variable("AUTONOUS_TOOL_TOKEN", token)
    }

    /// Somebody can be asked about calls, with the token [`APPROVER`].
    #[must_use]
    pub fn approver(self) -> Self {
        self.variable("AUTONOUS_TOOL_APPROVER_TOKEN", APPROVER)
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
        let OfToolServer { roots, token } = self.own;
        ToolServer { program, launch, address, token, roots, dir: self.dir }
    }

    /// Starts a server that must refuse to run.
    pub fn start_refused(self) -> Refusal {
        Refusal::of(&self.dir, &self.whole_launch())
    }

    fn whole_launch(&self) -> Launch {
        let mut launch = self.launch.clone();
        let roots: Vec<String> = self.own.roots.iter().map(|root| root.display().to_string()).collect();
        launch.variables.insert(0, ("AUTONOUS_TOOL_ALLOWED_ROOTS".to_owned(), roots.join(",")));
        launch
    }
}
