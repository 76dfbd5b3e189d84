//! Looks at the parts of which nobody reports how they are: the database, the journal, the children and the
//! disk.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::children::{ChildState, ChildrenStates};
use crate::data_dir::DataDir;
use crate::health::disk::{FEW_FREE_MB, LEAST_FREE_MB, free_mb};
use crate::health::{Board, PartName, Reading, Report};
use crate::journal::tampering;
use crate::store::Store;

/// How often it looks without being asked.
const EVERY: Duration = Duration::from_secs(5);

/// The board, and what is looked at.
#[derive(Debug)]
pub(crate) struct Monitor {
    board: Board,
    store: Store,
    children: ChildrenStates,
    data: DataDir,
    /// Which file the open database is.
    database: Option<(u64, u64)>,
}

impl Monitor {
    pub(crate) fn new(board: Board, store: Store, children: ChildrenStates, data: DataDir) -> Self {
        let database = file_identity(&data.database());
        Self { board, store, children, data, database }
    }

    /// Looks at everything now.
    pub(crate) async fn report(&self) -> Report {
        for (name, reading) in [
            (PartName::Database, self.database().await),
            (PartName::Journal, self.journal().await),
            (PartName::ToolServer, self.tool_server()),
            (PartName::Workers, self.workers()),
            (PartName::Disk, self.disk()),
        ] {
            self.board.set(name, reading);
        }
        self.board.report()
    }

    /// Logs how everything is, now that all children are ready.
    pub(crate) async fn announce(&self) {
        self.report().await;
        self.board.announce();
    }

    /// Looks again and again, so that a change is in the log and its time is known, until `stop`.
    pub(crate) async fn watch(&self, stop: CancellationToken) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => drop(self.report().await),
            }
        }
    }

    async fn database(&self) -> Reading {
        let path = self.data.database();
        if file_identity(&path) != self.database {
            let detail = format!("{} was removed or replaced; what is written now is lost", path.display());
            return Reading::failed(detail, "Put the file back or restore a backup, and restart.");
        }
        match self.store.trouble().await {
            Some(trouble) => {
                Reading::failed(trouble, "Free some space, or see docs/operations.md; it is tried again.")
            }
            None => Reading::ok("takes changes"),
        }
    }

    async fn journal(&self) -> Reading {
        const REMEDY: &str =
            "Find out what happened. `supervisor journal accept --reason \"…\"` accepts it as it is.";
        match self.store.write(|tx| tampering::open_finding(tx)).await {
            Ok(None) => Reading::ok("is what was read of it"),
            Ok(Some(finding)) => Reading::failed(finding.error, REMEDY),
            Err(error) => Reading::failed(error.to_string(), "See the database."),
        }
    }

    fn tool_server(&self) -> Reading {
        const REMEDY: &str = "Wait; if it stays so, its log says why.";
        match *self.children.tool_server.borrow() {
            ChildState::Ready => Reading::ok("answers"),
            ChildState::Starting => Reading::failed("is starting", REMEDY),
            ChildState::Restarting => Reading::failed("exited and is started again", REMEDY),
        }
    }

    fn workers(&self) -> Reading {
        let (ready, all) = (self.children.ready_workers(), self.children.workers.len());
        let detail = format!("{ready} of {all} ready");
        let remedy = "Wait; if it stays so, the worker's log says why.";
        match ready {
            0 => Reading::failed(detail, remedy),
            _ if ready < all => Reading::degraded(detail, remedy),
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

fn file_identity(path: &Path) -> Option<(u64, u64)> {
    path.metadata().ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
