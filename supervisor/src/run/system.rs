//! The parts of a run: makes each with what it needs of the others, and starts it.

use std::path::Path;
use std::sync::Arc;

use channel::{Channels, Delivery};
use http_port::Access;
use protocol::EventId;
use settings::choices::Reactions;
use store::Store;
use store::membership::Membership;
use telegram::Webhook;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::RunError;
use crate::all_channels::{channels, note_unasked};
use crate::approvals::client::Approvals;
use crate::approvals::follow::{Asker, Follower};
use crate::cancel_signal::CancelSignal;
use crate::channels::local;
use crate::channels::pace::SharedPace;
use crate::channels::{progress, reactions, sender};
use crate::children::child_supervisor::SettingsRejection;
use crate::children::launcher::Launcher;
use crate::children::{ChildrenStates, StopBy};
use crate::commands::models::Models;
use crate::config::Config;
use crate::contacts::{self, Contacts};
use crate::control::{self, Control, Others};
use crate::current_settings::CurrentSettings;
use crate::dispatch::{Dispatcher, Queue, TaskTemplate};
use crate::downloads::Downloads;
use crate::effects::Effects;
use crate::far::FarToolServer;
use crate::file_requests::FileRequests;
use crate::health::Board;
use crate::health::database_file::DatabaseFile;
use crate::housekeeping::Housekeeping;
use crate::journal::{self, Journal};
use crate::long_tasks::LongTasks;
use crate::metrics::Meters;
use crate::monitor::Monitor;
use crate::nodes::place::Place;
use crate::overheard::Overheard;
use crate::page::kept_outputs::{KeptOutputs, OutputPlace};
use crate::page::live::Live;
use crate::page::sessions::Sessions;
use crate::page::{self, Page};
use crate::ports::Port;
use crate::readers::Readers;
use crate::reception::Inbound;
use crate::reload::{Reload, SettingsOrigin};
use crate::schedules::Schedules;
use crate::tokens::Tokens;
use crate::tool_client::ToolClient;
use crate::tool_files::ToolFiles;
use crate::traces::{Collector, Traces};
use crate::transcribe::Transcriber;
use crate::undo::Undoer;
use crate::words::Words;

/// What all other parts of a run need.
pub(super) struct Foundation {
    store: Store,
    run: EventId,
    journal: Journal,
    board: Board,
    stop: CancellationToken,
    stop_journal: CancellationToken,
    tasks: LongTasks,
    far: Option<FarToolServer>,
}

impl Foundation {
    /// Begins to follow the journal until `stop_journal`; returns the task that follows it as well.
    pub(super) fn lay(
        config: &Config,
        tokens: &Tokens,
        store: Store,
        run: EventId,
        stop_journal: &CancellationToken,
    ) -> Result<(Self, JoinHandle<()>), RunError> {
        let (stop, board) = (CancellationToken::new(), Board::default());
        let tasks = LongTasks::until(stop.clone(), board.clone());
        let (journal, following) =
            journal::follow(config.data.journal(), store.clone(), Some(run.clone()), stop_journal.clone());
        let following = tokio::spawn(tasks.watched("journal", stop_journal.clone(), following));
        let far = config.far.as_ref().map(|far| FarToolServer::new(far, tokens)).transpose()?;
        let journal = match &far {
            None => journal,
            Some(far) => {
                let (file, stop) = (config.data.journal(), stop_journal.clone());
                let (journal, copying) = far.copy_journal(file, store.clone(), journal, stop.clone());
                tokio::spawn(tasks.watched("copy of the journal", stop, copying));
                journal
            }
        };
        let stop_journal = stop_journal.clone();
        Ok((Self { store, run, journal, board, stop, stop_journal, tasks, far }, following))
    }

    fn inbound(&self, config: &Config, files: &ToolFiles, approvals: &Approvals) -> Inbound {
        Inbound {
            store: self.store.clone(),
            run: self.run.clone(),
            cancel_signal: CancelSignal::default(),
            file_requests: Arc::default(),
            models: Models::new(config.models.clone()),
            current: CurrentSettings::of(config),
            board: self.board.clone(),
            approvals: Some(approvals.clone()),
            files: Some(files.clone()),
            files_came: Arc::default(),
            overheard: Overheard::default(),
        }
    }
}

/// The clients of the tool server: for files, and for what waits for a person.
fn clients(config: &Config, tokens: &Tokens) -> Result<(ToolFiles, Approvals), RunError> {
    let files = ToolFiles::new(&tokens.tool_url, &tokens.tool_token, &config.roots, config.division)?;
    Ok((files, Approvals::new(&tokens.tool_url, &tokens.approver_token)?))
}

pub(super) struct System {
    pub(super) config: Config,
    pub(super) launcher: Arc<Launcher>,
    pub(super) store: Store,
    pub(super) run: EventId,
    pub(super) journal: Journal,
    pub(super) tokens: Tokens,
    pub(super) channels: Channels,
    pub(super) effects: Effects,
    pub(super) schedules: Schedules,
    contacts: Contacts,
    pub(super) queue: Queue,
    words: Words,
    pub(super) meters: Meters,
    pub(super) inbound: Inbound,
    /// The tool server, for what comes in and goes out.
    files: ToolFiles,
    pub(super) approvals: Approvals,
    pub(super) board: Board,
    pub(super) stop_by: StopBy,
    pub(super) rejection: SettingsRejection,
    /// Notified when the tool server should read its rules again.
    pub(super) rules_changed: Arc<Notify>,
    /// This node's place among those that share the database, if they do.
    pub(super) place: Option<Place>,
    /// Ends everything; cancelled when the running tasks have ended or their time is over.
    pub(super) stop: CancellationToken,
    /// Ends what reads the journal, after everything else.
    pub(super) stop_journal: CancellationToken,
    pub(super) tasks: LongTasks,
    /// The tool server, if it is on another machine.
    pub(super) far: Option<FarToolServer>,
}

impl System {
    pub(super) fn new(
        config: Config,
        tokens: Tokens,
        launcher: Arc<Launcher>,
        foundation: Foundation,
        webhook: Option<Webhook>,
        membership: Option<Membership>,
    ) -> Result<Self, RunError> {
        let has_webhook = webhook.is_some();
        let (files, approvals) = clients(&config, &tokens)?;
        let inbound = foundation.inbound(&config, &files, &approvals);
        note_unasked(&config.channels, &foundation.board);
        let channels = channels(&config.channels, webhook, &foundation.store)?;
        let schedules = Schedules::new(&foundation.store, &channels, config.schedules);
        let (store, cooldown) = (foundation.store.clone(), config.contacts_cooldown);
        let contacts = Contacts { store, files: files.clone(), cooldown };
        let effects = Effects::new(&foundation.store, &channels, &foundation.journal, &schedules);
        let Foundation { store, run, journal, board, stop, stop_journal, tasks, far } = foundation;
        Ok(Self {
            config,
            launcher,
            store,
            run,
            journal,
            tokens,
            channels,
            effects,
            schedules,
            contacts,
            queue: Queue::default(),
            words: Words::default(),
            meters: Meters::new()?,
            inbound,
            approvals,
            files,
            board,
            stop_by: StopBy::default(),
            rejection: SettingsRejection::default(),
            rules_changed: Arc::default(),
            place: membership.map(|membership| Place::new(membership, has_webhook)),
            stop,
            stop_journal,
            tasks,
            far,
        })
    }

    /// Starts everything but the children.
    pub(super) fn start(
        &self,
        children: ChildrenStates,
        control_port: Port,
        announce: impl FnOnce(&Tokens, bool) + Send + 'static,
    ) -> Result<(), RunError> {
        let monitor = self.start_monitor(&children);
        self.start_channels(control_port, &monitor)?;
        self.start_downloads()?;
        self.start_file_requests()?;
        self.start_approvals();
        self.start_schedules();
        self.start_node();
        let deliveries = contacts::deliveries::follow(self.contacts.clone(), self.stop.clone());
        self.tasks.spawn("contacts", deliveries);
        self.announce_when_ready(children, monitor, announce);
        self.start_housekeeping();
        self.start_traces()?;
        Ok(())
    }

    /// Reads the settings again whenever it is asked for.
    pub(super) fn start_reload(&self, origin: SettingsOrigin) {
        let reload = Reload {
            origin,
            channels: self.channels.clone(),
            current: self.inbound.current.clone(),
            tool_server: Arc::clone(&self.rules_changed),
        };
        self.tasks.spawn("reload", reload.serve(self.stop.clone()));
    }

    pub(super) fn dispatcher(&self) -> Dispatcher {
        Dispatcher {
            store: self.store.clone(),
            journal: self.journal.clone(),
            run: self.run.clone(),
            channels: self.channels.clone(),
            settings: self.config.tasks,
            current: self.inbound.current.clone(),
            cancel_signal: self.inbound.cancel_signal.clone(),
            approvals_changed: Arc::clone(&self.approvals.changed),
            queue: self.queue.clone(),
            board: self.board.clone(),
            overheard: self.inbound.overheard.clone(),
            models: self.inbound.models.clone(),
            words: self.words.clone(),
            meters: self.meters.clone(),
            task_template: Arc::new(TaskTemplate {
                system_prompt: self.config.system_prompt.clone(),
                roots: self.config.roots.clone(),
                division: self.config.division,
            }),
        }
    }

    fn start_monitor(&self, children: &ChildrenStates) -> Arc<Monitor> {
        let (board, data) = (self.board.clone(), self.config.data.clone());
        let opened = |file: &Path| DatabaseFile::opened(file.to_owned(), self.run.clone());
        let file = data.database().file().map(opened);
        let monitor = Arc::new(Monitor::new(board, self.store.clone(), children.clone(), data, file));
        let (watched, stop) = (Arc::clone(&monitor), self.stop.clone());
        self.tasks.spawn("health", async move { watched.watch(stop).await });
        monitor
    }

    fn start_channels(&self, port: Port, monitor: &Arc<Monitor>) -> Result<(), RunError> {
        self.start_control(port, Arc::clone(monitor))?;
        for channel in self.channels.iter() {
            let channel = Arc::clone(channel);
            match channel.delivery() {
                Delivery::Push => {
                    let pace = SharedPace::new(channel.limits());
                    let (store, stop) = (self.store.clone(), self.stop.clone());
                    let (words, kept) = (self.words.clone(), store.clone());
                    let showing =
                        progress::show(channel.clone(), kept, pace.clone(), words.clone(), stop.clone());
                    self.tasks.spawn(format!("progress in {}", channel.name()), showing);
                    if channel.reactions() != Reactions::Off {
                        let reacting =
                            reactions::show(channel.clone(), store.clone(), pace.clone(), stop.clone());
                        self.tasks.spawn(format!("reactions in {}", channel.name()), reacting);
                    }
                    let sending = sender::send_queued(channel.clone(), store, pace, words, stop);
                    self.tasks.spawn(format!("sender of {}", channel.name()), sending);
                }
                Delivery::Pull => {}
                Delivery::Off => {
                    tracing::info!(channel = %channel.name(), "the channel is off: it is not configured");
                    continue;
                }
            }
            self.start_receiver(channel);
        }
        Ok(())
    }

    fn start_control(&self, port: Port, monitor: Arc<Monitor>) -> Result<(), RunError> {
        let (listener, address) = port.into_async()?;
        let control = Control {
            access: Access::new(Some(self.tokens.control()), address, &self.config.control_hosts),
            read_token: self.config.tokens.control_read.clone(),
            store: self.store.clone(),
            readers: Arc::new(Readers::of(self.config.data.database())),
            inbound: self.inbound.clone(),
            journal: self.config.data.journal(),
            follower: self.journal.clone(),
            undoer: self.undoer()?,
            run: self.run.clone(),
            monitor,
            channels: self.channels.clone(),
            tool_server: self.files.clone(),
            approvals: self.approvals.clone(),
            words: self.words.clone(),
            meters: self.meters.clone(),
            has_public_metrics: self.config.has_public_metrics,
            stop: self.stop.clone(),
        };
        let control = Arc::new(control);
        let page = self.config.channels.has_page.then(|| Arc::new(self.page()));
        let others = Others {
            with_token: local::routes().merge(page::for_programs(page.clone())),
            open: page.as_ref().map(page::routes).unwrap_or_default(),
            browsers: page.as_ref().map(|page| page::for_browsers(&control, page)),
        };
        self.tasks.spawn("control port", control::serve(listener, control, others));
        Ok(())
    }

    fn page(&self) -> Page {
        let secrets = [self.tokens.tool_token.as_str(), &self.tokens.approver_token];
        let here = || OutputPlace::Here(self.config.data.output());
        let place = self.far.clone().map_or_else(here, OutputPlace::Elsewhere);
        let outputs = Arc::new(KeptOutputs::new(place, secrets));
        Page { sessions: Sessions::new(self.store.clone()), live: Live::default(), outputs }
    }

    fn undoer(&self) -> Result<Undoer, RunError> {
        let client = ToolClient::new(&self.tokens.tool_url, &self.tokens.approver_token)?;
        Ok(Undoer { client, journal: self.journal.clone() })
    }

    fn start_downloads(&self) -> Result<(), RunError> {
        let transcription = self.config.channels.transcription.clone();
        let downloads = Downloads {
            store: self.store.clone(),
            run: self.run.clone(),
            channels: self.channels.clone(),
            files: self.files.clone(),
            arrived: Arc::clone(&self.inbound.files_came),
            transcriber: Transcriber::new(transcription, self.files.clone())?,
        };
        self.tasks.spawn("downloads", downloads.run(self.stop.clone()));
        Ok(())
    }

    fn start_file_requests(&self) -> Result<(), RunError> {
        let requests = FileRequests {
            store: self.store.clone(),
            channels: self.channels.clone(),
            arrived: Arc::clone(&self.inbound.file_requests),
            undoer: self.undoer()?,
            tool_server: self.files.clone(),
        };
        self.tasks.spawn("file requests", requests.serve(self.stop.clone()));
        Ok(())
    }

    fn start_approvals(&self) {
        let (store, channels, run) = (self.store.clone(), self.channels.clone(), self.run.clone());
        let follower = Follower {
            approvals: self.approvals.clone(),
            asker: Asker { store, channels, run },
            cancel_signal: self.inbound.cancel_signal.clone(),
            since_ms: protocol::now_ms(),
        };
        self.tasks.spawn("approvals", follower.follow(self.stop.clone()));
    }

    fn start_traces(&self) -> Result<(), RunError> {
        let Some(settings) = self.config.traces.clone() else { return Ok(()) };
        let (store, database) = (self.store.clone(), self.config.data.database());
        let traces = Traces { store, database, collector: Collector::new(settings)? };
        self.export_traces(traces);
        Ok(())
    }

    fn start_housekeeping(&self) {
        let housekeeping = Housekeeping {
            store: self.store.clone(),
            data: self.config.data.clone(),
            run: self.run.clone(),
            retention: self.config.retention,
        };
        self.tasks.spawn("housekeeping", housekeeping.keep(self.stop.clone()));
    }

    fn announce_when_ready(
        &self,
        children: ChildrenStates,
        monitor: Arc<Monitor>,
        announce: impl FnOnce(&Tokens, bool) + Send + 'static,
    ) {
        let (tokens, stop, began) = (self.tokens.clone(), self.stop.clone(), std::time::Instant::now());
        let (roots, workers) = (self.config.roots.clone(), self.config.workers);
        let models = self.inbound.models.clone();
        let division = self.config.division;
        self.tasks.spawn_short(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = children.until_all_ready() => {
                    let (control, tools) = (&tokens.control_url, &tokens.tool_url);
                    tracing::info!(control, tools, after_ms = began.elapsed().as_millis(), "ready");
                    tracing::info!(workers, "tasks at once");
                    tracing::info!(?roots, "tools reach these directories");
                    tracing::info!("{}", division.meaning());
                    monitor.announce().await;
                    announce(&tokens, !models.is_without_model());
                }
            }
        });
    }
}
