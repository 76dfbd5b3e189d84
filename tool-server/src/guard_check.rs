//! The self-check of what the tool server itself guards around each command: what commands leave behind is
//! taken back, and what is denied is hidden.
//!
//! The commands run as those of a call do, with the settings of the operator, but in a temporary root: what
//! people do in the real roots meanwhile is not to be taken back.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sandbox::{Depth, Finding, Verdict};
use toolkit::Call;

use crate::command::{CommandRequest, Commands, Environment, GuardedSpawner};
use crate::config::Config;
use crate::control_files::ControlGuard;
use crate::output_store::OutputStore;
use crate::startup_resources::StartupResources;

/// How long a command may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Leaves a repository with a setting that git executes and with an executable hook, or fails.
const LEAVE_REPOSITORY: &str = "mkdir -p repository/.git/{objects,refs,hooks} && cd repository/.git \
    && echo 'ref: refs/heads/main' > HEAD && printf '[core]\\n\\tfsmonitor = /bin/true\\n' > config \
    && printf '#!/bin/sh\\n' > hooks/pre-commit && chmod +x hooks/pre-commit && test -s config";

/// Tries the guards, each with commands in a temporary directory.
pub fn findings(config: Config) -> Vec<Finding> {
    match Trial::set_up(config) {
        Ok(trial) => trial.git_leftovers().into(),
        Err(error) => vec![finding("set up a temporary root", Err(format!("{error:#}")), "")],
    }
}

/// A root of its own, with commands that can reach nothing else.
struct Trial {
    root: PathBuf,
    commands: Commands,
    /// Removes the root at the end.
    _scratch: tempfile::TempDir,
}

impl Trial {
    fn set_up(config: Config) -> anyhow::Result<Self> {
        let scratch = tempfile::tempdir()?;
        let config = config.with_scratch(scratch.path())?;
        let StartupResources { roots, spawner, .. } = StartupResources::acquire(&config, Depth::Quick)?;
        let spawner = spawner.map_err(anyhow::Error::msg)?;
        let (roots, files, settings) = (Arc::new(roots), &config.files, &config.commands);
        let guard = ControlGuard::open(Arc::clone(&roots), &files.output_dir, Box::new(|_, _| {}))?;
        let spawner = GuardedSpawner::new(spawner, Arc::clone(&roots), Vec::new(), guard)?;
        let output = Arc::new(OutputStore::open(&files.output_dir)?);
        let environment = Environment::new(&settings.search_path, None, roots.paths(), &settings.variables);
        let root = roots.first().to_owned();
        let commands = Commands::new(Ok(spawner), roots, environment, output, 0, settings.max_memory_bytes);
        Ok(Self { root, commands, _scratch: scratch })
    }

    /// What a command line writes, or why it failed.
    fn run(&self, line: &str) -> Result<String, String> {
        let said = |error: protocol::ToolError| error.message;
        let request = CommandRequest {
            program: &self.commands.program("bash").map_err(said)?,
            arguments: vec!["-c".into(), line.into()],
            workdir: self.root.clone(),
            timeout: TIMEOUT,
            tool: "bash",
        };
        let ended = self.commands.run(&Call::own(TIMEOUT), request);
        ended.map(|success| success.stdout).map_err(|failure| said(failure.error))
    }

    fn git_leftovers(&self) -> [Finding; 2] {
        let git = self.root.join("repository/.git");
        let left = self.run(LEAVE_REPOSITORY);
        let remains = |is_there: fn(&Path) -> bool| left.clone().map(|_| is_there(&git));
        let held = "taken back when the command ended";
        [
            finding("leave a git setting that starts a program", remains(has_setting), held),
            finding(
                "leave an executable git hook",
                remains(|git| git.join("hooks/pre-commit").exists()),
                held,
            ),
        ]
    }
}

fn has_setting(git: &Path) -> bool {
    match fs::read_to_string(git.join("config")) {
        Ok(config) => config.contains("fsmonitor"),
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// `got_through`: whether the attempt did, or why it could not be made. `held`: what stopped it.
fn finding(attempt: &str, got_through: Result<bool, String>, held: &str) -> Finding {
    let (verdict, detail) = match got_through {
        Ok(false) => (Verdict::Holds, held.to_owned()),
        Ok(true) => (Verdict::Escaped, "nothing stopped it".to_owned()),
        Err(error) => (Verdict::Broken, error),
    };
    Finding { attempt: attempt.to_owned(), verdict, detail }
}
