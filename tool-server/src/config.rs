//! All settings, read once before anything is opened; nothing else reads the environment or the cwd.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use cage::control_files::ControlFiles;
use cage::processes::ProcessLimits;
use files::roots::DeniedPaths;
use process::exit::BadSetting;
use sandbox::{Mode, Network};
use settings::choices::{Division, SandboxMode, Words};
use settings::command_network::{CommandNetwork, Domains};
use settings::table::{
    APPROVAL_TIMEOUT_SECONDS, CONFIG_DIR, DATA_DIR, QUESTION_TIMEOUT_SECONDS, SKILLS_DIR, TOOL_ALLOWED_ROOTS,
    TOOL_APPROVER_TOKEN, TOOL_BASH_ALLOW_NETWORK, TOOL_BASH_DENYLIST, TOOL_BASH_NETWORK, TOOL_DENY_PATHS,
    TOOL_DISABLE_EXEC, TOOL_DISABLED, TOOL_ENV, TOOL_JOURNAL, TOOL_JOURNAL_MAX_BYTES, TOOL_MAX_COMMANDS,
    TOOL_MAX_EDIT_BYTES, TOOL_MAX_MEMORY_MB, TOOL_MAX_OUTPUT_BYTES, TOOL_MAX_OUTPUT_LINES,
    TOOL_MAX_PROCESS_SECONDS, TOOL_MAX_PROCESSES, TOOL_MAX_UPLOAD_BYTES, TOOL_MIN_FREE_MB, TOOL_OUTPUT_DIR,
    TOOL_PROTECTED, TOOL_RAW_FILES, TOOL_READONLY_ROOTS, TOOL_SANDBOX, TOOL_SEARCH_MAX_ENTRIES,
    TOOL_TIMEOUT_SECONDS, TOOL_TOKEN, TOOL_TOKENS_FILE, UNDO_MAX_MB, WORKSPACES,
};
use settings::{Optional, Program, Row, SettingError, Source};
use toolkit::Bounds;

use crate::client_data::{self, ClientData};
use crate::raw_files::RawFiles;

/// The variables with secrets; they are removed from the environment first of all.
pub const SECRET_VARIABLES: &[&str] = &[TOOL_TOKEN.name(), TOOL_APPROVER_TOKEN.name()];

/// The journal's default place in the data directory.
pub const DEFAULT_JOURNAL: &str = "journal/tool-calls.jsonl";

/// All settings.
#[derive(Debug)]
pub struct Config {
    /// What the tools may reach.
    pub files: Files,
    /// How much a call may take.
    pub limits: Limits,
    /// Whether whole files go in and out as they are.
    pub raw_files: RawFiles,
    /// Tools that are switched off.
    pub disabled: BTreeSet<String>,
    /// How commands are run.
    pub commands: CommandSettings,
    /// What of the web may be asked.
    pub web: fetcher::Settings,
}

/// How commands are run.
#[derive(Debug)]
pub struct CommandSettings {
    /// Serve the file tools alone.
    pub disable_exec: bool,
    /// Commands' sandbox; without it, `full` and `landlock` stop the start.
    pub(crate) sandbox: Mode,
    /// Toolchains that commands can see.
    pub(crate) readonly_roots: Vec<PathBuf>,
    /// Variables of commands, `NAME` as the server has it or `NAME=value`.
    pub(crate) variables: Vec<(String, String)>,
    /// `AUTONOUS_TOOL_BASH_NETWORK` (`off`): `public` and `all` need a token.
    pub network: Network,
    /// The same as a list, with [`Network::Listed`].
    pub(crate) domains: Option<Domains>,
    /// Further command words that are refused.
    pub(crate) denied_words: Vec<String>,
    /// Commands are killed when a root's disk has less left; in bytes.
    pub(crate) min_free_bytes: u64,
    /// The memory of a whole command; in bytes.
    pub(crate) max_memory_bytes: u64,
    /// How many may run in the background, and for how long.
    pub(crate) processes: ProcessLimits,
    /// PATH, for commands and for the self-check.
    pub(crate) search_path: String,
    /// LANG, for commands.
    pub(crate) language: Option<String>,
}

/// What the tools may reach.
#[derive(Debug)]
pub struct Files {
    /// Absolute.
    pub data_dir: PathBuf,
    /// The directories that tools may use.
    pub roots: Vec<PathBuf>,
    /// `AUTONOUS_WORKSPACES` (`shared`): `per-chat` gives each session a directory of its own in each root.
    pub division: Division,
    /// Names that are withheld beneath the roots.
    pub denied: DeniedPaths,
    /// Control files, which tools never write.
    pub protected: ControlFiles,
    /// The journal.
    pub journal: PathBuf,
    /// A longer journal file is archived.
    pub(crate) journal_max_bytes: u64,
    /// Where long output is kept.
    pub output_dir: PathBuf,
    pub(crate) skills_dir: PathBuf,
    /// The directory of `policy.toml`.
    pub config_dir: Option<PathBuf>,
    /// The file of named tokens.
    pub tokens_file: Option<PathBuf>,
}

/// How much a call may take.
#[derive(Debug)]
pub struct Limits {
    /// Of every call that names none.
    pub timeout: Duration,
    /// How long a call waits for a person, and a yes for its call.
    pub approval_timeout: Duration,
    /// How long a question of the model waits.
    pub question_timeout: Duration,
    /// The most commands at once.
    pub max_commands: usize,
    /// How much of an output is shown.
    pub bounds: Bounds,
    /// The largest file that is hashed and edited.
    pub max_edit_bytes: u64,
    /// How much of what changes replace is kept, for a week; 0 keeps nothing.
    /// In bytes.
    pub(crate) max_undo_bytes: u64,
    /// The most entries that one search looks at.
    pub(crate) search_max_entries: u64,
}

impl Config {
    /// Whether a tool may ask the web: because a host is listed, or because somebody can be asked about one;
    /// or whether commands may ask some domains.
    pub fn needs_the_web(&self, can_ask: bool) -> bool {
        let is_on = |tool: &str| !self.disabled.contains(tool);
        let has_proxies = self.commands.domains.is_some() && !self.commands.disable_exec;
        has_proxies
            || (is_on("url_fetch") && (can_ask || self.web.can_fetch()))
            || (is_on("web_search") && (can_ask || self.web.can_search()))
    }

    /// Reads all settings; relative paths start at `current_dir`.
    pub fn read(source: &Source, current_dir: &Path) -> anyhow::Result<Self> {
        let config = Self::for_check(source, current_dir)?;
        if config.files.roots.is_empty() {
            anyhow::bail!(BadSetting(
                "AUTONOUS_TOOL_ALLOWED_ROOTS is not set: list the directories that tools may use"
            ));
        }
        Ok(config)
    }

    /// Reads all settings of `tool-server run`, with the roots that the command line names.
    pub fn for_roots(source: &Source, current_dir: &Path, roots: &[PathBuf]) -> anyhow::Result<Self> {
        let roots = named_roots(source, current_dir, roots, "run")?;
        let own = match DATA_DIR.given(source)? {
            Some(_) => None,
            None => Some(client_data::lasting(&states(source)?, &roots)),
        };
        let mut config = Self::read_all(source, current_dir, own.as_deref())?;
        config.files.roots = roots;
        Ok(config)
    }

    /// Reads all settings of a server that its client starts, with the roots that the command line names.
    /// Without AUTONOUS_DATA_DIR it has a directory of its own, which it holds as long as the second result
    /// exists.
    pub fn for_client(
        source: &Source,
        current_dir: &Path,
        roots: &[PathBuf],
    ) -> anyhow::Result<(Self, Option<ClientData>)> {
        let roots = named_roots(source, current_dir, roots, "mcp")?;
        let data = match DATA_DIR.given(source)? {
            Some(_) => None,
            None => Some(ClientData::take(&states(source)?, &roots).context("cannot make a data directory")?),
        };
        let mut config = Self::read_all(source, current_dir, data.as_ref().map(ClientData::path))?;
        config.files.roots = roots;
        Ok((config, data))
    }

    /// Reads all settings for a check, which may have no roots.
    pub fn for_check(source: &Source, current_dir: &Path) -> anyhow::Result<Self> {
        let own = data_outside(source, current_dir)?;
        Self::read_all(source, current_dir, own.as_deref())
    }

    fn read_all(source: &Source, current_dir: &Path, data_dir: Option<&Path>) -> anyhow::Result<Self> {
        settings::check(source, Program::ToolServer)?;
        let files = Files::read(source, current_dir, data_dir)?;
        let commands = CommandSettings::read(source, current_dir)?;
        if files.division == Division::PerChat && commands.sandbox == Mode::Landlock {
            let expected = "shared, or AUTONOUS_TOOL_SANDBOX=auto or full: only with namespaces (tier A) can \
                            commands be kept to a directory of their own";
            anyhow::bail!(WORKSPACES.refuse(Division::PerChat.word(), expected));
        }
        Ok(Self {
            files,
            limits: Limits::read(source)?,
            raw_files: RawFiles {
                enabled: TOOL_RAW_FILES.read(source)?,
                max_upload_bytes: TOOL_MAX_UPLOAD_BYTES.read(source)?,
            },
            disabled: TOOL_DISABLED.read(source)?.into_iter().collect(),
            commands,
            web: fetcher::Settings::read(source, current_dir)?,
        })
    }

    /// The same settings with a root and a data directory in `scratch`: a check leaves nothing behind.
    pub fn with_scratch(mut self, scratch: &Path) -> std::io::Result<Self> {
        let (root, data_dir) = (scratch.join("root"), scratch.join("data"));
        std::fs::create_dir(&root)?;
        self.files = Files {
            roots: vec![root],
            journal: data_dir.join(DEFAULT_JOURNAL),
            output_dir: data_dir.join("output"),
            skills_dir: data_dir.join("skills"),
            data_dir,
            ..self.files
        };
        Ok(self)
    }
}

impl CommandSettings {
    fn read(source: &Source, current_dir: &Path) -> Result<Self, SettingError> {
        let readonly_roots = TOOL_READONLY_ROOTS.read(source)?;
        let (network, domains) = network(source)?;
        let variables = TOOL_ENV.read(source)?;
        Ok(Self {
            disable_exec: TOOL_DISABLE_EXEC.read(source)?,
            sandbox: match TOOL_SANDBOX.read(source)? {
                SandboxMode::Auto => Mode::Auto,
                SandboxMode::Full => Mode::Full,
                SandboxMode::Landlock => Mode::Landlock,
            },
            readonly_roots: readonly_roots.iter().map(|root| current_dir.join(root)).collect(),
            variables: variables
                .iter()
                .map(|entry| command_variable(source, entry))
                .collect::<Result<_, _>>()?,
            network,
            domains,
            denied_words: TOOL_BASH_DENYLIST.read(source)?,
            max_memory_bytes: TOOL_MAX_MEMORY_MB.read(source)?,
            min_free_bytes: TOOL_MIN_FREE_MB.read(source)?,
            processes: ProcessLimits {
                of_session: TOOL_MAX_PROCESSES.read(source)?,
                time: TOOL_MAX_PROCESS_SECONDS.read(source)?,
            },
            search_path: source.text("PATH").unwrap_or_default().to_owned(),
            language: source.text("LANG").map(str::to_owned),
        })
    }
}

/// The kernel starts no program with a longer variable than 128 KiB; most of that is enough.
const MAX_VALUE_BYTES: usize = 100_000;

/// An older name says `true` for `public` and `false` for `off`; both together must say the same.
fn network(source: &Source) -> Result<(Network, Option<Domains>), SettingError> {
    let older = TOOL_BASH_ALLOW_NETWORK.read(source)?;
    let of_older = |allowed| if allowed { CommandNetwork::Public } else { CommandNetwork::Off };
    let network = TOOL_BASH_NETWORK.given(source)?;
    if let (Some(older), Some(network)) = (older, &network)
        && of_older(older) != *network
    {
        let expected = format!(
            "the same as {}, or nothing: true means public, and false means off",
            TOOL_BASH_NETWORK.name()
        );
        return Err(TOOL_BASH_ALLOW_NETWORK.refuse(older.to_string(), expected));
    }
    let network = network.or(older.map(of_older)).unwrap_or_else(|| TOOL_BASH_NETWORK.default_value());
    Ok(match network {
        CommandNetwork::Off => (Network::Off, None),
        CommandNetwork::Public => (Network::Public, None),
        CommandNetwork::Listed(domains) => (Network::Listed, Some(domains)),
        CommandNetwork::All => (Network::All, None),
    })
}

/// `NAME=value` as given, or `NAME` with the server's own value.
fn command_variable(source: &Source, entry: &str) -> Result<(String, String), SettingError> {
    let (name, value) = match entry.split_once('=') {
        Some((name, value)) => (name, value),
        None => (entry, source.text(entry).unwrap_or_default()),
    };
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let is_name = name.starts_with(|first: char| !first.is_ascii_digit()) && name.chars().all(plain);
    if !is_name || SECRET_VARIABLES.contains(&name) {
        return Err(TOOL_ENV.refuse(entry, TOOL_ENV.expected()));
    }
    if value.len() > MAX_VALUE_BYTES {
        let expected = format!("values of at most {MAX_VALUE_BYTES} bytes");
        return Err(TOOL_ENV.refuse(format!("{name}=…"), expected));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Where programs keep their states, by the rules of freedesktop.org.
fn states(source: &Source) -> anyhow::Result<PathBuf> {
    let named = source.text("XDG_STATE_HOME").map(PathBuf::from);
    let below_home = || source.text("HOME").map(|home| Path::new(home).join(".local/state"));
    named
        .or_else(below_home)
        .filter(|path| path.is_absolute())
        .context(BadSetting("there is no HOME: set AUTONOUS_DATA_DIR to a directory outside of the roots"))
}

/// The default data directory of a server in whose roots `./data` would be, where tools could reach it.
fn data_outside(source: &Source, current_dir: &Path) -> anyhow::Result<Option<PathBuf>> {
    if DATA_DIR.given(source)?.is_some() {
        return Ok(None);
    }
    let roots = allowed_roots(source)?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let default = real(&real(current_dir).join(DATA_DIR.default_value()));
    if roots.iter().any(|root| default.starts_with(real(&current_dir.join(root)))) {
        return Ok(Some(client_data::lasting(&states(source)?, &roots)));
    }
    Ok(None)
}

/// The roots of the command line, or else those of AUTONOUS_TOOL_ALLOWED_ROOTS.
fn named_roots(
    source: &Source,
    current_dir: &Path,
    roots: &[PathBuf],
    command: &str,
) -> anyhow::Result<Vec<PathBuf>> {
    let named: Vec<PathBuf> = roots.iter().map(|root| current_dir.join(root)).collect();
    let roots = if named.is_empty() { allowed_roots(source)? } else { named };
    if roots.is_empty() {
        let expected = format!("name a directory that tools may use: tool-server {command} --root DIR");
        return Err(anyhow::Error::msg(expected).context(BadSetting("there is no root")));
    }
    Ok(roots)
}

fn allowed_roots(source: &Source) -> Result<Vec<PathBuf>, SettingError> {
    let roots = TOOL_ALLOWED_ROOTS.read(source)?.unwrap_or_default();
    if let Some(root) = roots.iter().find(|root| *root == "~" || root.starts_with("~/")) {
        return Err(
            TOOL_ALLOWED_ROOTS.refuse(root, "absolute directories, comma separated; `~` is not expanded")
        );
    }
    Ok(roots.into_iter().map(PathBuf::from).collect())
}

impl Files {
    fn read(source: &Source, current_dir: &Path, data_dir: Option<&Path>) -> anyhow::Result<Self> {
        let data_dir = data_dir.map_or_else(|| DATA_DIR.read(source), |own| Ok(own.to_owned()))?;
        // Components leave out the `.` of the default.
        let data_dir: PathBuf = current_dir.join(data_dir).components().collect();
        let place = |setting: Optional<PathBuf>, default: &str| -> Result<PathBuf, SettingError> {
            Ok(setting.read(source)?.map_or_else(|| data_dir.join(default), |path| current_dir.join(path)))
        };
        Ok(Self {
            roots: allowed_roots(source)?,
            division: WORKSPACES.read(source)?,
            denied: denied(source)?,
            protected: ControlFiles::new(TOOL_PROTECTED.read(source)?.iter().map(String::as_str)),
            journal: place(TOOL_JOURNAL, DEFAULT_JOURNAL)?,
            journal_max_bytes: TOOL_JOURNAL_MAX_BYTES.read(source)?,
            output_dir: place(TOOL_OUTPUT_DIR, "output")?,
            skills_dir: place(SKILLS_DIR, "skills")?,
            config_dir: CONFIG_DIR.read(source)?.map(|directory| current_dir.join(directory)),
            tokens_file: TOOL_TOKENS_FILE.read(source)?.map(|file| current_dir.join(file)),
            data_dir,
        })
    }

    /// The directory of the journal and its archives.
    pub fn journal_dir(&self) -> &Path {
        self.journal.parent().unwrap_or(&self.data_dir)
    }
}

fn denied(source: &Source) -> Result<DeniedPaths, SettingError> {
    let patterns = TOOL_DENY_PATHS.read(source)?;
    DeniedPaths::new(patterns.iter().map(String::as_str)).map_err(|error| {
        TOOL_DENY_PATHS.refuse(patterns.join(","), format!("{} ({error})", TOOL_DENY_PATHS.expected()))
    })
}

impl Limits {
    fn read(source: &Source) -> Result<Self, SettingError> {
        Ok(Self {
            approval_timeout: APPROVAL_TIMEOUT_SECONDS.read(source)?,
            question_timeout: QUESTION_TIMEOUT_SECONDS.read(source)?,
            max_commands: TOOL_MAX_COMMANDS.read(source)?,
            search_max_entries: TOOL_SEARCH_MAX_ENTRIES.read(source)?,
            max_edit_bytes: TOOL_MAX_EDIT_BYTES.read(source)?,
            max_undo_bytes: UNDO_MAX_MB.read(source)?,
            timeout: TOOL_TIMEOUT_SECONDS.read(source)?,
            bounds: Bounds {
                lines: TOOL_MAX_OUTPUT_LINES.read(source)?,
                bytes: TOOL_MAX_OUTPUT_BYTES.read(source)?,
            },
        })
    }
}
