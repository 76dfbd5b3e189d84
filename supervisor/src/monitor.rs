//! Looks at the parts that nothing else reports: the database, the journal, the children, the disk and the
//! log.
//!
//! A report takes less than a second and has the last known state. What may hang, such as a database that
//! another program has locked, is asked on the side.

use std::time::Duration;

use process::log_queue;
use protocol::event::JournalTampered;
use store::queries::{self, QueryError};
use store::{Location, Store, Trouble};
use tokio::sync::{Notify, watch};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use crate::children::{ChildrenStates, Liveness};
use crate::data_dir::DataDir;
use crate::elsewhere::Elsewhere;
use crate::health::asking::Asking;
use crate::health::database_file::DatabaseFile;
use crate::health::disk::{FEW_FREE_MB, LEAST_FREE_MB, free_mb};
use crate::health::{Board, PartName, Reading, Report, log};
use crate::journal::tampering;

/// How often it looks without being asked.
const EVERY: Duration = Duration::from_secs(5);

/// How long a report waits for a new look before it has the last known state.
const PATIENCE: Duration = Duration::from_millis(800);

/// How long a look waits for one part.
const PART_PATIENCE: Duration = Duration::from_millis(500);

/// A database that takes longer than this for a change has failed.
const LONGEST_CHANGE: Duration = Duration::from_secs(2);

/// The pause between two searches for damage; longer where one takes long, so that little time goes into it.
const SEARCH_PAUSE: Duration = Duration::from_secs(10);
const REST_BY_WORK: u32 = 20;

/// The board, and the parts that it looks at.
#[derive(Debug)]
pub(crate) struct Monitor {
    board: Board,
    store: Store,
    children: ChildrenStates,
    data: DataDir,
    /// The database, if it is a file.
    file: Option<DatabaseFile>,
    /// Notified for a new look.
    asked: Notify,
    looks: watch::Sender<Looks>,
}

/// How many looks were begun, and which was the last that ended.
#[derive(Debug, Clone, Copy, Default)]
struct Looks {
    begun: u64,
    ended: u64,
}

/// What was read of the database on a thread of its own.
type Read<T> = Result<Result<T, QueryError>, JoinError>;

/// The questions besides the main one.
#[derive(Default)]
struct Questions {
    changes: Asking<Option<Trouble>>,
    finding: Asking<Read<Option<JournalTampered>>>,
    search: Search,
}

/// The search for damage in the database's file.
struct Search {
    asking: Asking<Read<Option<String>>>,
    began: Option<Instant>,
    next: Instant,
    /// What the last one found.
    found: Option<String>,
}

impl Default for Search {
    fn default() -> Self {
        let next = Instant::now() + SEARCH_PAUSE;
        Self { asking: Asking::default(), began: None, next, found: None }
    }
}

impl Monitor {
    pub(crate) fn new(
        board: Board,
        store: Store,
        children: ChildrenStates,
        data: DataDir,
        file: Option<DatabaseFile>,
    ) -> Self {
        Self { board, store, children, data, file, asked: Notify::new(), looks: watch::Sender::default() }
    }

    /// Where the database is.
    pub(crate) fn database_location(&self) -> Location {
        self.data.database()
    }

    /// How everything is, by a new look if that does not take long.
    pub(crate) async fn report(&self) -> Report {
        let mut looks = self.looks.subscribe();
        let begun = looks.borrow().begun;
        self.asked.notify_one();
        let _ = timeout(PATIENCE, looks.wait_for(|looks| looks.ended > begun)).await;
        self.board.report()
    }

    /// Logs how everything is, now that all children are ready.
    pub(crate) async fn announce(&self) {
        self.report().await;
        self.board.announce();
    }

    /// Looks again and again, and when a report is asked for, until `stop`.
    pub(crate) async fn watch(&self, stop: CancellationToken) {
        let mut questions = Questions::default();
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
                () = self.asked.notified() => {}
            }
            self.looks.send_modify(|looks| looks.begun += 1);
            self.look(&mut questions).await;
            self.looks.send_modify(|looks| looks.ended = looks.begun);
        }
    }

    async fn look(&self, questions: &mut Questions) {
        for (name, reading) in [
            (PartName::ToolServer, self.tool_server()),
            (PartName::Workers, self.workers()),
            (PartName::Disk, self.disk()),
            (PartName::Log, log::reading(&log_queue::condition())),
        ] {
            self.board.set(name, reading);
        }
        let Questions { changes, finding, search } = questions;
        let (database, journal) = tokio::join!(self.database(changes, search), self.journal(finding));
        self.board.set(PartName::Database, database);
        if let Some(journal) = journal {
            self.board.set(PartName::Journal, journal);
        }
    }

    async fn database(&self, changes: &mut Asking<Option<Trouble>>, search: &mut Search) -> Reading {
        const RESTORE: &str = "Stop the supervisor, keep the file and restore a backup; see docs/backup.md.";
        if let Some(file) = self.file.as_ref().and_then(DatabaseFile::replaced) {
            let detail = format!("{} was removed or replaced; new rows are lost", file.display());
            return Reading::failed(detail, "Put the file back or restore a backup, and restart.");
        }
        if let Some(file) = &self.file
            && let Some(damage) = file.bad_beginning().or(search.go_on(file).await)
        {
            return Reading::failed(format!("{} is damaged: {damage}", file.path().display()), RESTORE);
        }
        let store = self.store.clone();
        let trouble = changes.ask(PART_PATIENCE, || async move { store.trouble().await }).await;
        match trouble {
            Ok(None) => Reading::ok("takes changes"),
            Ok(Some(Trouble::Locked)) => {
                Reading::failed("another program holds its write lock", self.locked_remedy())
            }
            Ok(Some(Trouble::Other(trouble))) => {
                let remedy = match self.file {
                    Some(_) => "Free some space, or see docs/operations.md; it is tried again.",
                    None => "See that the server runs and takes changes; it is tried again.",
                };
                Reading::failed(trouble, remedy)
            }
            Err(waited) => {
                let cause = match self.file {
                    Some(_) => "another program may hold its lock",
                    None => "the server is slow, or another session holds a lock",
                };
                let detail = format!("a change has taken {:.1} s: {cause}", waited.as_secs_f64());
                if waited > LONGEST_CHANGE {
                    Reading::failed(detail, self.locked_remedy())
                } else {
                    Reading::degraded(detail, self.locked_remedy())
                }
            }
        }
    }

    fn locked_remedy(&self) -> String {
        match &self.file {
            Some(file) => {
                let path = file.path().display();
                format!("End the other program; `fuser {path}` shows it. It is tried again.")
            }
            None => "See which sessions of the server wait: pg_stat_activity. It is tried again.".to_owned(),
        }
    }

    /// None while the database does not answer.
    async fn journal(&self, asking: &mut Asking<Read<Option<JournalTampered>>>) -> Option<Reading> {
        const REMEDY: &str =
            "Find out what happened. `supervisor journal accept --reason \"…\"` accepts it as it is.";
        let path = self.data.database();
        let question = || spawn_blocking(move || Ok(tampering::open_finding(&queries::open(&path)?)?));
        let found = asking.ask(PART_PATIENCE, question).await;
        let trouble = self.children.journal_trouble.borrow().clone();
        match (found, trouble) {
            (Ok(Ok(Ok(Some(finding)))), _) => Some(Reading::failed(finding.error, REMEDY)),
            (_, Some(trouble)) => Some(Reading::failed(
                format!("takes no records, so no tool can be called: {trouble}"),
                "Free some space on its disk; it is tried again.",
            )),
            (Ok(Ok(Ok(None))), None) => Some(Reading::ok("is what was read of it, and takes records")),
            (Ok(_) | Err(_), None) => None,
        }
    }

    fn tool_server(&self) -> Reading {
        const REMEDY: &str = "Wait; if it stays so, its log says why.";
        if let Some(elsewhere) = &self.children.elsewhere {
            return elsewhere_reading(elsewhere, self.children.tool_server_liveness());
        }
        match self.children.tool_server_liveness() {
            Liveness::Live => Reading::ok("answers"),
            Liveness::Starting => Reading::failed("is starting", REMEDY),
            Liveness::Restarting => Reading::failed("exited and is started again", REMEDY),
            Liveness::Quiet(time) => {
                Reading::failed(format!("has given no answer for {} s", time.as_secs()), REMEDY)
            }
            Liveness::Abandoned => Reading::failed("runs on, but is not looked after any more", REMEDY),
        }
    }

    fn workers(&self) -> Reading {
        let (live, all) = (self.children.live_workers(), self.children.workers.len());
        let detail = format!("{live} of {all} ready");
        let remedy = "Wait; if it stays so, the worker's log says why.";
        match live {
            0 => Reading::failed(detail, remedy),
            _ if live < all => Reading::degraded(detail, remedy),
            _ => Reading::ok(detail),
        }
    }

    fn disk(&self) -> Reading {
        let remedy = "Free some space, or delete old tasks: `supervisor prune --older-than 30d`.";
        match free_mb(self.data.path()) {
            Err(errno) => Reading::degraded(errno.to_string(), "Check the disk of the data directory."),
            Ok(free) => {
                let detail = format!("{free} MiB free");
                match free {
                    free if free < LEAST_FREE_MB => Reading::failed(detail, remedy),
                    free if free < FEW_FREE_MB => Reading::degraded(detail, remedy),
                    _ => Reading::ok(detail),
                }
            }
        }
    }
}

fn elsewhere_reading(elsewhere: &Elsewhere, liveness: Liveness) -> Reading {
    const REMEDY: &str = "See that it runs and can be reached from here; it is tried again.";
    let (url, troubles) = (&elsewhere.url, elsewhere.troubles.in_words());
    let with = |what: &str| match &troubles {
        Some(troubles) => format!("{what} at {url}: {troubles}"),
        None => format!("{what} at {url}"),
    };
    match liveness {
        Liveness::Live if troubles.is_some() => Reading::degraded(with("answers, but in part"), REMEDY),
        Liveness::Live => Reading::ok(with("answers")),
        Liveness::Quiet(time) => {
            Reading::failed(with(&format!("has given no answer for {} s", time.as_secs())), REMEDY)
        }
        Liveness::Abandoned => Reading::failed("is not looked after any more", "Restart the supervisor."),
        Liveness::Starting | Liveness::Restarting => Reading::failed(with("gives no answer"), REMEDY),
    }
}

impl Search {
    /// Begins a search if it is time for one, and returns what the last one found.
    async fn go_on(&mut self, file: &DatabaseFile) -> Option<String> {
        if self.began.is_none() && Instant::now() < self.next {
            return self.found.clone();
        }
        let began = *self.began.get_or_insert_with(Instant::now);
        let file = file.clone();
        let searched = self.asking.ask(Duration::ZERO, || spawn_blocking(move || file.damage())).await;
        if let Ok(searched) = searched {
            self.began = None;
            self.next = Instant::now() + SEARCH_PAUSE.max(began.elapsed() * REST_BY_WORK);
            // One that failed, such as by a lock, says nothing new.
            if let Ok(Ok(found)) = searched {
                self.found = found;
            }
        }
        self.found.clone()
    }
}
