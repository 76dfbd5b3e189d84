//! The self-check of what the tool server itself guards around each command: what commands leave behind is
//! taken back, what is denied is hidden, and memory is bounded.
//!
//! The commands run as those of a call do, with the settings of the operator, but in a temporary root: what
//! people do in the real roots meanwhile is not to be taken back.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sandbox::{Depth, Finding, Tier, Verdict};
use toolkit::Call;

use crate::command::{CommandRequest, Commands, Environment, GuardedSpawner};
use crate::config::Config;
use crate::control_files::{ControlGuard, Leaving};
use crate::output_store::OutputStore;
use crate::startup_resources::StartupResources;

/// How long a command may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What the commands may have in memory, which is enough for each but the one that tries to take more.
const MEMORY_BYTES: u64 = 64 << 20;

/// What a denied file holds, and one beside it.
const SECRET: &str = "no command may read this";
const OPEN: &str = "every command may read this";

/// Leaves a repository with a setting that git executes and with an executable hook, or fails.
const LEAVE_REPOSITORY: &str = "mkdir -p repository/.git/{objects,refs,hooks} && cd repository/.git \
    && echo 'ref: refs/heads/main' > HEAD && printf '[core]\\n\\tfsmonitor = /bin/true\\n' > config \
    && printf '#!/bin/sh\\n' > hooks/pre-commit && chmod +x hooks/pre-commit && test -s config";

/// Tries the guards, each with commands in a temporary directory.
pub fn findings(config: Config) -> Vec<Finding> {
    match Trial::set_up(config) {
        Ok(trial) => trial.git_leftovers().into_iter().chain([trial.denied_name(), trial.memory()]).collect(),
        Err(error) => vec![finding("set up a temporary root", Err(format!("{error:#}")), "")],
    }
}

/// A root of its own, with commands that can reach nothing else.
struct Trial {
    root: PathBuf,
    commands: Commands,
    tier: Option<Tier>,
    /// A name that is denied in every directory.
    denied: Option<String>,
    /// Removes the root at the end.
    _scratch: tempfile::TempDir,
}

impl Trial {
    fn set_up(config: Config) -> anyhow::Result<Self> {
        let scratch = tempfile::tempdir()?;
        let config = config.with_scratch(scratch.path())?;
        let StartupResources { workspaces, spawner, capabilities, .. } =
            StartupResources::acquire(&config, Depth::Quick)?;
        let spawner = spawner.map_err(anyhow::Error::msg)?;
        let (files, settings) = (&config.files, &config.commands);
        let call = Call::own(TIMEOUT);
        let guard = ControlGuard::open(Arc::clone(&workspaces), &files.output_dir, Box::new(|_, _| {}))?;
        let spawner = GuardedSpawner::new(spawner, Arc::clone(&workspaces), Vec::new(), guard)?;
        let output = Arc::new(OutputStore::open(&files.output_dir)?);
        let roots = workspaces.of(&call.session).map_err(|error| anyhow::anyhow!(error.message))?;
        let environment = Environment::new(&settings.search_path, None, roots.paths(), &settings.variables);
        let root = roots.first().to_owned();
        let denied = files.denied.example().map(str::to_owned);
        let memory_bytes = settings.max_memory_bytes.min(MEMORY_BYTES);
        let commands = Commands::new(Ok(spawner), workspaces, environment, output, 0, memory_bytes);
        Ok(Self { root, commands, tier: capabilities.tier, denied, _scratch: scratch })
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
            leaving: Leaving::TakenBack,
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

    fn denied_name(&self) -> Finding {
        const ATTEMPT: &str = "read a denied name, also after its directory was renamed";
        let lost = |detail: &str| Finding {
            attempt: ATTEMPT.to_owned(),
            verdict: Verdict::StatedLoss,
            detail: detail.to_owned(),
        };
        let Some(name) = &self.denied else {
            return lost("AUTONOUS_TOOL_DENY_PATHS has no plain name to try");
        };
        match self.reads(name) {
            Ok(true) if self.tier == Some(Tier::B) => lost("tier B hides it from the file tools alone"),
            read => finding(ATTEMPT, read, "hidden from commands"),
        }
    }

    /// Whether a command reads a file of this name; its directory is renamed by a command, then by us.
    fn reads(&self, name: &str) -> Result<bool, String> {
        let failed = |error: std::io::Error| error.to_string();
        let [first, second, third] = ["a", "b", "c"].map(|name| self.root.join(name));
        fs::create_dir(&first).map_err(failed)?;
        fs::write(first.join(name), SECRET).map_err(failed)?;
        fs::write(first.join("open"), OPEN).map_err(failed)?;
        let during = self.run(&format!("cat a/{name}; mv a b; cat b/{name}; true"))?;
        fs::rename(if second.exists() { second } else { first }, third).map_err(failed)?;
        let after = self.run(&format!("cat c/{name} c/open; true"))?;
        if after.contains(OPEN) {
            Ok(during.contains(SECRET) || after.contains(SECRET))
        } else {
            Err("the file beside it cannot be read either".to_owned())
        }
    }

    fn memory(&self) -> Finding {
        // `tail` keeps the whole of a last line.
        let got_through = match self.run("head -c 1073741824 /dev/zero | tail > /dev/null") {
            Err(error) if error.contains("AUTONOUS_TOOL_MAX_MEMORY_MB") => Ok(false),
            ended => ended.map(|_| true),
        };
        finding("take more memory than a command may have", got_through, "killed")
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
