//! Reads `autonous.toml` and `policy.toml` again while the supervisor runs, and applies what can change.
//!
//! Files of secrets are out of reach then, so secrets stay as they are. A file that cannot be used changes
//! nothing.

use std::path::PathBuf;
use std::sync::Arc;

use channel::Channels;
use process::logs;
use settings::table::{
    APPROVERS, RUST_LOG, TELEGRAM_ALLOWED_CHATS, TELEGRAM_ALLOWED_USERS, TELEGRAM_GROUP_MEMBERS,
    TELEGRAM_GROUP_TRIGGER,
};
use settings::{Search, Source};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::all_channels::set_access;
use crate::config::Config;
use crate::current_settings::CurrentSettings;

/// What changes at once, beside the rules and limits of `policy.toml`. The rest holds from the next start.
const RELOADED: [&str; 6] = [
    RUST_LOG.name(),
    TELEGRAM_ALLOWED_CHATS.name(),
    TELEGRAM_ALLOWED_USERS.name(),
    TELEGRAM_GROUP_MEMBERS.name(),
    TELEGRAM_GROUP_TRIGGER.name(),
    APPROVERS.name(),
];

/// Where the settings of this run come from, and who asks to read them again.
#[derive(Debug, Clone)]
pub struct SettingsOrigin {
    /// The environment, with its secrets.
    pub environment: Source,
    /// What was read at the start.
    pub at_start: Source,
    /// The data directory of the command line.
    pub named_data_dir: Option<PathBuf>,
    /// Notified when the settings should be read again.
    pub asked: Arc<Notify>,
}

impl SettingsOrigin {
    pub fn new(environment: Source, named_data_dir: Option<PathBuf>) -> Self {
        Self { environment, at_start: Source::default(), named_data_dir, asked: Arc::default() }
    }
}

/// What reads the settings again, and where they then hold.
pub(crate) struct Reload {
    pub origin: SettingsOrigin,
    pub channels: Channels,
    pub current: CurrentSettings,
    /// Notified when the tool server should read its rules again.
    pub tool_server: Arc<Notify>,
}

impl Reload {
    /// Reads the settings again whenever it is asked for.
    pub(crate) async fn serve(self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.origin.asked.notified() => self.reload(),
            }
        }
    }

    fn reload(&self) {
        match self.read() {
            Ok((source, config)) => self.apply(&source, &config),
            Err(error) => {
                let error = format!("{error:#}");
                tracing::error!(error, "the settings were not read again; those from before hold");
            }
        }
    }

    fn read(&self) -> anyhow::Result<(Source, Config)> {
        let SettingsOrigin { environment, at_start, named_data_dir, .. } = &self.origin;
        let search = named_data_dir.as_deref().map_or(Search::Default, Search::Named);
        let file = settings::find(environment, search)?;
        let source = environment.clone().with_file(file.as_ref()).with_secrets_of(at_start);
        let config = Config::read(&source, named_data_dir.as_deref());
        let config = config.map_err(|error| source.located_any(error))?;
        Ok((source, config))
    }

    fn apply(&self, source: &Source, config: &Config) {
        let (before, after) = (self.current.settings(), config.settings());
        let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
        let changed: Vec<&str> =
            names.map(String::as_str).filter(|name| before.get(*name) != after.get(*name)).collect();
        let (now, later): (Vec<&str>, Vec<&str>) =
            changed.into_iter().partition(|name| RELOADED.contains(name));
        if let Ok(logs) = settings::logs(source) {
            logs::set_filter(&logs.filter);
        }
        set_access(&self.channels, &config.channels);
        self.current.replace(config, &RELOADED);
        self.tool_server.notify_one();
        tracing::info!(changed = now.join(", "), "the settings were read again, with rules and limits");
        if !later.is_empty() {
            tracing::warn!(settings = later.join(", "), "these hold from the next start");
        }
    }
}
