//! All settings, read once before anything is opened; nothing else reads the environment or the cwd.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cage::control_files::ControlFiles;
use files::change::DEFAULT_MAX_UNDO_BYTES;
use files::roots::{DEFAULT_DENIED, DEFAULT_PROTECTED, DeniedPaths};
use http_port::allowed_hosts;
use process::exit::BadSetting;
use process::models::CONFIG_DIR;
use process::workspaces::{Division, WORKSPACES};
use process::{Secret, VariableError, Variables, approvals};
use sandbox::{Mode, Network};
use toolkit::{Bounds, DEFAULT_MAX_COMMANDS};

use crate::journal::DEFAULT_MAX_BYTES;
use crate::raw_files::{DEFAULT_MAX_UPLOAD_BYTES, RawFiles};

/// The variables with secrets; they are removed from the environment first of all.
pub const SECRET_VARIABLES: &[&str] = &["AUTONOUS_TOOL_TOKEN", APPROVER_TOKEN];

/// The variable of the approver's token.
pub const APPROVER_TOKEN: &str = "AUTONOUS_TOOL_APPROVER_TOKEN";

/// The journal's default place in the data directory.
pub const DEFAULT_JOURNAL: &str = "journal/tool-calls.jsonl";

/// The network of commands.
const NETWORK: &str = "AUTONOUS_TOOL_BASH_NETWORK";

/// The default of AUTONOUS_TOOL_SEARCH_MAX_ENTRIES.
pub(crate) const DEFAULT_SEARCH_MAX_ENTRIES: u64 = 1_000_000;

/// All settings.
#[derive(Debug)]
pub struct Config {
    /// What the tools may reach.
    pub files: Files,
    /// How much a call may take.
    pub limits: Limits,
    /// Whether whole files go in and out as they are.
    pub raw_files: RawFiles,
    /// `AUTONOUS_TOOL_DISABLED` (none): tools that are switched off.
    pub disabled: BTreeSet<String>,
    /// How commands are run.
    pub commands: CommandSettings,
    /// What of the web may be asked.
    pub web: fetcher::Settings,
}

/// How commands are run.
#[derive(Debug)]
pub struct CommandSettings {
    /// `AUTONOUS_TOOL_DISABLE_EXEC` (false): serve the file tools alone.
    pub disable_exec: bool,
    /// `AUTONOUS_TOOL_SANDBOX` (`auto`): commands' sandbox; without it, `full` and `landlock` stop the start.
    pub(crate) sandbox: Mode,
    /// `AUTONOUS_TOOL_READONLY_ROOTS` (none): toolchains that commands can see.
    pub(crate) readonly_roots: Vec<PathBuf>,
    /// `AUTONOUS_TOOL_ENV` (none): variables of commands, `NAME` as the server has it or `NAME=value`.
    pub(crate) variables: Vec<(String, String)>,
    /// `AUTONOUS_TOOL_BASH_NETWORK` (`off`): `public` and `all` need a token.
    pub network: Network,
    /// `AUTONOUS_TOOL_BASH_DENYLIST` (none): further command words that are refused.
    pub(crate) denied_words: Vec<String>,
    /// `AUTONOUS_TOOL_MIN_FREE_MB` (512): commands are killed when a root's disk has less left; in bytes.
    pub(crate) min_free_bytes: u64,
    /// `AUTONOUS_TOOL_MAX_MEMORY_MB` (4096): the memory of a whole command; in bytes.
    pub(crate) max_memory_bytes: u64,
    /// PATH, for commands and for the self-check.
    pub(crate) search_path: String,
    /// LANG, for commands.
    pub(crate) language: Option<String>,
}

/// Where the server listens, and who may call it.
#[derive(Debug)]
pub struct Listen {
    /// `AUTONOUS_TOOL_LISTEN` (`127.0.0.1:8701`).
    pub(crate) address: SocketAddr,
    /// `AUTONOUS_TOOL_ALLOWED_HOSTS` (none): further names in a Host header, with or without a port.
    pub(crate) allowed_hosts: Vec<String>,
    /// `AUTONOUS_TOOL_TOKEN` or `AUTONOUS_TOOL_TOKEN_FILE` (none): what callers must send.
    pub token: Option<Secret>,
    /// `AUTONOUS_TOOL_APPROVER_TOKEN` or `AUTONOUS_TOOL_APPROVER_TOKEN_FILE` (none): what those send who
    /// decide about the calls of others. Callers never have it.
    pub approver_token: Option<Secret>,
}

/// What the tools may reach.
#[derive(Debug)]
pub struct Files {
    /// `AUTONOUS_DATA_DIR` (`./data`), absolute.
    pub data_dir: PathBuf,
    /// `AUTONOUS_TOOL_ALLOWED_ROOTS` (required): the directories that tools may use.
    pub roots: Vec<PathBuf>,
    /// `AUTONOUS_WORKSPACES` (`shared`): `per-chat` gives each session a directory of its own in each root.
    pub division: Division,
    /// `AUTONOUS_TOOL_DENY_PATHS`: names that are withheld beneath the roots.
    pub denied: DeniedPaths,
    /// `AUTONOUS_TOOL_PROTECTED`: control files, which tools never write.
    pub protected: ControlFiles,
    /// `AUTONOUS_TOOL_JOURNAL` (`<data>/journal/tool-calls.jsonl`).
    pub journal: PathBuf,
    /// `AUTONOUS_TOOL_JOURNAL_MAX_BYTES` (64 MiB): a longer journal file is archived.
    pub(crate) journal_max_bytes: u64,
    /// `AUTONOUS_TOOL_OUTPUT_DIR` (`<data>/output`).
    pub output_dir: PathBuf,
    /// `AUTONOUS_SKILLS_DIR` (`<data>/skills`).
    pub(crate) skills_dir: PathBuf,
    /// `AUTONOUS_CONFIG_DIR` (none): the directory of `policy.toml`.
    pub config_dir: Option<PathBuf>,
}

/// How much a call may take.
#[derive(Debug)]
pub struct Limits {
    /// `AUTONOUS_TOOL_TIMEOUT_SECONDS` (30): of every call that names none.
    pub timeout: Duration,
    /// `AUTONOUS_APPROVAL_TIMEOUT_SECONDS` (600): how long a call waits for a person, and a yes for its call.
    pub approval_timeout: Duration,
    /// `AUTONOUS_TOOL_MAX_COMMANDS` (8): the most commands at once.
    pub max_commands: usize,
    /// `AUTONOUS_TOOL_MAX_OUTPUT_LINES` (2000) and `AUTONOUS_TOOL_MAX_OUTPUT_BYTES` (51200).
    pub bounds: Bounds,
    /// `AUTONOUS_TOOL_MAX_EDIT_BYTES` (16 MiB): the largest file that is hashed and edited.
    pub max_edit_bytes: u64,
    /// `AUTONOUS_UNDO_MAX_MB` (256): how much of what changes replace is kept, for a week; 0 keeps nothing.
    /// In bytes.
    pub(crate) max_undo_bytes: u64,
    /// `AUTONOUS_TOOL_SEARCH_MAX_ENTRIES` (1,000,000): the most entries that one search looks at.
    pub(crate) search_max_entries: u64,
}

impl Config {
    /// Whether a tool may ask the web: because a host is listed, or because somebody can be asked about one.
    pub fn needs_the_web(&self, can_ask: bool) -> bool {
        let is_on = |tool: &str| !self.disabled.contains(tool);
        (is_on("url_fetch") && (can_ask || self.web.can_fetch()))
            || (is_on("web_search") && (can_ask || self.web.can_search()))
    }

    /// Reads all settings; relative paths start at `current_dir`.
    pub fn from_variables(variables: &Variables, current_dir: &Path) -> anyhow::Result<Self> {
        let config = Self::for_check(variables, current_dir)?;
        if config.files.roots.is_empty() {
            anyhow::bail!(BadSetting(
                "AUTONOUS_TOOL_ALLOWED_ROOTS is not set: list the directories that tools may use"
            ));
        }
        Ok(config)
    }

    /// Reads all settings for a check, which may have no roots.
    pub fn for_check(variables: &Variables, current_dir: &Path) -> anyhow::Result<Self> {
        variables.refuse_unknown()?;
        let files = Files::from_variables(variables, current_dir)?;
        let commands = CommandSettings::from_variables(variables, current_dir)?;
        if files.division == Division::PerChat && commands.sandbox == Mode::Landlock {
            let expected = "shared, or AUTONOUS_TOOL_SANDBOX=auto or full: only with namespaces (tier A) can \
                            commands be kept to a directory of their own";
            anyhow::bail!(VariableError::new(WORKSPACES, "per-chat", expected));
        }
        Ok(Self {
            files,
            limits: Limits::from_variables(variables)?,
            raw_files: raw_files(variables)?,
            disabled: variables.list("AUTONOUS_TOOL_DISABLED").unwrap_or_default().into_iter().collect(),
            commands,
            web: fetcher::Settings::from_variables(variables, current_dir)?,
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

fn raw_files(variables: &Variables) -> Result<RawFiles, VariableError> {
    Ok(RawFiles {
        enabled: variables.flag("AUTONOUS_TOOL_RAW_FILES", true)?,
        max_upload_bytes: variables.number(
            "AUTONOUS_TOOL_MAX_UPLOAD_BYTES",
            DEFAULT_MAX_UPLOAD_BYTES,
            1..=1 << 30,
        )?,
    })
}

impl CommandSettings {
    fn from_variables(variables: &Variables, current_dir: &Path) -> Result<Self, VariableError> {
        let list = |name| variables.list(name).unwrap_or_default();
        Ok(Self {
            disable_exec: variables.flag("AUTONOUS_TOOL_DISABLE_EXEC", false)?,
            sandbox: sandbox_mode(variables)?,
            readonly_roots: list("AUTONOUS_TOOL_READONLY_ROOTS")
                .iter()
                .map(|root| current_dir.join(root))
                .collect(),
            variables: list("AUTONOUS_TOOL_ENV")
                .iter()
                .map(|entry| command_variable(variables, entry))
                .collect::<Result<_, _>>()?,
            network: network(variables)?,
            denied_words: list("AUTONOUS_TOOL_BASH_DENYLIST"),
            max_memory_bytes: variables.number("AUTONOUS_TOOL_MAX_MEMORY_MB", 4096, 16..=1 << 30)? << 20,
            min_free_bytes: variables.number("AUTONOUS_TOOL_MIN_FREE_MB", 512, 0..=1 << 30)? << 20,
            search_path: variables.text("PATH").unwrap_or_default().to_owned(),
            language: variables.text("LANG").map(str::to_owned),
        })
    }
}

/// The kernel starts no program with a longer variable than 128 KiB; most of that is enough.
const MAX_VALUE_BYTES: usize = 100_000;

fn sandbox_mode(variables: &Variables) -> Result<Mode, VariableError> {
    const NAME: &str = "AUTONOUS_TOOL_SANDBOX";
    match variables.text(NAME).unwrap_or("auto") {
        "auto" => Ok(Mode::Auto),
        "full" => Ok(Mode::Full),
        "landlock" => Ok(Mode::Landlock),
        other => Err(VariableError::new(NAME, other, "auto, full or landlock")),
    }
}

/// `AUTONOUS_TOOL_BASH_ALLOW_NETWORK` is an older name: `true` for `public`, `false` for `off`.
fn network(variables: &Variables) -> Result<Network, VariableError> {
    const OLDER: &str = "AUTONOUS_TOOL_BASH_ALLOW_NETWORK";
    let older = variables.text(OLDER).map(|_| variables.flag(OLDER, false)).transpose()?;
    let older = older.map(|allowed| if allowed { Network::Public } else { Network::Off });
    let network = match variables.text(NETWORK) {
        None => return Ok(older.unwrap_or_default()),
        Some("off") => Network::Off,
        Some("public") => Network::Public,
        Some("all") => Network::All,
        Some(other) => return Err(VariableError::new(NETWORK, other, "off, public or all")),
    };
    if older.is_some_and(|older| older != network) {
        let expected = format!("the same as {NETWORK}, or nothing: true means public, and false means off");
        return Err(VariableError::new(OLDER, variables.text(OLDER).unwrap_or_default(), expected));
    }
    Ok(network)
}

/// `NAME=value` as given, or `NAME` with the server's own value.
fn command_variable(variables: &Variables, entry: &str) -> Result<(String, String), VariableError> {
    let (name, value) = match entry.split_once('=') {
        Some((name, value)) => (name, value),
        None => (entry, variables.text(entry).unwrap_or_default()),
    };
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let is_name = name.starts_with(|first: char| !first.is_ascii_digit()) && name.chars().all(plain);
    if !is_name || SECRET_VARIABLES.contains(&name) {
        let expected = "NAME or NAME=value, separated by commas, and none of the server's own secrets";
        return Err(VariableError::new("AUTONOUS_TOOL_ENV", entry, expected));
    }
    if value.len() > MAX_VALUE_BYTES {
        let expected = format!("values of at most {MAX_VALUE_BYTES} bytes");
        return Err(VariableError::new("AUTONOUS_TOOL_ENV", format!("{name}=…"), expected));
    }
    Ok((name.to_owned(), value.to_owned()))
}

impl Listen {
    /// Reads the address and the token, required with `network`: otherwise a command could call the server.
    pub fn from_variables(variables: &Variables, network: Network) -> anyhow::Result<Self> {
        let default = SocketAddr::from(([127, 0, 0, 1], 8701));
        let expected = "an address and port such as 127.0.0.1:8701";
        let address = variables.parsed("AUTONOUS_TOOL_LISTEN", default, expected)?;
        let token = variables.secret("AUTONOUS_TOOL_TOKEN");
        if token.is_none() && !address.ip().is_loopback() {
            let expected =
                "a loopback address, or a token in AUTONOUS_TOOL_TOKEN_FILE or AUTONOUS_TOOL_TOKEN";
            return Err(VariableError::new("AUTONOUS_TOOL_LISTEN", address.to_string(), expected).into());
        }
        if token.is_none() && network != Network::Off {
            let expected = "off, or a token in AUTONOUS_TOOL_TOKEN_FILE or AUTONOUS_TOOL_TOKEN";
            return Err(VariableError::new(NETWORK, format!("{network:?}").to_lowercase(), expected).into());
        }
        let approver_token = variables.secret(APPROVER_TOKEN);
        if let (Some(token), Some(approver)) = (&token, &approver_token)
            && token.matches(approver.expose())
        {
            let expected = "another token than AUTONOUS_TOOL_TOKEN: who calls must not be who approves";
            return Err(VariableError::new(APPROVER_TOKEN, "(the same)", expected).into());
        }
        let allowed_hosts = allowed_hosts(variables, "AUTONOUS_TOOL_ALLOWED_HOSTS")?;
        Ok(Self { address, token, approver_token, allowed_hosts })
    }
}

impl Files {
    fn from_variables(variables: &Variables, current_dir: &Path) -> anyhow::Result<Self> {
        let data_dir = current_dir.join(variables.text("AUTONOUS_DATA_DIR").unwrap_or("data"));
        let roots = variables.list("AUTONOUS_TOOL_ALLOWED_ROOTS").unwrap_or_default();
        let place = |name: &str, default: &str| {
            variables.text(name).map_or_else(|| data_dir.join(default), |path| current_dir.join(path))
        };
        Ok(Self {
            roots: roots.into_iter().map(PathBuf::from).collect(),
            division: Division::from_variables(variables)?,
            denied: denied(variables)?,
            protected: protected(variables),
            journal: place("AUTONOUS_TOOL_JOURNAL", DEFAULT_JOURNAL),
            journal_max_bytes: variables.number(
                "AUTONOUS_TOOL_JOURNAL_MAX_BYTES",
                DEFAULT_MAX_BYTES,
                4096..=1 << 40,
            )?,
            output_dir: place("AUTONOUS_TOOL_OUTPUT_DIR", "output"),
            skills_dir: place("AUTONOUS_SKILLS_DIR", "skills"),
            config_dir: config_dir(variables, current_dir)?,
            data_dir,
        })
    }

    /// The directory of the journal and its archives.
    pub fn journal_dir(&self) -> &Path {
        self.journal.parent().unwrap_or(&self.data_dir)
    }
}

fn config_dir(variables: &Variables, current_dir: &Path) -> Result<Option<PathBuf>, VariableError> {
    let Some(directory) = variables.text(CONFIG_DIR) else { return Ok(None) };
    let path = current_dir.join(directory);
    if path.is_dir() {
        return Ok(Some(path));
    }
    Err(VariableError::new(CONFIG_DIR, directory, "a directory that exists"))
}

fn denied(variables: &Variables) -> Result<DeniedPaths, VariableError> {
    const DENIED: &str = "AUTONOUS_TOOL_DENY_PATHS";
    let patterns =
        variables.list(DENIED).unwrap_or_else(|| DEFAULT_DENIED.split(',').map(str::to_owned).collect());
    DeniedPaths::new(patterns.iter().map(String::as_str)).map_err(|error| {
        VariableError::new(DENIED, patterns.join(","), format!("globs separated by commas ({error})"))
    })
}

fn protected(variables: &Variables) -> ControlFiles {
    match variables.list("AUTONOUS_TOOL_PROTECTED") {
        Some(patterns) => ControlFiles::new(patterns.iter().map(String::as_str)),
        None => ControlFiles::new(DEFAULT_PROTECTED.split(',')),
    }
}

impl Limits {
    fn from_variables(variables: &Variables) -> Result<Self, VariableError> {
        let bounds = Bounds::default();
        let size = |name, default: usize, most| {
            let default = u64::try_from(default).unwrap_or(u64::MAX);
            variables
                .number(name, default, 1..=most)
                .map(|number| usize::try_from(number).unwrap_or(usize::MAX))
        };
        Ok(Self {
            approval_timeout: approvals::timeout(variables)?,
            max_commands: size("AUTONOUS_TOOL_MAX_COMMANDS", DEFAULT_MAX_COMMANDS, 1000)?,
            search_max_entries: variables.number(
                "AUTONOUS_TOOL_SEARCH_MAX_ENTRIES",
                DEFAULT_SEARCH_MAX_ENTRIES,
                1..=1_000_000_000,
            )?,
            max_edit_bytes: variables.number("AUTONOUS_TOOL_MAX_EDIT_BYTES", 16 << 20, 1..=1 << 30)?,
            max_undo_bytes: variables.number(
                "AUTONOUS_UNDO_MAX_MB",
                DEFAULT_MAX_UNDO_BYTES >> 20,
                0..=1 << 30,
            )? << 20,
            timeout: Duration::from_secs(variables.number("AUTONOUS_TOOL_TIMEOUT_SECONDS", 30, 1..=600)?),
            bounds: Bounds {
                lines: size("AUTONOUS_TOOL_MAX_OUTPUT_LINES", bounds.lines, 1_000_000)?,
                bytes: size("AUTONOUS_TOOL_MAX_OUTPUT_BYTES", bounds.bytes, 8 * 1024 * 1024)?,
            },
        })
    }
}
