//! What the tools of this server share.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cage::command::{Commands, Environment};
use command_policy::{Policy, PolicySettings};
use files::change::{Changer, Durability, FileHashes, UndoStore, hash_file};
use files::output_store::OutputStore;
use files::roots::{UNDO_DIRECTORY, Workspaces};
use protocol::{ErrorCode, ToolError};
use serde_json::Value;
use settings::table::{TOOL_SEARCH_MAX_ENTRIES, TOOL_TIMEOUT_SECONDS};
use toolkit::policy::{TouchedPath, Touches};
use toolkit::{Call, NamedFiles, Scope};

use crate::raw_files::RawFiles;
use crate::search::SearchLimits;
use crate::skills::Skills;
use crate::supervisor_link::Supervisor;
use crate::web::Web;

/// How long the files that a call names may take to be hashed.
pub(crate) const HASH_WITHIN: Duration = Duration::from_secs(30);

/// What a tool may use; files can be reached only through it.
#[derive(Debug, Clone)]
pub struct ToolContext {
    pub(crate) workspaces: Arc<Workspaces>,
    /// The only code that changes files.
    pub(crate) changer: Arc<Changer>,
    /// The largest file that is hashed and edited, in bytes.
    pub(crate) max_edit_bytes: u64,
    /// The hashes of the files that were downloaded last.
    pub(crate) file_hashes: Arc<FileHashes>,
    /// What the operator allows of raw files.
    pub(crate) raw_files: RawFiles,
    /// How much a search may take.
    pub search: SearchLimits,
    pub(crate) commands: Arc<Commands>,
    /// Refuses command lines, with advice.
    pub(crate) policy: Arc<Policy>,
    pub(crate) skills: Arc<Skills>,
    /// The web; none where no host may be asked.
    pub(crate) web: Option<Arc<Web>>,
    /// How long a command may run, unless its call says.
    pub(crate) command_timeout: Duration,
    /// The supervisor; none where the server runs without one.
    pub(crate) supervisor: Option<Arc<Supervisor>>,
}

impl ToolContext {
    /// What runs commands.
    pub fn commands(&self) -> Arc<Commands> {
        Arc::clone(&self.commands)
    }

    /// Whether there is a supervisor, which tools of channels need.
    pub(crate) fn has_supervisor(&self) -> bool {
        self.supervisor.is_some()
    }

    /// The supervisor. Calls that need it are refused before, where there is none.
    pub(crate) fn supervisor(&self) -> Result<&Supervisor, ToolError> {
        let message = "This tool server runs without a supervisor.";
        self.supervisor.as_deref().ok_or_else(|| ToolError::new(ErrorCode::ToolNotAllowed, message))
    }

    /// Whether what lies at a path comes from the web.
    pub(crate) fn is_from_outside(&self, path: &Path) -> bool {
        self.web.as_ref().is_some_and(|web| web.is_from_outside(path))
    }

    /// A context for the file tools alone: no commands, no skills, the default search limits.
    ///
    /// `pending` and `output` are directories outside the roots; leftovers of an earlier server are removed.
    /// What changes replace is kept in `output`, up to `max_undo_bytes`.
    pub fn files_only(
        workspaces: impl Into<Arc<Workspaces>>,
        pending: &Path,
        output: Arc<OutputStore>,
        max_edit_bytes: u64,
        max_undo_bytes: u64,
        durability: Durability,
    ) -> std::io::Result<Self> {
        let workspaces = workspaces.into();
        let roots: Vec<&Path> = workspaces.whole().paths().collect();
        let undo = UndoStore::open(&output.directory().join(UNDO_DIRECTORY), max_undo_bytes, &roots)?;
        let changer = Changer::open(Arc::clone(&workspaces), pending, max_edit_bytes, undo, durability)?;
        let no_commands = Commands::new(
            Err("commands are switched off (AUTONOUS_TOOL_DISABLE_EXEC)".to_owned()),
            Arc::clone(&workspaces),
            Environment::new("", None, std::iter::empty(), &[]),
            output,
            0,
            0,
        );
        Ok(Self {
            workspaces,
            changer: Arc::new(changer),
            max_edit_bytes,
            file_hashes: Arc::default(),
            raw_files: RawFiles::default(),
            search: SearchLimits::new(TOOL_SEARCH_MAX_ENTRIES.default_value()),
            commands: Arc::new(no_commands),
            policy: Arc::new(Policy::new(PolicySettings::default())),
            skills: Arc::default(),
            web: None,
            command_timeout: TOOL_TIMEOUT_SECONDS.default_value(),
            supervisor: None,
        })
    }

    /// The same with the web as it is set up, but without a fetcher.
    pub fn with_web(self, settings: fetcher::Settings, output: Arc<OutputStore>) -> Self {
        let web = Web::new(settings, output, Arc::clone(&self.workspaces));
        Self { web: Some(Arc::new(web)), ..self }
    }

    /// What a call touches whose only path is its argument `path`; without one it is the first root.
    pub(crate) fn touches(&self, arguments: &Value, scope: &Scope) -> Touches {
        let paths = self.paths_touched(arguments["path"].as_str().unwrap_or("."), scope);
        Touches { paths, ..Touches::default() }
    }

    /// What a path leads to. The tool itself refuses one that cannot be followed.
    pub(crate) fn paths_touched(&self, path: &str, scope: &Scope) -> Vec<TouchedPath> {
        self.workspaces.of(scope).map(|roots| roots.touched(path)).unwrap_or_default()
    }

    /// The file of a file tool's call: where its path leads, and its state now.
    pub(crate) fn named_files(&self, arguments: &Value, scope: &Scope) -> Result<NamedFiles, ToolError> {
        self.contents([arguments["path"].as_str().unwrap_or(".").to_owned()], scope)
    }

    /// Where paths lead, each with the SHA-256 of the file there, or with why there is none.
    pub(crate) fn contents(
        &self,
        paths: impl IntoIterator<Item = String>,
        scope: &Scope,
    ) -> Result<NamedFiles, ToolError> {
        let roots = self.workspaces.of(scope)?;
        let call = Call::own(HASH_WITHIN);
        let mut contents = NamedFiles::new();
        for path in paths {
            let content = match roots.open_file(&path) {
                Ok(opened) => hash_file(&opened.handle, &path, &call)?.0,
                Err(error) => error.code.to_string(),
            };
            for touched in roots.touched(&path) {
                contents.insert(touched.path.display().to_string(), content.clone());
            }
        }
        Ok(contents)
    }

    /// Whether commands can run in the background.
    pub(crate) fn has_processes(&self) -> bool {
        self.commands.can_run() && self.commands.processes().are_allowed()
    }

    /// The time limit of a command whose call names this many seconds, or none.
    pub(crate) fn command_timeout(&self, seconds: Option<u64>) -> Duration {
        seconds.map_or(self.command_timeout, Duration::from_secs)
    }
}

/// Says in an `impl Tool` that a call touches and names the file of its argument `path` alone.
macro_rules! touches_its_path {
    () => {
        fn touches(
            &self,
            arguments: &::serde_json::Value,
            scope: &::toolkit::Scope,
        ) -> ::toolkit::policy::Touches {
            self.0.touches(arguments, scope)
        }

        fn named_files(
            &self,
            arguments: &::serde_json::Value,
            scope: &::toolkit::Scope,
        ) -> Result<::toolkit::NamedFiles, ::protocol::ToolError> {
            self.0.named_files(arguments, scope)
        }
    };
}

pub(crate) use touches_its_path;
