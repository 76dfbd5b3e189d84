//! `supervisor run`: starts everything, and stops it in order.

mod children;
mod node;
mod system;

use std::time::Duration;

use protocol::event::ProcessStarted;
use protocol::{Event, EventId};
use settings::table::CONFIG_DIR;
use store::membership::Membership;
use store::sql::Connection;
use store::{Location, Store, StoreError, events, kv, languages, nodes, outgoing_files, page_files};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::children::launcher::Loss;
use crate::config::Config;
use crate::housekeeping;
use crate::ports::PortError;
use crate::reload::SettingsOrigin;
use crate::startup_resources::StartupResources;
use crate::tokens::{Tokens, TokensError};
use system::{Foundation, System};

/// The pause before a locked database is tried again; each attempt waits as well.
const LOCKED_PAUSE: Duration = Duration::from_millis(500);

/// How long the end may take once no task has time left: twice what ending a child takes, and some writes to
/// the database. Nothing that hangs makes it longer.
const LAST_STEPS: Duration = Duration::from_secs(15);

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "the database {0} is damaged and nothing more is written to it: keep the file and restore a backup; \
         see docs/backup.md"
    )]
    DamagedMeanwhile(String),
    #[error(transparent)]
    Tokens(#[from] TokensError),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error("invalid settings for the {0}; see its error above")]
    BadSettings(&'static str),
    #[error("the launcher of the other programs {0}; start the supervisor again")]
    Launcher(Loss),
    #[error("the supervisor's task `{0}` has ended; see the log above, and start the supervisor again")]
    LostTask(String),
    #[error(
        "not everything ended within {} s, so the rest was cut off; the next start puts back what ran",
        LAST_STEPS.as_secs()
    )]
    NotInOrder,
    #[error("could not create the metrics")]
    Metrics(#[from] prometheus::Error),
    #[error("could not create the HTTP client")]
    Client(#[from] reqwest::Error),
}

/// Runs until it is asked to `stop`. `announce` is called once, when all children are ready for the first
/// time, with whether there is a model.
pub async fn run(
    config: Config,
    resources: StartupResources,
    origin: SettingsOrigin,
    stop: CancellationToken,
    announce: impl FnOnce(&Tokens, bool) + Send + 'static,
) -> Result<(), RunError> {
    let StartupResources { lock: _lock, control_port, tool_port, far, webhook, tokens, launcher } = resources;
    let Some(store) = open_store(&config.data.database(), &stop).await? else { return Ok(()) };
    let Some(membership) = join(&store, &config, &stop).await? else { return Ok(()) };
    tokens.write(&config.data.tokens())?;
    let run = tokio::select! {
        () = stop.cancelled() => return Ok(()),
        run = record_start(&store, &tokens, &config) => run?,
    };
    let stop_journal = CancellationToken::new();
    let (foundation, following) = Foundation::lay(&config, &tokens, store, run, &stop_journal)?;
    let system = System::new(config, tokens, launcher, foundation, webhook, membership)?;
    // A locked database keeps this waiting.
    let children = tokio::select! {
        () = stop.cancelled() => return Ok(()),
        children = system.start_children(tool_port, far) => children?,
    };
    system.start(children, control_port, announce)?;
    system.start_reload(origin);
    let cause = system.until_stopped(&stop).await;
    system.stop.cancel();
    // Until then, calls of others may end.
    let stop_by = system.stop_by.get().map_or_else(Instant::now, |stop_by| (*stop_by).max(Instant::now()));
    let in_order = timeout_at(stop_by + LAST_STEPS, system.end(stop_journal, following)).await;
    cause?;
    in_order.map_err(|_| RunError::NotInOrder)?;
    system.rejection.get().copied().map_or(Ok(()), |child| Err(RunError::BadSettings(child)))
}

async fn record_start(store: &Store, tokens: &Tokens, config: &Config) -> Result<EventId, RunError> {
    let started = ProcessStarted {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        control_url: tokens.control_url.clone(),
        tool_url: tokens.tool_url.clone(),
    };
    let started = Event::now(started, None, None);
    let run = started.id.clone();
    let (roots, retention, language) = (config.roots.join("\n"), config.retention, config.language);
    let config_dir = config.settings().remove(CONFIG_DIR.name()).unwrap_or_default();
    let record = move |tx: &Connection| {
        nodes::adopt(tx)?;
        housekeeping::note_jump_at_start(tx, retention)?;
        kv::set(tx, kv::ROOTS, &roots)?;
        kv::set(tx, kv::CONFIG_DIR, &config_dir)?;
        languages::set_default(tx, language)?;
        // Another node may be about to queue them.
        if nodes::is_alone(tx)? {
            outgoing_files::delete_abandoned(tx)?;
            page_files::delete_abandoned(tx)?;
        }
        events::append(tx, &started)
    };
    store.write_until_done(record).await?;
    Ok(run)
}

/// Becomes a node of a database that several share. `None` if it is time to stop.
async fn join(
    store: &Store,
    config: &Config,
    stop: &CancellationToken,
) -> Result<Option<Option<Membership>>, RunError> {
    loop {
        let (store, location, shares) = (store.clone(), config.data.database(), config.shares_workspaces);
        let joined = tokio::task::spawn_blocking(move || store.join(&location, shares)).await;
        match joined.unwrap_or(Err(StoreError::Closed)) {
            Err(error) if error.is_away() => {
                tracing::warn!(%error, "the database's server gives no answer; waiting");
            }
            joined => return Ok(Some(joined?)),
        }
        if stop.run_until_cancelled(tokio::time::sleep(LOCKED_PAUSE)).await.is_none() {
            return Ok(None);
        }
    }
}

/// Opens the database, and waits while another program has it locked or its server gives no answer. `None` if
/// it is time to stop.
async fn open_store(database: &Location, stop: &CancellationToken) -> Result<Option<Store>, RunError> {
    loop {
        let location = database.clone();
        let opened = tokio::task::spawn_blocking(move || Store::open(location)).await;
        match opened.unwrap_or(Err(StoreError::Closed)) {
            Err(error) if error.is_locked() => {
                tracing::warn!(%error, %database, "the database is locked by another program; waiting");
            }
            Err(error) if error.is_away() => {
                tracing::warn!(%error, %database, "the database's server gives no answer; waiting");
            }
            Err(error) if error.is_in_use() => {
                tracing::warn!(%database, "another supervisor uses the database; waiting until it ends");
            }
            opened => return Ok(Some(opened?)),
        }
        if stop.run_until_cancelled(tokio::time::sleep(LOCKED_PAUSE)).await.is_none() {
            return Ok(None);
        }
    }
}

impl System {
    /// An error says what ended the run if no signal did.
    async fn until_stopped(&self, asked: &CancellationToken) -> Result<(), RunError> {
        tokio::select! {
            () = asked.cancelled() => {
                self.finish().await;
                Ok(())
            }
            () = self.stop.cancelled() => Ok(()),
            is_damaged = self.store.given_up() => Err(if is_damaged {
                RunError::DamagedMeanwhile(self.config.data.database().to_string())
            } else {
                RunError::LostTask("database".to_owned())
            }),
            task = self.tasks.lost() => Err(RunError::LostTask(task)),
            loss = self.launcher.lost(&self.board) => Err(RunError::Launcher(loss)),
        }
    }

    /// Waits until everything has ended, and puts back what still ran.
    async fn end(&self, stop_journal: CancellationToken, following: JoinHandle<()>) {
        self.tasks.finish().await;
        // The children have exited: read what the tool server wrote last.
        self.dispatcher().requeue_at_shutdown().await;
        stop_journal.cancel();
        let _ = following.await;
        if let Err(error) = housekeeping::merge_log(&self.config.data.database()).await {
            tracing::warn!(%error, "could not merge the database's log; the next start reads it");
        }
    }

    /// Claims no more tasks, and gives those that run some time to end.
    async fn finish(&self) {
        let stop_by = Instant::now() + self.config.stop_patience;
        let _ = self.stop_by.set(stop_by);
        if timeout_at(stop_by, self.queue.finish()).await.is_err() {
            tracing::warn!("tasks still run; they are put back into the queue");
        }
    }
}
