//! All settings of the supervisor, read once at start.
//!
//! An invalid value stops the start and names its variable. Only this module reads the environment or the
//! current directory.

mod call_rules;
mod telegram;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use http_port::allowed_hosts;
use process::fetch_profiles;
use process::models::{self, CONFIG_DIR};
use process::quotas::Limits;
use process::workspaces::Division;
use process::{Secret, VariableError, Variables, approvals, known_variables};
use toolkit::policy::Policy;

use crate::children::environment::ChildSettings;
use crate::data_dir::DataDir;
use crate::retention::SHORTEST;
use crate::schedules::ScheduleLimits;
use crate::terminal::age::Span;

pub(crate) use telegram::TelegramSettings;

/// This program's own secrets, and the tokens that it would pass on if it did not generate them.
const OWN_SECRETS: [&str; 5] = [
    "AUTONOUS_CONTROL_TOKEN",
    "AUTONOUS_TELEGRAM_TOKEN",
    "AUTONOUS_TOOL_APPROVER_TOKEN",
    "AUTONOUS_TOOL_TOKEN",
    "AUTONOUS_TRANSCRIBE_API_KEY",
];

/// The variables that hold secrets; they are removed from the environment first.
pub(crate) fn secret_variables(variables: &Variables) -> Vec<String> {
    let own = OWN_SECRETS.into_iter().map(str::to_owned);
    let of_fetcher = fetch_profiles::secret_variables(variables, Path::new(""));
    own.chain(models::secret_variables(variables)).chain(of_fetcher).collect()
}

const LONGEST_COOLDOWN: Duration = Duration::from_secs(30 * 86_400);

/// The maximum size of `AUTONOUS.md`: a longer system prompt would leave no room for the task.
const MAX_PROMPT_BYTES: usize = 256 * 1024;

/// Settings by variable, as text; secrets are left out.
pub(crate) type Settings = BTreeMap<String, String>;

#[derive(Debug)]
pub(crate) struct Config {
    /// `--data-dir` or `AUTONOUS_DATA_DIR` (`./data`).
    pub data: DataDir,
    /// `AUTONOUS_CONTROL_LISTEN` (`127.0.0.1:8700`).
    pub control_listen: SocketAddr,
    /// `AUTONOUS_CONTROL_ALLOWED_HOSTS` (none): further names in a Host header, with or without a port.
    pub control_hosts: Vec<String>,
    /// `AUTONOUS_CONTROL_TOKEN` (generated at start).
    pub control_token: Option<Secret>,
    /// `AUTONOUS_TOOL_LISTEN` (`127.0.0.1:8701`).
    pub tool_listen: SocketAddr,
    /// `AUTONOUS_TOOL_ALLOWED_ROOTS` (the data directory's `workspace` and `state`).
    pub roots: Vec<String>,
    /// `AUTONOUS_WORKSPACES` (`shared`): whether each chat has its own directory in each root.
    pub division: Division,
    /// `AUTONOUS.md` in `AUTONOUS_CONFIG_DIR`: replaces the worker's system prompt.
    pub system_prompt: Option<String>,
    /// `[limits.…]` of `policy.toml` in `AUTONOUS_CONFIG_DIR`: what chats and users may use in a day.
    pub limits: Limits,
    /// The rules of `policy.toml` in `AUTONOUS_CONFIG_DIR`, for the tools that the supervisor runs.
    pub policy: Arc<Policy>,
    /// `AUTONOUS_TOOL_DISABLED` (none); the tool server checks the names.
    pub disabled_tools: BTreeSet<String>,
    /// `AUTONOUS_APPROVAL_TIMEOUT_SECONDS` (600): how long a call waits for a person.
    pub approval_timeout: Duration,
    /// `AUTONOUS_CONTACTS_COOLDOWN` (1h): how long a contact is not written to after a failure; 0 for not at
    /// all.
    pub contacts_cooldown: Duration,
    /// `AUTONOUS_SCHEDULES_MAX_PER_CHAT` (20) and `AUTONOUS_SCHEDULES_MIN_MINUTES` (5).
    pub(crate) schedules: ScheduleLimits,
    /// The models of `models.toml` that can be used, the first one first; empty without that file.
    pub models: Vec<String>,
    /// `AUTONOUS_WORKERS` (4): how many tasks run at once.
    pub workers: usize,
    /// `AUTONOUS_STOP_SECONDS` (10): how long running calls may take when the run is ended.
    pub stop_patience: Duration,
    /// `AUTONOUS_RETENTION` (30d): how long tasks are kept after their end; none for ever.
    pub retention: Option<Span>,
    /// The supervisor's own variables that are set, as they are set.
    set: Settings,
    pub tasks: TaskSettings,
    pub channels: ChannelSettings,
    pub children: ChildSettings,
}

/// How often a task is tried, how soon again, and how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TaskSettings {
    /// `AUTONOUS_TASK_MAX_ATTEMPTS` (3).
    pub max_attempts: u32,
    /// `AUTONOUS_TASK_RETRY_SECONDS` (900; with `AUTONOUS_TASK_MAX_ATTEMPTS` alone, 0): how long a task is
    /// tried beyond that number when what it needs fails, such as the model.
    pub retry_for: Duration,
    /// `AUTONOUS_TASK_RETRY_BASE_MS` (2000): the pause after the first failure; it doubles from there.
    pub retry_base: Duration,
    /// `AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS` (600): the worker ends an attempt after this time.
    pub max_wall_time: Duration,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct ChannelSettings {
    /// The bot; none without `AUTONOUS_TELEGRAM_TOKEN`.
    pub telegram: Option<TelegramSettings>,
}

impl Config {
    /// Reads and checks everything. `data_dir` comes from the command line and overrides the variable.
    pub(crate) fn from_variables(variables: &Variables, data_dir: Option<&Path>) -> anyhow::Result<Self> {
        variables.refuse_unknown()?;
        let data = data_dir_from(variables, data_dir)?;
        Ok(Self {
            control_hosts: allowed_hosts(variables, "AUTONOUS_CONTROL_ALLOWED_HOSTS")?,
            control_listen: listen(variables, "AUTONOUS_CONTROL_LISTEN", "127.0.0.1:8700")?,
            control_token: control_token(variables)?,
            tool_listen: listen(variables, "AUTONOUS_TOOL_LISTEN", "127.0.0.1:8701")?,
            roots: roots(variables, &data)?,
            division: Division::from_variables(variables)?,
            system_prompt: system_prompt(variables)?,
            limits: Limits::read(variables.text(CONFIG_DIR).map(Path::new))?,
            policy: Arc::new(call_rules::read(variables.text(CONFIG_DIR).map(Path::new))?),
            disabled_tools: variables
                .list("AUTONOUS_TOOL_DISABLED")
                .unwrap_or_default()
                .into_iter()
                .collect(),
            approval_timeout: approvals::timeout(variables)?,
            contacts_cooldown: contacts_cooldown(variables)?,
            schedules: schedule_limits(variables)?,
            models: models::selectable_names(variables)?,
            stop_patience: Duration::from_secs(variables.number("AUTONOUS_STOP_SECONDS", 10, 0..=600)?),
            workers: usize::try_from(variables.number("AUTONOUS_WORKERS", 4, 1..=64)?)?,
            retention: retention(variables)?,
            set: variables.pass_on(known_variables::SUPERVISOR).into_iter().collect(),
            tasks: TaskSettings::from_variables(variables)?,
            channels: ChannelSettings { telegram: TelegramSettings::from_variables(variables)? },
            children: ChildSettings::from_variables(variables, own_directory()?)?,
            data,
        })
    }
}

impl Config {
    /// What holds: every variable that is set, and the defaults of those that people ask about most.
    pub(crate) fn settings(&self) -> Settings {
        let seconds = |duration: Duration| duration.as_secs().to_string();
        let own = [
            ("AUTONOUS_DATA_DIR", self.data.path().display().to_string()),
            ("AUTONOUS_CONTROL_LISTEN", self.control_listen.to_string()),
            ("AUTONOUS_TOOL_LISTEN", self.tool_listen.to_string()),
            ("AUTONOUS_TOOL_ALLOWED_ROOTS", self.roots.join(",")),
            ("AUTONOUS_WORKSPACES", self.division.name().to_owned()),
            ("AUTONOUS_WORKERS", self.workers.to_string()),
            ("AUTONOUS_STOP_SECONDS", seconds(self.stop_patience)),
            ("AUTONOUS_TASK_MAX_ATTEMPTS", self.tasks.max_attempts.to_string()),
            ("AUTONOUS_TASK_RETRY_SECONDS", seconds(self.tasks.retry_for)),
            ("AUTONOUS_TASK_RETRY_BASE_MS", self.tasks.retry_base.as_millis().to_string()),
            ("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", seconds(self.tasks.max_wall_time)),
        ];
        let children = self.children.worker.iter().chain(&self.children.tool_server);
        let mut settings: Settings = children.cloned().collect();
        settings.extend(self.set.clone());
        settings.retain(|name, _| name.starts_with("AUTONOUS_"));
        // It may hold values for commands, which stay private.
        if let Some(value) = settings.get_mut("AUTONOUS_TOOL_ENV") {
            let names = value.split(',').filter_map(|part| part.split('=').next());
            *value = names.collect::<Vec<_>>().join(",");
        }
        settings.extend(own.map(|(name, value)| (name.to_owned(), value)));
        settings.extend(self.channels.telegram.iter().flat_map(TelegramSettings::settings));
        settings
    }
}

impl TaskSettings {
    fn from_variables(variables: &Variables) -> Result<Self, VariableError> {
        let max_attempts = variables.number("AUTONOUS_TASK_MAX_ATTEMPTS", 3, 1..=100)?;
        // A number that is set is meant.
        let usual = if variables.text("AUTONOUS_TASK_MAX_ATTEMPTS").is_some() { 0 } else { 900 };
        let retry_seconds = variables.number("AUTONOUS_TASK_RETRY_SECONDS", usual, 0..=86_400)?;
        let retry_base_ms = variables.number("AUTONOUS_TASK_RETRY_BASE_MS", 2000, 1..=60_000)?;
        let wall_time = variables.number("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", 600, 1..=86_400)?;
        Ok(Self {
            max_attempts: u32::try_from(max_attempts).unwrap_or(u32::MAX),
            retry_for: Duration::from_secs(retry_seconds),
            retry_base: Duration::from_millis(retry_base_ms),
            max_wall_time: Duration::from_secs(wall_time),
        })
    }
}

/// The data directory, absolute: from the command line, else from `AUTONOUS_DATA_DIR`, else `./data`.
pub(crate) fn data_dir_from(variables: &Variables, data_dir: Option<&Path>) -> anyhow::Result<DataDir> {
    let named = match data_dir {
        Some(path) => path.to_owned(),
        None => PathBuf::from(variables.text("AUTONOUS_DATA_DIR").unwrap_or("data")),
    };
    let absolute = std::path::absolute(&named)
        .with_context(|| format!("could not make the data directory {} absolute", named.display()))?;
    Ok(DataDir::at(absolute))
}

/// The children's programs are installed beside this one.
fn own_directory() -> anyhow::Result<PathBuf> {
    let own_program = std::env::current_exe().context("could not find the path of this program")?;
    Ok(own_program.parent().context("this program is in no directory")?.to_owned())
}

fn listen(variables: &Variables, name: &str, default: &str) -> anyhow::Result<SocketAddr> {
    let value = variables.text(name).unwrap_or(default);
    let expected = "an address with a port, such as 127.0.0.1:8700 (port 0: any free one)";
    Ok(value.trim().parse().map_err(|_| VariableError::new(name, value, expected))?)
}

fn control_token(variables: &Variables) -> Result<Option<Secret>, VariableError> {
    let Some(token) = variables.secret("AUTONOUS_CONTROL_TOKEN") else { return Ok(None) };
    let text = token.expose();
    if (8..=256).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(Some(token));
    }
    Err(VariableError::new(
        "AUTONOUS_CONTROL_TOKEN",
        "***",
        "8 to 256 visible ASCII characters without spaces",
    ))
}

/// What tools reach.
pub(crate) fn roots(variables: &Variables, data: &DataDir) -> Result<Vec<String>, VariableError> {
    const NAME: &str = "AUTONOUS_TOOL_ALLOWED_ROOTS";
    let Some(roots) = variables.list(NAME).filter(|roots| !roots.is_empty()) else {
        return Ok([data.workspace(), data.state()].map(|root| root.display().to_string()).to_vec());
    };
    match roots.iter().find(|root| !Path::new(root).is_absolute()) {
        None => Ok(roots),
        Some(relative) => Err(VariableError::new(NAME, relative, "absolute directories, comma separated")),
    }
}

fn retention(variables: &Variables) -> Result<Option<Span>, VariableError> {
    const NAME: &str = "AUTONOUS_RETENTION";
    let value = variables.text(NAME).unwrap_or("30d").trim();
    match value.parse::<Span>() {
        _ if value == "0" => Ok(None),
        Ok(span) if span.0 >= SHORTEST => Ok(Some(span)),
        Ok(_) | Err(_) => {
            Err(VariableError::new(NAME, value, "a span such as 30d or 12w, at least 1h, or 0 to keep all"))
        }
    }
}

fn schedule_limits(variables: &Variables) -> Result<ScheduleLimits, VariableError> {
    let usual = ScheduleLimits::default();
    let number = |name: &str, usual: u32, most: u64| {
        variables
            .number(name, u64::from(usual), 1..=most)
            .map(|number| u32::try_from(number).unwrap_or(u32::MAX))
    };
    Ok(ScheduleLimits {
        most_of_chat: number("AUTONOUS_SCHEDULES_MAX_PER_CHAT", usual.most_of_chat, 1000)?,
        least_minutes: number("AUTONOUS_SCHEDULES_MIN_MINUTES", usual.least_minutes, 1440)?,
    })
}

fn contacts_cooldown(variables: &Variables) -> Result<Duration, VariableError> {
    const NAME: &str = "AUTONOUS_CONTACTS_COOLDOWN";
    let value = variables.text(NAME).unwrap_or("1h").trim();
    match value.parse::<Span>() {
        _ if value == "0" => Ok(Duration::ZERO),
        Ok(span) if span.0 <= LONGEST_COOLDOWN => Ok(span.0),
        Ok(_) | Err(_) => {
            Err(VariableError::new(NAME, value, "a span such as 30m or 1h, at most 30d, or 0 for none"))
        }
    }
}

fn system_prompt(variables: &Variables) -> anyhow::Result<Option<String>> {
    const NAME: &str = CONFIG_DIR;
    let Some(directory) = variables.text(NAME) else { return Ok(None) };
    if !Path::new(directory).is_dir() {
        return Err(VariableError::new(NAME, directory, "a directory that exists").into());
    }
    let path = Path::new(directory).join("AUTONOUS.md");
    if !path.exists() {
        return Ok(None);
    }
    let prompt = std::fs::read_to_string(&path)
        .with_context(|| format!("{NAME}: could not read {}", path.display()))?;
    if prompt.len() > MAX_PROMPT_BYTES {
        anyhow::bail!("{NAME}: {} has more than {MAX_PROMPT_BYTES} bytes", path.display());
    }
    Ok(Some(prompt))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of<const N: usize>(pairs: [(&str, &str); N]) -> String {
        let variables = Variables::from_pairs(pairs);
        format!("{:#}", Config::from_variables(&variables, Some(Path::new("/data"))).unwrap_err())
    }

    #[test]
    fn a_fresh_machine_needs_no_variable() {
        let variables = Variables::from_pairs([]);
        let config = Config::from_variables(&variables, Some(Path::new("/data"))).unwrap();
        assert_eq!(config.control_listen.to_string(), "127.0.0.1:8700");
        assert_eq!(config.tool_listen.to_string(), "127.0.0.1:8701");
        assert_eq!(config.roots, ["/data/workspace", "/data/state"]);
        assert_eq!((config.workers, config.tasks.max_attempts), (4, 3));
        assert_eq!(config.tasks.retry_for, Duration::from_secs(900));
        assert_eq!(config.retention, Some(Span(Duration::from_secs(30 * 86_400))));
        assert_eq!(retention(&Variables::from_pairs([("AUTONOUS_RETENTION", "0")])), Ok(None));
        assert!(config.channels.telegram.is_none());
    }

    #[test]
    fn every_variable_that_is_set_is_among_the_settings_that_hold() {
        let settings = |variables: Variables| {
            Config::from_variables(&variables, Some(Path::new("/data"))).unwrap().settings()
        };
        for (name, value) in [
            ("AUTONOUS_RETENTION", "12w"),
            ("AUTONOUS_CONTACTS_COOLDOWN", "2h"),
            ("AUTONOUS_SCHEDULES_MIN_MINUTES", "7"),
            ("AUTONOUS_WORKERS", "3"),
            ("AUTONOUS_TOOL_TIMEOUT_SECONDS", "31"),
        ] {
            let set = settings(Variables::from_pairs([(name, value)]));
            assert_eq!(set[name], value);
            assert_ne!(set, settings(Variables::from_pairs([])), "{name}");
        }
    }

    #[test]
    fn a_bad_value_stops_the_start_and_names_its_variable() {
        for (name, value) in [
            ("AUTONOUS_CONTROL_LISTEN", "8700"),
            ("AUTONOUS_TOOL_LISTEN", "localhost"),
            ("AUTONOUS_TOOL_ALLOWED_ROOTS", "/a,b"),
            ("AUTONOUS_CONFIG_DIR", "/does/not/exist"),
            ("AUTONOUS_WORKERS", "0"),
            ("AUTONOUS_WORKERS", "65"),
            ("AUTONOUS_STOP_SECONDS", "601"),
            ("AUTONOUS_TASK_MAX_ATTEMPTS", "0"),
            ("AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS", "soon"),
            ("AUTONOUS_RETENTION", "5m"),
            ("AUTONOUS_CONTACTS_COOLDOWN", "31d"),
            ("AUTONOUS_CONTACTS_COOLDOWN", "1"),
            ("AUTONOUS_SCHEDULES_MAX_PER_CHAT", "0"),
            ("AUTONOUS_SCHEDULES_MIN_MINUTES", "1441"),
            ("AUTONOUS_APPROVAL_TIMEOUT_SECONDS", "0"),
            ("AUTONOUS_CONTROL_ALLOWED_HOSTS", "http://box.example"),
            ("AUTONOUS_RETENTION", "a month"),
            ("AUTONOUS_TASK_RETRY_BASE_MS", "soon"),
            ("AUTONOUS_TASK_RETRY_SECONDS", "86401"),
            ("AUTONOUS_TELEGRAM_API_URL", "ftp://x"),
            ("AUTONOUS_TELEGRAM_ALLOWED_CHATS", "me"),
            ("AUTONOUS_TELEGRAM_ALLOWED_USERS", "@ada"),
            ("AUTONOUS_TELEGRAM_ALLOWED_USERS", "-5"),
            ("AUTONOUS_TELEGRAM_GROUP_MEMBERS", "everybody"),
            ("AUTONOUS_TELEGRAM_GROUP_TRIGGER", "always"),
            ("AUTONOUS_TG_PENDING_WINDOW_SECONDS", "-1"),
            ("AUTONOUS_TG_PENDING_MAX_MESSAGES", "many"),
            ("AUTONOUS_TG_SEND_MAX_ATTEMPTS", "0"),
        ] {
            let error = error_of([(name, value)]);
            assert!(error.contains(name), "{name}: {error}");
        }
    }

    #[test]
    fn a_bad_secret_is_refused_without_being_shown() {
        for (name, value) in [("AUTONOUS_TELEGRAM_TOKEN", "hunter2"), ("AUTONOUS_CONTROL_TOKEN", "hunter2")] {
            let error = error_of([(name, value)]);
            assert!(error.contains(name) && !error.contains("hunter2"), "{error}");
        }
    }
}
