//! The thread that writes: it commits all waiting work together.
//!
//! A commit costs a disk sync, whatever is in it. So jobs that wait at the same time share one commit, each
//! in its own savepoint: a job that fails rolls back only its own changes. No job gets its result before the
//! commit, so each change is as durable as with a commit of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{mpsc, oneshot, watch};

use super::StoreError;
use super::open::is_damage;
use super::sql::{self, Connection};

/// The most jobs that share a commit: the first waits for the last.
const MOST_TOGETHER: usize = 64;

/// A piece of work that waits for its transaction.
pub(super) trait Job: Send {
    /// Runs it. Returns false if its changes must be rolled back.
    fn run(&mut self, transaction: &Connection) -> bool;

    /// Returns the result to the caller, once the transaction has ended.
    fn end(self: Box<Self>, outcome: Result<(), StoreError>);

    /// Why it failed, if it did.
    fn failure(&self) -> Option<&StoreError>;
}

/// A job whose caller waits for the result.
pub(super) struct Asked<T, W> {
    work: Option<W>,
    result: Option<Result<T, StoreError>>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, W> Asked<T, W> {
    /// The job, and the receiver of its result.
    pub(super) fn new(work: W) -> (Self, oneshot::Receiver<Result<T, StoreError>>) {
        let (answer, answered) = oneshot::channel();
        (Self { work: Some(work), result: None, answer }, answered)
    }
}

impl<T, W> Job for Asked<T, W>
where
    T: Send,
    W: FnOnce(&Connection) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, transaction: &Connection) -> bool {
        self.result = self.work.take().map(|work| work(transaction));
        matches!(self.result, Some(Ok(_)))
    }

    fn end(self: Box<Self>, outcome: Result<(), StoreError>) {
        let answer = match (self.result, outcome) {
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StoreError::Closed),
        };
        // The caller may have gone away.
        let _ = self.answer.send(answer);
    }

    fn failure(&self) -> Option<&StoreError> {
        self.result.as_ref()?.as_ref().err()
    }
}

pub(super) struct Notices {
    /// Increments with every commit that changed something.
    pub(super) changed: Arc<watch::Sender<u64>>,
    /// Why changes fail, until one that is tried for it succeeds.
    pub(super) trouble: Arc<watch::Sender<Option<String>>>,
    /// Set before the writer ends because the file is damaged.
    pub(super) is_damaged: Arc<AtomicBool>,
}

impl Notices {
    /// Reports a transaction's outcome. Callers get their results afterwards, so they see these reports.
    fn tell(&self, jobs: &[Box<dyn Job>], committed: &sql::Result<()>, has_changed: bool) {
        let is_transient = |failure: &&StoreError| failure.is_transient();
        let failure = jobs.iter().find_map(|job| job.failure().filter(is_transient)).map(ToString::to_string);
        let failure = failure.or_else(|| committed.as_ref().err().map(ToString::to_string));
        if failure.is_some() {
            self.trouble.send_replace(failure);
        }
        if has_changed {
            self.changed.send_modify(|count| *count += 1);
        }
    }
}

/// Runs jobs until all handles are dropped or the database is found damaged: then callers get an error.
pub(super) fn work_off(connection: &Connection, mut queue: mpsc::Receiver<Box<dyn Job>>, notices: &Notices) {
    let mut rows_changed = connection.rows_changed();
    while let Some(first) = queue.blocking_recv() {
        let mut jobs = vec![first];
        while jobs.len() < MOST_TOGETHER
            && let Ok(job) = queue.try_recv()
        {
            jobs.push(job);
        }
        let committed = run_all(connection, &mut jobs);
        notices.tell(&jobs, &committed, rows_changed != connection.rows_changed());
        rows_changed = connection.rows_changed();
        let mut failures = jobs.iter().filter_map(|job| job.failure());
        let is_damaged = failures.any(StoreError::is_damage) || committed.as_ref().is_err_and(is_damage);
        notices.is_damaged.store(is_damaged, Ordering::Release);
        for job in jobs {
            job.end(committed.as_ref().copied().map_err(|error| StoreError::Database(error.copy())));
        }
        if is_damaged {
            return;
        }
    }
}

fn run_all(connection: &Connection, jobs: &mut [Box<dyn Job>]) -> sql::Result<()> {
    connection.begin()?;
    if let [alone] = jobs {
        if alone.run(connection) {
            return connection.commit();
        }
        connection.roll_back();
        return Ok(());
    }
    match jobs.iter_mut().try_for_each(|job| run_one(connection, job.as_mut())) {
        Ok(()) => connection.commit(),
        Err(error) => {
            connection.roll_back();
            Err(error)
        }
    }
}

/// Runs a job of several, in a savepoint of its own.
fn run_one(connection: &Connection, job: &mut dyn Job) -> sql::Result<()> {
    connection.begin_part()?;
    // After some failures, such as a full disk, SQLite has already rolled back the whole transaction. Then
    // the end fails, and so does every job in it.
    let is_kept = job.run(connection);
    connection.end_part(is_kept)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc as blocking;

    use rusqlite::ffi;

    use super::*;
    use crate::fixture::Fixture;
    use crate::kv;

    type Work = fn(&Connection) -> Result<(), StoreError>;

    /// Sends all jobs while the writer is busy, so that they share a commit.
    async fn run_together(fixture: &Fixture, works: &[Work]) -> Vec<Result<(), StoreError>> {
        let (release, held) = blocking::channel::<()>();
        let (running, runs) = oneshot::channel();
        let hold = move |_: &Connection| {
            let _ = running.send(());
            let _ = held.recv();
            Ok(())
        };
        let store = fixture.store.clone();
        let holding = tokio::spawn(async move { store.write(hold).await });
        runs.await.unwrap();
        let mut asked = Vec::new();
        for work in works.iter().copied() {
            let store = fixture.store.clone();
            asked.push(tokio::spawn(async move { store.write(work).await }));
        }
        // The spawned tasks run in their order before this one continues.
        tokio::task::yield_now().await;
        release.send(()).unwrap();
        holding.await.unwrap().unwrap();
        let mut answers = Vec::new();
        for answer in asked {
            answers.push(answer.await.unwrap());
        }
        answers
    }

    fn set_a(tx: &Connection) -> Result<(), StoreError> {
        kv::set(tx, "a", "1")
    }

    fn set_b_and_fail(tx: &Connection) -> Result<(), StoreError> {
        kv::set(tx, "b", "1")?;
        Ok(tx.execute("insert into kv (key, value) values ('c', null)", []).map(drop)?)
    }

    fn set_d(tx: &Connection) -> Result<(), StoreError> {
        kv::set(tx, "d", "1")
    }

    /// What SQLite does when the disk is full.
    fn lose_the_transaction(tx: &Connection) -> Result<(), StoreError> {
        tx.execute_batch("rollback")?;
        let full = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None);
        Err(StoreError::Database(full.into()))
    }

    #[tokio::test]
    async fn a_job_that_fails_rolls_back_only_its_own_changes() {
        let fixture = Fixture::new().await;
        let answers = run_together(&fixture, &[set_a, set_b_and_fail, set_d]).await;
        let succeeded: Vec<bool> = answers.iter().map(Result::is_ok).collect();
        assert_eq!(succeeded, [true, false, true]);
        let keys: Vec<String> = fixture.column("select key from kv order by key").await;
        assert_eq!(keys, ["a", "d"]);
    }

    #[tokio::test]
    async fn no_job_succeeds_when_the_shared_transaction_is_lost() {
        let fixture = Fixture::new().await;
        let answers = run_together(&fixture, &[set_a, lose_the_transaction, set_d]).await;
        assert!(answers.iter().all(Result::is_err), "{answers:?}");
        let keys: Vec<i64> = fixture.column("select count(*) from kv").await;
        assert_eq!(keys, [0]);
        assert!(fixture.store.write(set_a).await.is_ok(), "the next transaction is a new one");
    }

    fn set_a_and_overlook_a_failure(tx: &Connection) -> Result<(), StoreError> {
        set_a(tx)?;
        let _ = tx.execute("insert into kv (key, value) values ('c', null)", []);
        Ok(())
    }

    #[tokio::test]
    async fn what_a_server_has_rolled_back_is_not_taken_for_committed() {
        let fixture = Fixture::new().await;
        let alone = fixture.store.write(set_a_and_overlook_a_failure).await.is_ok();
        let together = run_together(&fixture, &[set_a_and_overlook_a_failure, set_d]).await;
        // SQLite goes on after a failure; a server ends the transaction.
        let is_kept = fixture.place.location.file().is_some();
        assert_eq!(alone, is_kept);
        assert!(together.iter().all(|answer| answer.is_ok() == is_kept), "{together:?}");
        let keys: Vec<String> = fixture.column("select key from kv order by key").await;
        assert_eq!(keys, if is_kept { vec!["a", "d"] } else { vec![] });
    }

    #[tokio::test]
    async fn trouble_is_reported_until_a_change_succeeds() {
        let fixture = Fixture::new().await;
        assert!(fixture.store.trouble().await.is_none());
        assert!(fixture.store.write(lose_the_transaction).await.is_err());
        assert!(fixture.store.trouble.borrow().as_deref().is_some_and(|trouble| trouble.contains("full")));
        assert!(fixture.store.trouble().await.is_none(), "it asks again, and the disk has room");
    }

    #[tokio::test]
    async fn one_commit_is_one_notice() {
        let fixture = Fixture::new().await;
        let before = *fixture.store.changes().borrow();
        let answers = run_together(&fixture, &[set_a, set_d]).await;
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!(*fixture.store.changes().borrow(), before + 1);
    }
}
