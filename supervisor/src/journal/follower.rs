//! Follows the journal: whenever the kernel reports a change, and to its end on request.
//!
//! A journal that somebody tampered with is reported and never stops the work: the finding stays in the
//! database until somebody accepts it. One that became shorter, or whose last known line changed, is read
//! again from the start: events are stored once per ID, so nothing is lost and nothing is duplicated.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use protocol::EventId;
use store::sql::Connection;
use store::{Store, StoreError, events, kv};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use super::chain::{Batch, Position};
use super::compare::{Comparison, Depth, Mismatch, broken, gone, head_mismatch};
use super::files::Files;
use super::handle::{Journal, Request};
use super::read::{is_unchanged, next_batch};
use super::tampering::{self, Base, RecordsLeft};
use super::watch::Watch;

/// How often the files are compared with what was read of them.
const COMPARE_EVERY: Duration = Duration::from_secs(5);

/// How often all of the current file is compared; the full ones are read again when they change.
const COMPARE_WHOLE_EVERY: Duration = Duration::from_secs(600);

/// How long a start waits for the first comparison: a journal that somebody changed is known from the start,
/// unless it is huge.
const START_PATIENCE: Duration = Duration::from_millis(300);

/// The pause after a failure of the disk or the database.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
enum FollowError {
    #[error("could not read it: {0}")]
    Read(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("could not compare it with what was read: {0}")]
    Compare(#[from] JoinError),
    #[error(
        "the database has another position in it: a copy or a standby took its place; reading from there"
    )]
    OtherPosition,
}

/// The handle, and the work behind it, which runs until `stop`. What it finds is recorded under `run`.
pub fn follow(
    path: PathBuf,
    store: Store,
    run: Option<EventId>,
    stop: CancellationToken,
) -> (Journal, impl Future<Output = ()> + Send + 'static) {
    let (requests, incoming) = mpsc::channel(16);
    let follower = Follower { path, store, run, position: None, comparison: Comparison::default() };
    (Journal::new(requests), follower.run(incoming, stop))
}

struct Follower {
    path: PathBuf,
    store: Store,
    run: Option<EventId>,
    /// None until it was loaded from the database.
    position: Option<Position>,
    comparison: Comparison,
}

impl Follower {
    async fn run(mut self, mut requests: mpsc::Receiver<Request>, stop: CancellationToken) {
        let watch = self.watch();
        let mut ticks = interval_at(Instant::now() + COMPARE_EVERY, COMPARE_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.catch_up(&stop).await;
        // A journal of many years takes minutes, and the start waits for what was read of it.
        let mut comparing = self.begin_to_compare(Depth::Whole).await;
        if let Some(running) = &mut comparing
            && let Ok(compared) = timeout(START_PATIENCE, running).await
        {
            comparing = None;
            self.take_comparison(compared).await;
        }
        let mut whole = Instant::now();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                compared = ended(&mut comparing) => {
                    comparing = None;
                    self.take_comparison(compared).await;
                }
                () = changed(watch.as_ref()) => self.catch_up(&stop).await,
                _ = ticks.tick(), if comparing.is_none() => {
                    self.catch_up(&stop).await;
                    let is_due = whole.elapsed() >= COMPARE_WHOLE_EVERY;
                    comparing = self.begin_to_compare(if is_due { Depth::Whole } else { Depth::Head }).await;
                    whole = if is_due { Instant::now() } else { whole };
                }
                request = requests.recv() => match request {
                    Some(Request::Drain(done)) => {
                        self.catch_up(&stop).await;
                        let _ = done.send(());
                    }
                    Some(Request::Hold(begun, over)) => {
                        let _ = begun.send(());
                        let _ = over.await;
                    }
                    None => return,
                },
            }
        }
    }

    fn watch(&self) -> Option<Watch> {
        let watch = Watch::directory(self.path.parent()?);
        if let Err(error) = &watch {
            tracing::warn!(%error, "cannot watch the journal: reading it when a task ends");
        }
        watch.ok()
    }

    /// Retries until it works, because a task's end waits for its calls.
    async fn catch_up(&mut self, stop: &CancellationToken) {
        while let Err(error) = self.read_all().await {
            tracing::error!(%error, "could not store the journal's records; retrying");
            self.position = None;
            if stop.run_until_cancelled(tokio::time::sleep(PAUSE)).await.is_none() {
                return;
            }
        }
    }

    /// Begins to compare the records read before with the files, unless a difference is known already.
    async fn begin_to_compare(&mut self, depth: Depth) -> Option<JoinHandle<Compared>> {
        let known = |tx: &Connection| Ok((tampering::base(tx)?, tampering::open_finding(tx)?));
        let base = match self.store.write(known).await {
            Ok((base, None)) => base?,
            Ok((_, Some(_))) => return None,
            Err(error) => {
                tracing::error!(%error, "could not compare the journal with what was read of it");
                return None;
            }
        };
        let head = self.position.clone()?;
        let (path, mut comparison) = (self.path.clone(), std::mem::take(&mut self.comparison));
        Some(spawn_blocking(move || {
            let found = comparison.first_mismatch(&path, &base.position, &head, depth);
            Compared { comparison, base, head, found }
        }))
    }

    async fn take_comparison(&mut self, compared: Result<Compared, JoinError>) {
        if let Err(error) = self.report_comparison(compared).await {
            tracing::error!(%error, "could not compare the journal with what was read of it");
        }
    }

    async fn report_comparison(&mut self, compared: Result<Compared, JoinError>) -> Result<(), FollowError> {
        let Compared { comparison, base, head, found } = compared?;
        self.comparison = comparison;
        match found? {
            Some(mismatch) => self.report(mismatch, head, base, None).await,
            None => Ok(()),
        }
    }

    /// Records a difference, and where to go on reading, in one transaction.
    async fn report(
        &self,
        mismatch: Mismatch,
        expected: Position,
        base: Base,
        read_on: Option<&Position>,
    ) -> Result<(), FollowError> {
        let (path, left_since) = (self.path.clone(), base.clone());
        let left = spawn_blocking(move || RecordsLeft::read(&path, &left_since)).await??;
        let (run, read_on) = (self.run.clone(), read_on.map(serde_json::to_string).transpose());
        let read_on = read_on.map_err(StoreError::from)?;
        let record = self.store.write(move |tx| {
            // Pruning moves the base and then removes files: what was compared is outdated.
            if tampering::base(tx)?.as_ref() != Some(&base) {
                return Ok(());
            }
            tampering::record(tx, mismatch.clone(), &expected, &left, run.as_ref())?;
            read_on.iter().try_for_each(|position| kv::set(tx, kv::JOURNAL_POSITION, position))
        });
        Ok(record.await?)
    }

    /// Reads file after file; each once after it is known to be full, because it grows until then.
    async fn read_all(&mut self) -> Result<(), FollowError> {
        loop {
            let files = Files::list(&self.path)?;
            let position = self.stored_position(&files).await?;
            let opened = files.open(position.file)?;
            let mismatch = match &opened {
                _ if !(files.oldest()..=files.newest()).contains(&position.file) => Some(gone(position.file)),
                None => (position.offset > 0).then(|| gone(position.file)),
                Some(file) => (!is_unchanged(file, &position)?).then(|| head_mismatch(file, &position)),
            };
            if Files::list(&self.path)? != files {
                // Rotated meanwhile: the file that was opened may be another one.
                self.position = Some(position);
                continue;
            }
            if let Some(mismatch) = mismatch {
                self.start_again(mismatch, position, &files).await?;
                continue;
            }
            let Some(file) = opened else {
                self.position = Some(position);
                return Ok(());
            };
            let position = self.read_file(&file, position).await?;
            if files.is_full(position.file) {
                self.position = Some(self.go_to_next_file(position).await?);
            } else {
                self.position = Some(position);
                return Ok(());
            }
        }
    }

    async fn read_file(&self, file: &File, mut position: Position) -> Result<Position, FollowError> {
        while let Some(batch) = next_batch(file, &position)? {
            let next = batch.position.clone();
            self.commit(position, batch).await?;
            position = next;
        }
        Ok(position)
    }

    async fn go_to_next_file(&self, position: Position) -> Result<Position, FollowError> {
        let next = position.clone().next_file();
        let text = serde_json::to_string(&next).map_err(StoreError::from)?;
        self.change_at(position, move |tx| kv::set(tx, kv::JOURNAL_POSITION, &text)).await?;
        Ok(next)
    }

    /// Changes the database if it is where the journal was read from. Where it is not, what was read after
    /// its position would be missing.
    async fn change_at(
        &self,
        position: Position,
        change: impl FnOnce(&Connection) -> Result<(), StoreError> + Send + 'static,
    ) -> Result<(), FollowError> {
        let changed = self.store.write(move |tx| match stored_position(tx)? == Some(position) {
            true => change(tx).map(|()| true),
            false => Ok(false),
        });
        if changed.await? { Ok(()) } else { Err(FollowError::OtherPosition) }
    }

    /// Reports what was found and reads the journal again from its start.
    async fn start_again(
        &mut self,
        mismatch: Mismatch,
        known: Position,
        files: &Files,
    ) -> Result<(), FollowError> {
        let base = self.store.write(tampering::base).await?;
        let base = base.map_or_else(|| Base::of(files), Ok)?;
        let start = Position::start_at(files.oldest());
        self.report(mismatch, known, base, Some(&start)).await?;
        self.position = None;
        Ok(())
    }

    /// Where to continue. The first time, the journal is taken as it is.
    async fn stored_position(&mut self, files: &Files) -> Result<Position, FollowError> {
        if let Some(position) = self.position.take() {
            return Ok(position);
        }
        let start = Base::of(files)?;
        let load = self.store.write(move |tx| {
            if tampering::base(tx)?.is_none() {
                tampering::set_base(tx, &start)?;
            }
            Ok(stored_position(tx)?.unwrap_or_else(|| start.position.clone()))
        });
        Ok(load.await?)
    }

    async fn commit(&self, from: Position, batch: Batch) -> Result<(), FollowError> {
        let position = serde_json::to_string(&batch.position).map_err(StoreError::from)?;
        let run = self.run.clone();
        let commit = self.change_at(from, move |tx| {
            batch.events.iter().try_for_each(|event| events::append(tx, event))?;
            let is_known = tampering::open_finding(tx)?.is_some();
            if let Some(found) = batch.breaks.first().filter(|_| !is_known) {
                let expected = Position { last_hash: found.expected_hash.clone(), ..batch.position.clone() };
                let mismatch = broken(expected.file, found.offset, found.reason);
                tampering::record(tx, mismatch, &expected, &RecordsLeft::unknown(), run.as_ref())?;
            }
            kv::set(tx, kv::JOURNAL_POSITION, &position)
        });
        commit.await
    }
}

/// Where the database is in the journal: where its base is, until something was read.
fn stored_position(connection: &Connection) -> Result<Option<Position>, StoreError> {
    match tampering::position(connection)? {
        Some(position) => Ok(Some(position)),
        None => Ok(tampering::base(connection)?.map(|base| base.position)),
    }
}

/// A comparison that has ended, with what it compared.
struct Compared {
    comparison: Comparison,
    base: Base,
    head: Position,
    found: io::Result<Option<Mismatch>>,
}

/// The end of the running comparison; never resolves when there is none.
async fn ended(comparing: &mut Option<JoinHandle<Compared>>) -> Result<Compared, JoinError> {
    match comparing {
        Some(running) => running.await,
        None => std::future::pending().await,
    }
}

async fn changed(watch: Option<&Watch>) {
    match watch {
        Some(watch) if watch.changed().await.is_ok() => {}
        Some(_) | None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::ops::Range;

    use store::fixture::Fixture;

    use super::super::chain::fixture::chained;
    use super::super::read::PIECE_BYTES;
    use super::*;
    use protocol::journal::archive_name;

    struct FollowedJournal {
        fixture: Fixture,
        path: PathBuf,
    }

    impl FollowedJournal {
        async fn new() -> Self {
            let fixture = Fixture::new().await;
            let path = fixture.place.directory.path().join("tool-calls.jsonl");
            Self { fixture, path }
        }

        fn append(&self, text: &str) {
            let mut file = File::options().create(true).append(true).open(&self.path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }

        /// One run of a follower, drained and stopped.
        async fn run(&self) {
            let stop = CancellationToken::new();
            let (journal, work) = follow(self.path.clone(), self.fixture.store.clone(), None, stop.clone());
            let work = tokio::spawn(work);
            journal.drain().await;
            stop.cancel();
            work.await.unwrap();
        }

        async fn names(&self) -> Vec<String> {
            let sql = "select payload ->> 'tool_name' from events where type like 'tool_call.%' order by seq";
            self.fixture.column(sql).await
        }
    }

    /// What happens to a journal of the chained calls a, b, c, d and e, of which each step names a range.
    enum Step {
        Append(Range<usize>),
        AppendGarbage,
        Overwrite(Range<usize>),
        Rotate(u64),
        Remove(u64),
        Run,
    }

    async fn check(name: &str, steps: &[Step], expected: &[&str]) {
        let journal = FollowedJournal::new().await;
        let lines = chained(&["a", "b", "c", "d", "e"]);
        let archive = |number| journal.path.with_file_name(archive_name("tool-calls.jsonl", number));
        for step in steps {
            match step {
                Step::Append(range) => journal.append(&lines[range.clone()].concat()),
                Step::AppendGarbage => journal.append("garbage\n"),
                Step::Overwrite(range) => {
                    std::fs::write(&journal.path, lines[range.clone()].concat()).unwrap()
                }
                Step::Rotate(number) => std::fs::rename(&journal.path, archive(*number)).unwrap(),
                Step::Remove(number) => std::fs::remove_file(archive(*number)).unwrap(),
                Step::Run => journal.run().await,
            }
        }
        assert_eq!(journal.names().await, expected, "{name}");
    }

    #[tokio::test]
    async fn each_record_becomes_an_event_once_whatever_happens_to_the_files() {
        use Step::{Append, AppendGarbage, Overwrite, Remove, Rotate, Run};
        let restarts = [Run, Append(0..1), Run, Run, Append(1..3), Run];
        check("over restarts", &restarts, &["a", "b", "c"]).await;
        let cut = [Append(0..2), Run, Overwrite(0..1), Run, Append(1..3), Run];
        check("a journal that was cut is read again", &cut, &["a", "b", "c"]).await;
        let broken = [Append(0..1), AppendGarbage, Append(2..3), Run];
        check("a broken chain is followed on", &broken, &["a", "c"]).await;
        let rotated = [Append(0..1), Run, Append(1..2), Rotate(1), Append(2..4), Rotate(2), Run];
        check("files rotated while nobody followed are read in order", &rotated, &["a", "b", "c", "d"]).await;
        let later = rotated.into_iter().chain([Run, Append(4..5), Run]).collect::<Vec<_>>();
        check("and once", &later, &["a", "b", "c", "d", "e"]).await;
        let removed = [Append(0..1), Rotate(1), Append(1..2), Rotate(2), Run, Remove(1), Append(2..3), Run];
        check("full files that were read may be removed", &removed, &["a", "b", "c"]).await;
        let anew = [Append(0..1), Rotate(1), Append(1..2), Run, Remove(1), Overwrite(2..3), Run];
        check("a journal that begins anew is read from its start", &anew, &["a", "b", "c"]).await;
    }

    #[tokio::test]
    async fn a_torn_last_line_is_left_until_it_is_complete() {
        let journal = FollowedJournal::new().await;
        let text = chained(&["a", "b"]).concat();
        let (whole, torn) = text.split_at(text.len() - 10);
        journal.append(whole);
        journal.run().await;
        assert_eq!(journal.names().await, ["a"]);
        journal.append(torn);
        journal.run().await;
        assert_eq!(journal.names().await, ["a", "b"]);
    }

    #[tokio::test]
    async fn growth_is_noticed_without_a_request() {
        let journal = FollowedJournal::new().await;
        let stop = CancellationToken::new();
        let store = journal.fixture.store.clone();
        let (_handle, work) = follow(journal.path.clone(), store.clone(), None, stop.clone());
        let work = tokio::spawn(work);
        let mut changes = store.changes();
        journal.append(&chained(&["a"])[0]);
        let noticed = async {
            while journal.names().await != ["a"] {
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(10), noticed).await.unwrap();
        stop.cancel();
        work.await.unwrap();
    }

    #[tokio::test]
    async fn a_line_of_several_pieces_is_read_whole() {
        let journal = FollowedJournal::new().await;
        let long = "n".repeat(3 * PIECE_BYTES);
        journal.append(&chained(&["a", &long, "b"]).concat());
        journal.run().await;
        assert_eq!(journal.names().await, ["a".to_owned(), long, "b".to_owned()]);
    }
}
