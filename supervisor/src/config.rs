//! All settings of the supervisor, read once at start.
//!
//! An invalid value stops the start and names its variable. Only this module reads the environment or the
//! current directory.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use process::secrets::Secret;
use settings::choices::{Division, STATE_ROOT};
use settings::language::Language;
use settings::quotas::Limits;
use settings::table::{
    CONFIG_DIR, CONTACTS_COOLDOWN, CONTROL_ALLOWED_HOSTS, CONTROL_LISTEN, CONTROL_MAX_WALL_TIME_SECONDS,
    DATA_DIR, DATABASE_URL, LANGUAGE, METRICS_PUBLIC, NODE, PAGE, RETENTION, SCHEDULES_MAX_PER_CHAT,
    SCHEDULES_MIN_MINUTES, SHARED_WORKSPACES, STOP_SECONDS, TASK_MAX_ATTEMPTS, TASK_RETRY_BASE_MS,
    TASK_RETRY_SECONDS, TOOL_ALLOWED_ROOTS, TOOL_LISTEN, TOOL_URL, WORKERS, WORKSPACES,
};
use settings::{Program, Row, SettingError, Source, selection};
use store::sql::address::ServerAddress;
use telegram::TelegramSettings;

use crate::children::environment::ChildSettings;
use crate::children::fetch_secrets::fetch_secrets;
use crate::data_dir::DataDir;
use crate::far::FarSettings;
use crate::given_tokens::GivenTokens;
use crate::schedules::ScheduleLimits;
use crate::traces::TraceSettings;
use crate::transcribe::Transcription;
use settings::Span;

/// The variables that hold secrets; they are removed from the environment first.
pub fn secret_variables(source: &Source) -> Vec<String> {
    let own = selection::secrets_of(Program::Supervisor).map(str::to_owned);
    own.chain(models::secret_variables(source)).chain(fetch_secrets(source, Path::new(""))).collect()
}

/// The maximum size of `AUTONOUS.md`: a longer system prompt would leave no room for the task.
const MAX_PROMPT_BYTES: usize = 256 * 1024;

/// Settings by variable, as text; secrets are left out.
pub type Settings = BTreeMap<String, String>;

#[derive(Debug)]
pub struct Config {
    pub data: DataDir,
    /// Whether the other nodes of the database mount the workspaces of this one.
    pub shares_workspaces: bool,
    /// `AUTONOUS_CONFIG_DIR`, absolute.
    pub config_dir: Option<PathBuf>,
    /// The language of the bot's own words where neither a chat nor a client names one.
    pub language: Language,
    pub control_listen: SocketAddr,
    /// Further names in a Host header, with or without a port.
    pub control_hosts: Vec<String>,
    /// Where traces are sent; none without a collector.
    pub traces: Option<TraceSettings>,
    /// Whether `/metrics` needs no token.
    pub has_public_metrics: bool,
    pub tokens: GivenTokens,
    /// Where those settings come from that have no default, in words.
    pub origins: BTreeMap<String, String>,
    pub tool_listen: SocketAddr,
    /// The tool server of another machine; none where it is a child of this process.
    pub far: Option<FarSettings>,
    pub roots: Vec<String>,
    /// Whether each chat has its own directory in each root.
    pub division: Division,
    /// `AUTONOUS.md` in `AUTONOUS_CONFIG_DIR`: replaces the worker's system prompt.
    pub system_prompt: Option<String>,
    /// `[limits.…]` of `policy.toml` in `AUTONOUS_CONFIG_DIR`: what chats and users may use in a day.
    pub limits: Limits,
    /// How long a contact is not written to after a failure; 0 for not at all.
    pub contacts_cooldown: Duration,
    pub(crate) schedules: ScheduleLimits,
    /// The models of `models.toml` that chats can have.
    pub models: models::Selectable,
    /// How many tasks run at once.
    pub workers: usize,
    /// How long running calls may take when the run is ended.
    pub stop_patience: Duration,
    /// How long tasks are kept after their end; none for ever.
    pub retention: Option<Span>,
    /// The settings that hold.
    shown: Settings,
    pub tasks: TaskSettings,
    pub channels: ChannelSettings,
    pub children: ChildSettings,
}

/// How often a task is tried, how soon again, and how long.
#[derive(Debug, Clone, Copy)]
pub struct TaskSettings {
    pub max_attempts: u32,
    /// How long a task is tried beyond that number when what it needs fails, such as the model.
    pub retry_for: Duration,
    /// The pause after the first failure; it doubles from there.
    pub retry_base: Duration,
    /// The worker ends an attempt after this time.
    pub max_wall_time: Duration,
}

#[derive(Debug, Clone, Default)]
pub struct ChannelSettings {
    /// The bot; none without `AUTONOUS_TELEGRAM_TOKEN`.
    pub telegram: Option<TelegramSettings>,
    /// How voice messages become text.
    pub transcription: Option<Transcription>,
    /// Whether the control port has the page.
    pub has_page: bool,
}

impl Config {
    /// Reads and checks everything. `data_dir` comes from the command line and overrides the variable.
    pub fn read(source: &Source, data_dir: Option<&Path>) -> anyhow::Result<Self> {
        settings::check(source, Program::Supervisor)?;
        let (far, data) = (FarSettings::read(source)?, data_dir_from(source, data_dir)?);
        let config_dir = CONFIG_DIR.read(source)?.map(std::path::absolute).transpose()?;
        let (roots, tasks) = (roots(source, &data)?, TaskSettings::read(source)?);
        let derived = [
            (DATA_DIR.name(), data.path().display().to_string()),
            (TOOL_ALLOWED_ROOTS.name(), roots.join(",")),
            (TASK_RETRY_SECONDS.name(), tasks.retry_for.as_secs().to_string()),
        ];
        let config_place = config_dir.as_ref().map(|dir| (CONFIG_DIR.name(), dir.display().to_string()));
        let derived = derived.into_iter().chain(config_place).map(|(name, value)| (name.to_owned(), value));
        let shown = selection::shown(source).into_iter().chain(derived).collect();
        Ok(Self {
            language: LANGUAGE.read(source)?,
            control_hosts: CONTROL_ALLOWED_HOSTS.read(source)?,
            traces: TraceSettings::read(source)?,
            has_public_metrics: METRICS_PUBLIC.read(source)?,
            control_listen: CONTROL_LISTEN.read(source)?,
            tokens: GivenTokens::read(source)?,
            origins: selection::origins(source),
            tool_listen: TOOL_LISTEN.read(source)?,
            far,
            roots,
            division: WORKSPACES.read(source)?,
            system_prompt: system_prompt(config_dir.as_deref())?,
            limits: Limits::read(config_dir.as_deref())?,
            contacts_cooldown: CONTACTS_COOLDOWN.read(source)?,
            schedules: ScheduleLimits {
                most_of_chat: SCHEDULES_MAX_PER_CHAT.read(source)?,
                least_minutes: SCHEDULES_MIN_MINUTES.read(source)?,
            },
            models: models::Selectable::read(source)?,
            stop_patience: STOP_SECONDS.read(source)?,
            workers: WORKERS.read(source)?,
            retention: RETENTION.read(source)?,
            shares_workspaces: SHARED_WORKSPACES.read(source)?,
            shown,
            tasks,
            channels: ChannelSettings {
                telegram: TelegramSettings::read(source)?,
                transcription: Transcription::read(source)?,
                has_page: PAGE.read(source)?,
            },
            children: ChildSettings::read(source, own_directory()?)?,
            config_dir,
            data,
        })
    }

    /// The settings that hold, by variable; secrets are left out.
    pub fn settings(&self) -> Settings {
        self.shown.clone()
    }
}

impl TaskSettings {
    fn read(source: &Source) -> Result<Self, SettingError> {
        let retry_for = match (TASK_RETRY_SECONDS.given(source)?, TASK_MAX_ATTEMPTS.given(source)?) {
            (Some(given), _) => given,
            // A number that is set is meant.
            (None, Some(_)) => Duration::ZERO,
            (None, None) => TASK_RETRY_SECONDS.default_value(),
        };
        Ok(Self {
            max_attempts: TASK_MAX_ATTEMPTS.read(source)?,
            retry_for,
            retry_base: TASK_RETRY_BASE_MS.read(source)?,
            max_wall_time: CONTROL_MAX_WALL_TIME_SECONDS.read(source)?,
        })
    }
}

/// The data directory, absolute; the command line goes before the settings.
pub fn data_dir_from(source: &Source, data_dir: Option<&Path>) -> anyhow::Result<DataDir> {
    let named = match data_dir {
        Some(path) => path.to_owned(),
        None => DATA_DIR.read(source)?,
    };
    let absolute = std::path::absolute(&named)
        .with_context(|| format!("could not make the data directory {} absolute", named.display()))?;
    let server = database_url(source)?.map(|url| server_address(&url)).transpose()?;
    let server = server.map(|server| Ok::<_, anyhow::Error>(server.by_node(&node(source)?))).transpose()?;
    Ok(DataDir::at(absolute).with_database_at(server))
}

/// The name of this machine among those that share a database.
fn node(source: &Source) -> anyhow::Result<String> {
    if let Some(name) = NODE.read(source)? {
        return Ok(name);
    }
    // Not from a file: settings are read again when no file outside the directories can be opened any more.
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    settings::is_node_name(&name)
        .then_some(name)
        .with_context(|| format!("the name of this machine is no name of a node: set {}", NODE.name()))
}

/// Commands have not read the files of secrets: they need this one alone.
fn database_url(source: &Source) -> Result<Option<Secret>, SettingError> {
    match DATABASE_URL.read(source)? {
        Some(url) => Ok(Some(url)),
        None => DATABASE_URL.read(&source.with_secret_files(&[DATABASE_URL.name()])?),
    }
}

fn server_address(url: &Secret) -> anyhow::Result<ServerAddress> {
    ServerAddress::parse(url.expose()).with_context(|| format!("{}=\"***\"", DATABASE_URL.name()))
}

/// The directory of the secrets that `supervisor setup` asks for, beside its file of settings.
pub const SECRETS: &str = "secrets";

/// The children's programs are installed beside this one.
pub fn own_directory() -> anyhow::Result<PathBuf> {
    let own_program = std::env::current_exe().context("could not find the path of this program")?;
    Ok(own_program.parent().context("this program is in no directory")?.to_owned())
}

/// What tools reach. The agent's own notes are among it, wherever people's directories are.
/// On another machine, they are those of the tool server there.
pub fn roots(source: &Source, data: &DataDir) -> Result<Vec<String>, SettingError> {
    let Some(roots) = TOOL_ALLOWED_ROOTS.read(source)?.filter(|roots| !roots.is_empty()) else {
        return Ok([data.workspace(), data.state()].map(|root| root.display().to_string()).to_vec());
    };
    if let Some(relative) = roots.iter().find(|root| !Path::new(root).is_absolute()) {
        let hint = if relative.starts_with('~') { "; `~` is not expanded" } else { "" };
        let expected = format!("{}{hint}", TOOL_ALLOWED_ROOTS.expected());
        return Err(TOOL_ALLOWED_ROOTS.refuse(relative, expected));
    }
    let has_state =
        TOOL_URL.given(source)?.is_some() || roots.iter().any(|root| Path::new(root).ends_with(STATE_ROOT));
    let state = (!has_state).then(|| data.state().display().to_string());
    Ok(roots.into_iter().chain(state).collect())
}

fn system_prompt(config_dir: Option<&Path>) -> anyhow::Result<Option<String>> {
    let Some(path) = config_dir.map(|directory| directory.join("AUTONOUS.md")) else { return Ok(None) };
    if !path.exists() {
        return Ok(None);
    }
    let prompt = std::fs::read_to_string(&path)
        .with_context(|| format!("{}: could not read {}", CONFIG_DIR.name(), path.display()))?;
    if prompt.len() > MAX_PROMPT_BYTES {
        anyhow::bail!("{}: {} has more than {MAX_PROMPT_BYTES} bytes", CONFIG_DIR.name(), path.display());
    }
    Ok(Some(prompt))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of<const N: usize>(pairs: [(&str, &str); N]) -> String {
        let source = Source::from_pairs(pairs);
        format!("{:#}", Config::read(&source, Some(Path::new("/data"))).unwrap_err())
    }

    #[test]
    fn a_fresh_machine_needs_no_variable() {
        let source = Source::from_pairs([]);
        let config = Config::read(&source, Some(Path::new("/data"))).unwrap();
        assert_eq!(config.control_listen.to_string(), "127.0.0.1:8700");
        assert_eq!(config.tool_listen.to_string(), "127.0.0.1:8701");
        assert_eq!(config.roots, ["/data/workspace", "/data/state"]);
        assert_eq!((config.workers, config.tasks.max_attempts), (4, 3));
        assert_eq!(config.tasks.retry_for, Duration::from_secs(900));
        assert_eq!(config.retention, Some(Span(Duration::from_secs(30 * 86_400))));
        assert!(config.channels.telegram.is_none());
    }

    #[test]
    fn the_address_of_the_database_is_also_read_from_the_file_that_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("url");
        std::fs::write(&file, "postgres://ada:hidden@db.example:6432/a\n").unwrap();
        let source = Source::from_pairs([("AUTONOUS_DATABASE_URL_FILE", &file.display().to_string())]);
        let database = || data_dir_from(&source, Some(Path::new("/data"))).map(|data| data.database());
        assert_eq!(database().unwrap().to_string(), "postgres://ada@db.example:6432/a");
        std::fs::remove_file(&file).unwrap();
        let error = format!("{:#}", database().unwrap_err());
        assert!(error.contains("AUTONOUS_DATABASE_URL_FILE"), "{error}");
    }

    #[test]
    fn a_bad_value_stops_the_start_and_names_its_variable() {
        for (name, value) in [
            ("AUTONOUS_TOOL_ALLOWED_ROOTS", "/a,b"),
            ("AUTONOUS_CONFIG_DIR", "/does/not/exist"),
            ("AUTONOUS_TELEGRAM_ALLOWED_USERS", "@ada"),
            ("AUTONOUS_WORKERS", "65"),
        ] {
            assert!(error_of([(name, value)]).contains(name), "{name}");
        }
    }

    #[test]
    fn the_settings_that_hold_are_those_of_the_table_with_what_the_others_decide() {
        let source = Source::from_pairs([("AUTONOUS_TASK_MAX_ATTEMPTS", "2")]);
        let settings = Config::read(&source, Some(Path::new("/data"))).unwrap().settings();
        assert_eq!(settings["AUTONOUS_TASK_RETRY_SECONDS"], "0");
        assert_eq!(settings["AUTONOUS_TOOL_ALLOWED_ROOTS"], "/data/workspace,/data/state");
        assert_eq!(settings["AUTONOUS_RETENTION"], "30d");
    }
}
