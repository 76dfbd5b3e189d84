//! The thread that writes: it takes what has queued up and commits it together.
//!
//! A commit costs a sync of the disk, whatever is in it. So pieces of work that wait at the same time share
//! one, each within a savepoint of its own: one that fails takes back its own changes and nobody else's.
//! Nobody gets an answer before the commit, so what was answered is as durable as if it had been alone.

use std::sync::Arc;

use rusqlite::{Connection, Transaction, TransactionBehavior, ffi};
use tokio::sync::{mpsc, oneshot, watch};

use super::StoreError;
use super::open::is_damage;

/// At most so much work shares a commit: the first of it waits for the last.
const MOST_TOGETHER: usize = 64;

/// Work that waits for its transaction.
pub(super) trait Job: Send {
    /// Does it; false when its changes must not stay.
    fn run(&mut self, transaction: &Transaction<'_>) -> bool;

    /// Answers whoever asked for it, once it is known what became of the transaction.
    fn end(self: Box<Self>, outcome: Result<(), StoreError>);

    /// Why it failed, if that is how it ended.
    fn failure(&self) -> Option<&StoreError>;
}

/// Work with somebody who waits for what it gives.
pub(super) struct Asked<T, W> {
    work: Option<W>,
    result: Option<Result<T, StoreError>>,
    answer: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, W> Asked<T, W> {
    /// The work, and where its answer comes out.
    pub(super) fn new(work: W) -> (Self, oneshot::Receiver<Result<T, StoreError>>) {
        let (answer, answered) = oneshot::channel();
        (Self { work: Some(work), result: None, answer }, answered)
    }
}

impl<T, W> Job for Asked<T, W>
where
    T: Send,
    W: FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, transaction: &Transaction<'_>) -> bool {
        self.result = self.work.take().map(|work| work(transaction));
        matches!(self.result, Some(Ok(_)))
    }

    fn end(self: Box<Self>, outcome: Result<(), StoreError>) {
        let answer = match (self.result, outcome) {
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StoreError::Closed),
        };
        // Whoever asked may have gone away.
        let _ = self.answer.send(answer);
    }

    fn failure(&self) -> Option<&StoreError> {
        self.result.as_ref()?.as_ref().err()
    }
}

/// What others may know of the writer.
pub(super) struct Notices {
    /// Moves with every commit that changed something.
    pub(super) changed: Arc<watch::Sender<u64>>,
    /// Why changes are not taken at the moment.
    pub(super) trouble: watch::Sender<Option<String>>,
}

impl Notices {
    /// Tells what became of a transaction. Whoever waits for an answer gets it later, and knows no less.
    fn tell(&self, jobs: &[Box<dyn Job>], committed: &Result<(), rusqlite::Error>, has_changed: bool) {
        let passing = |failure: &&StoreError| failure.can_pass();
        let failure = jobs.iter().find_map(|job| job.failure().filter(passing)).map(ToString::to_string);
        let failure = failure.or_else(|| committed.as_ref().err().map(ToString::to_string));
        if failure.is_some() {
            self.trouble.send_replace(failure);
        } else if has_changed {
            self.trouble.send_if_modified(|trouble| trouble.take().is_some());
        }
        if has_changed {
            self.changed.send_modify(|count| *count += 1);
        }
    }
}

/// Works until nobody can ask any more, or until the database turns out to be damaged: then nothing more is
/// written to it, and whoever asks is told that it is closed.
pub(super) fn work_off(
    mut connection: Connection,
    mut queue: mpsc::Receiver<Box<dyn Job>>,
    notices: &Notices,
) {
    let mut rows_changed = connection.total_changes();
    while let Some(first) = queue.blocking_recv() {
        let mut jobs = vec![first];
        while jobs.len() < MOST_TOGETHER
            && let Ok(job) = queue.try_recv()
        {
            jobs.push(job);
        }
        let committed = run_all(&mut connection, &mut jobs);
        notices.tell(&jobs, &committed, rows_changed != connection.total_changes());
        rows_changed = connection.total_changes();
        let mut failures = jobs.iter().filter_map(|job| job.failure());
        let is_damaged = failures.any(StoreError::is_damage) || committed.as_ref().is_err_and(is_damage);
        for job in jobs {
            job.end(committed.as_ref().copied().map_err(|error| StoreError::Sqlite(again(error))));
        }
        if is_damaged {
            return;
        }
    }
}

fn run_all(connection: &mut Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), rusqlite::Error> {
    // Immediate: a transaction that begins as a reader can not always become a writer.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if let [alone] = jobs {
        return if alone.run(&transaction) { transaction.commit() } else { transaction.rollback() };
    }
    for job in jobs {
        transaction.prepare_cached("savepoint job")?.execute([])?;
        if !job.run(&transaction) {
            // After some failures, such as a full disk, SQLite has ended the whole transaction by itself;
            // then this fails, and everybody in it is told so.
            transaction.prepare_cached("rollback to job")?.execute([])?;
        }
        transaction.prepare_cached("release job")?.execute([])?;
    }
    transaction.commit()
}

/// The same failure once more, for the next one who has to be told.
fn again(error: &rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(code, words) => rusqlite::Error::SqliteFailure(*code, words.clone()),
        other => {
            let code = ffi::Error::new(ffi::SQLITE_ABORT);
            rusqlite::Error::SqliteFailure(code, Some(other.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc as blocking;

    use super::*;
    use crate::store::fixture::Fixture;
    use crate::store::kv;

    type Work = fn(&Transaction<'_>) -> Result<(), StoreError>;

    /// Asks for all of it while the writer is held up, so that it is committed together.
    async fn asked_together(fixture: &Fixture, works: &[Work]) -> Vec<Result<(), StoreError>> {
        let (release, held) = blocking::channel::<()>();
        let (running, runs) = oneshot::channel();
        let hold = move |_: &Transaction<'_>| {
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
        // They ask in the order in which they were spawned, before this goes on.
        tokio::task::yield_now().await;
        release.send(()).unwrap();
        holding.await.unwrap().unwrap();
        let mut answers = Vec::new();
        for answer in asked {
            answers.push(answer.await.unwrap());
        }
        answers
    }

    fn set_a(tx: &Transaction<'_>) -> Result<(), StoreError> {
        kv::set(tx, "a", "1")
    }

    fn set_b_and_fail(tx: &Transaction<'_>) -> Result<(), StoreError> {
        kv::set(tx, "b", "1")?;
        Ok(tx.execute("insert into kv (key, value) values ('c', null)", []).map(drop)?)
    }

    fn set_d(tx: &Transaction<'_>) -> Result<(), StoreError> {
        kv::set(tx, "d", "1")
    }

    /// What SQLite does by itself when the disk is full in the middle.
    fn lose_the_transaction(tx: &Transaction<'_>) -> Result<(), StoreError> {
        tx.execute_batch("rollback")?;
        Err(StoreError::Sqlite(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), None)))
    }

    #[tokio::test]
    async fn work_that_fails_takes_back_its_own_changes_and_nobody_elses() {
        let fixture = Fixture::new().await;
        let answers = asked_together(&fixture, &[set_a, set_b_and_fail, set_d]).await;
        let succeeded: Vec<bool> = answers.iter().map(Result::is_ok).collect();
        assert_eq!(succeeded, [true, false, true]);
        let keys: Vec<String> = fixture.column("select key from kv order by key").await;
        assert_eq!(keys, ["a", "d"]);
    }

    #[tokio::test]
    async fn nobody_is_told_of_success_when_the_shared_transaction_is_lost() {
        let fixture = Fixture::new().await;
        let answers = asked_together(&fixture, &[set_a, lose_the_transaction, set_d]).await;
        assert!(answers.iter().all(Result::is_err), "{answers:?}");
        let keys: Vec<i64> = fixture.column("select count(*) from kv").await;
        assert_eq!(keys, [0]);
        assert!(fixture.store.write(set_a).await.is_ok(), "the next transaction is a new one");
    }

    #[tokio::test]
    async fn trouble_is_told_until_a_change_is_taken_again() {
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
        let answers = asked_together(&fixture, &[set_a, set_d]).await;
        assert!(answers.iter().all(Result::is_ok));
        assert_eq!(*fixture.store.changes().borrow(), before + 1);
    }
}
