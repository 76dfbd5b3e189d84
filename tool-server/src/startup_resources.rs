//! What the server acquires before it reads any secret: the roots' handles and the spawner of commands.
//!
//! The spawner is forked here, while the process has one thread, no secrets and no connections.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use cage::command::{error_chain, git_settings};
use fetcher::Fetcher;
use files::roots::{Roots, Workspaces};
use process::exit::BadSetting;
use rustix::fs::{Mode as FileMode, OFlags};
use sandbox::{Capabilities, Depth, Mode, SandboxError, Spawner, SpawnerSettings};
use settings::SettingError;
use settings::choices::Division;
use settings::table::{TOOL_READONLY_ROOTS, WORKSPACES};

use crate::config::Config;
use crate::self_check;

/// What the server acquires at its start.
#[derive(Debug)]
pub struct StartupResources {
    pub(crate) workspaces: Arc<Workspaces>,
    /// What commands may read besides the roots.
    pub(crate) readonly_roots: Vec<sandbox::Root>,
    /// Runs commands, or says why none can run.
    pub spawner: Result<Arc<Spawner>, String>,
    /// How commands are sandboxed.
    pub capabilities: Capabilities,
    /// Asks the web; none where no host may be asked.
    pub fetcher: Option<Arc<Fetcher>>,
}

impl StartupResources {
    /// Opens the roots, forks the spawner, and tries to break out of its sandbox as far as `depth` says.
    pub fn acquire(config: &Config, depth: Depth) -> anyhow::Result<Self> {
        let files = &config.files;
        for directory in [&files.output_dir, &files.skills_dir, &scratch(config)] {
            create_private(directory)?;
        }
        let roots = Roots::open(&files.roots, files.denied.clone(), files.protected.clone(), |root| {
            self_check::forbidden_root_reason(root, config)
        })
        .and_then(|roots| roots.with_output(&files.output_dir))
        .context(BadSetting("AUTONOUS_TOOL_ALLOWED_ROOTS cannot be used"))?;
        let readonly_roots = readonly_roots(config)?;
        if files.division == Division::PerChat {
            refuse_nested(&roots, &readonly_roots)?;
        }
        if config.commands.disable_exec {
            let reason = "commands are switched off (AUTONOUS_TOOL_DISABLE_EXEC)".to_owned();
            let capabilities = Capabilities::switched_off(&reason);
            let workspaces = Arc::new(Workspaces::new(roots, files.division));
            return Ok(Self {
                workspaces,
                readonly_roots: Vec::new(),
                spawner: Err(reason),
                capabilities,
                fetcher: None,
            });
        }
        let started = settings(config, &roots, readonly_roots).and_then(|settings| {
            let spawner = Spawner::start(&settings)?;
            let capabilities = spawner.self_check(depth)?;
            Ok((spawner, capabilities, settings.readonly_roots))
        });
        Self::with(config.commands.sandbox, Workspaces::new(roots, files.division), started)
    }

    fn with(
        mode: Mode,
        workspaces: Workspaces,
        started: Result<(Spawner, Capabilities, Vec<sandbox::Root>), SandboxError>,
    ) -> anyhow::Result<Self> {
        let (spawner, capabilities, readonly_roots) = match started {
            Ok((spawner, capabilities, readonly_roots)) => match capabilities.escape() {
                None => {
                    spawner.prepare();
                    (Ok(Arc::new(spawner)), capabilities, readonly_roots)
                }
                Some(escape) => {
                    let reason = format!(
                        "the self-check broke out of the sandbox: {} ({})",
                        escape.attempt, escape.detail
                    );
                    (Err(reason), capabilities, Vec::new())
                }
            },
            Err(error) => (Err(error_chain(&error)), Capabilities::without_commands(&error), Vec::new()),
        };
        if let (Err(reason), Mode::Full | Mode::Landlock) = (&spawner, mode) {
            let remedy = capabilities.remedy.unwrap_or_default();
            anyhow::bail!(
                "AUTONOUS_TOOL_SANDBOX={mode:?} is not possible on this machine: {reason}. {remedy}"
            );
        }
        Ok(Self { workspaces: Arc::new(workspaces), readonly_roots, spawner, capabilities, fetcher: None })
    }
}

/// Opens the directories that commands may read: those of the operator, and the skills.
fn readonly_roots(config: &Config) -> anyhow::Result<Vec<sandbox::Root>> {
    let mut roots = Vec::new();
    for path in &config.commands.readonly_roots {
        let refused = |expected: String| TOOL_READONLY_ROOTS.refuse(path.display().to_string(), expected);
        let root = readonly_root(path)
            .map_err(|error| refused(format!("directories that the server can open ({error})")))?;
        if let Some(reason) = self_check::forbidden_readonly_root_reason(&root.path, config) {
            return Err(refused(format!("directories that commands may read ({reason})")).into());
        }
        roots.push(root);
    }
    let skills = &config.files.skills_dir;
    let skills =
        readonly_root(skills).with_context(|| format!("cannot open the skills in {}", skills.display()))?;
    roots.push(skills);
    Ok(roots)
}

/// A session sees nothing of a root but its own directory, so nothing else can lie in one.
fn refuse_nested(roots: &Roots, readonly: &[sandbox::Root]) -> Result<(), SettingError> {
    let all: Vec<&Path> = roots.paths().chain(readonly.iter().map(|root| root.path.as_path())).collect();
    let nested = roots.paths().find_map(|outer| {
        let inner = all.iter().find(|inner| **inner != outer && inner.starts_with(outer))?;
        Some(format!(
            "shared, or no root or directory that commands may read in another: {inner:?} is in {outer:?}"
        ))
    });
    match nested {
        None => Ok(()),
        Some(expected) => Err(WORKSPACES.refuse("per-chat", expected)),
    }
}

fn settings(
    config: &Config,
    roots: &Roots,
    readonly_roots: Vec<sandbox::Root>,
) -> Result<SpawnerSettings, SandboxError> {
    Ok(SpawnerSettings {
        roots: roots.for_sandbox().map_err(SandboxError::Unreachable)?,
        divided: config.files.division == Division::PerChat,
        readonly_roots,
        home_files: vec![(".gitconfig", git_settings(&config.commands.variables).into_bytes())],
        mode: config.commands.sandbox,
        network: config.commands.network,
        scratch: scratch(config),
    })
}

fn readonly_root(path: &Path) -> std::io::Result<sandbox::Root> {
    let path = path.canonicalize()?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = rustix::fs::open(&path, flags, FileMode::empty())?;
    Ok(sandbox::Root { path, handle })
}

/// The homes of commands in tier B: beside the journal, outside every root.
fn scratch(config: &Config) -> std::path::PathBuf {
    config.files.journal_dir().join("homes")
}

/// Creates a directory that only this user can enter, unless it exists.
fn create_private(directory: &Path) -> anyhow::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .with_context(|| format!("cannot create the directory {}", directory.display()))
}
