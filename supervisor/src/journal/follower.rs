//! Follows the journal: whenever the kernel reports a change, and to its end on request.
//!
//! A journal that somebody tampered with is reported loudly and never stops the work. One that became
//! shorter, or whose last known line changed, is read again from the start: events are stored once per ID,
//! so nothing is lost and nothing is duplicated.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::chain::{Batch, Position};
use super::files::Files;
use super::read::{is_unchanged, next_batch};
use super::watch::Watch;
use crate::store::{Store, StoreError, events, kv};

/// The pause after a failure of the disk or the database.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub(crate) struct Journal {
    requests: mpsc::Sender<oneshot::Sender<()>>,
}

#[derive(Debug, thiserror::Error)]
enum FollowError {
    #[error("could not read it: {0}")]
    Read(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Journal {
    /// Resolves once everything that is in the journal by now is stored as events.
    pub(crate) async fn drain(&self) {
        let (done, drained) = oneshot::channel();
        if self.requests.send(done).await.is_ok() {
            let _ = drained.await;
        }
    }
}

/// The handle, and the work behind it, which runs until `stop`.
pub(crate) fn follow(
    path: PathBuf,
    store: Store,
    stop: CancellationToken,
) -> (Journal, impl Future<Output = ()> + Send + 'static) {
    let (requests, incoming) = mpsc::channel(16);
    let follower = Follower { path, store, position: None };
    (Journal { requests }, follower.run(incoming, stop))
}

struct Follower {
    path: PathBuf,
    store: Store,
    /// None until it was loaded from the database.
    position: Option<Position>,
}

impl Follower {
    async fn run(mut self, mut requests: mpsc::Receiver<oneshot::Sender<()>>, stop: CancellationToken) {
        let watch = self.watch();
        loop {
            self.catch_up(&stop).await;
            tokio::select! {
                () = stop.cancelled() => return,
                () = changed(watch.as_ref()) => {}
                request = requests.recv() => match request {
                    Some(done) => {
                        self.catch_up(&stop).await;
                        let _ = done.send(());
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
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    /// Reads file after file; each once after it is known to be full, because it grows until then.
    async fn read_all(&mut self) -> Result<(), FollowError> {
        loop {
            let files = Files::list(&self.path)?;
            let position = self.position_in(&files).await?;
            let Some(file) = files.open(position.file)? else {
                self.position = Some(position);
                return Ok(());
            };
            if Files::list(&self.path)? != files {
                // Rotated meanwhile: the file that was opened may be another one.
                self.position = Some(position);
                continue;
            }
            if !is_unchanged(&file, &position)? {
                self.position = Some(self.start_again(&position, &files));
                continue;
            }
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
            position = batch.position.clone();
            self.commit(batch).await?;
        }
        Ok(position)
    }

    async fn go_to_next_file(&self, position: Position) -> Result<Position, StoreError> {
        let next = position.next_file();
        let text = serde_json::to_string(&next)?;
        self.store.write(move |tx| kv::set(tx, kv::JOURNAL_POSITION, &text)).await?;
        Ok(next)
    }

    /// Where to go on, in a file that exists or will exist.
    async fn position_in(&mut self, files: &Files) -> Result<Position, FollowError> {
        let known = match self.position.take() {
            Some(position) => position,
            None => self.stored_position().await?,
        };
        if (files.oldest()..=files.newest()).contains(&known.file) {
            return Ok(known);
        }
        Ok(self.start_again(&known, files))
    }

    fn start_again(&self, known: &Position, files: &Files) -> Position {
        tracing::error!(
            journal = %self.path.display(),
            file = known.file,
            offset = known.offset,
            "the journal was cut or changed before this offset; reading it again from the start"
        );
        Position::start_at(files.oldest())
    }

    async fn stored_position(&self) -> Result<Position, StoreError> {
        let stored = self.store.write(|tx| kv::get(tx, kv::JOURNAL_POSITION)).await?;
        Ok(stored.map_or(Ok(Position::start()), |text| serde_json::from_str(&text))?)
    }

    async fn commit(&self, batch: Batch) -> Result<(), StoreError> {
        for found in &batch.breaks {
            tracing::error!(
                journal = %self.path.display(),
                offset = found.offset,
                reason = found.reason,
                "the journal's hash chain is broken"
            );
        }
        let position = serde_json::to_string(&batch.position)?;
        let commit = self.store.write(move |tx| {
            batch.events.iter().try_for_each(|event| events::append(tx, event))?;
            kv::set(tx, kv::JOURNAL_POSITION, &position)
        });
        commit.await
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

    use super::super::chain::fixture::chained;
    use super::super::read::PIECE_BYTES;
    use super::*;
    use crate::store::fixture::Fixture;
    use protocol::journal::archive_name;

    struct FollowedJournal {
        fixture: Fixture,
        path: PathBuf,
    }

    impl FollowedJournal {
        async fn new() -> Self {
            let fixture = Fixture::new().await;
            let path = fixture.directory.path().join("tool-calls.jsonl");
            Self { fixture, path }
        }

        fn append(&self, text: &str) {
            let mut file = File::options().create(true).append(true).open(&self.path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }

        /// One run of a follower, drained and stopped.
        async fn run(&self) {
            let stop = CancellationToken::new();
            let (journal, work) = follow(self.path.clone(), self.fixture.store.clone(), stop.clone());
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
        let (_handle, work) = follow(journal.path.clone(), store.clone(), stop.clone());
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
