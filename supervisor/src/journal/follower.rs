//! Follows the journal: whenever the kernel says that it grew, and to its end when somebody asks.
//!
//! A journal that was changed behind our back is reported loudly and never stops the work. One that
//! became shorter, or whose last known line is another one, is read again from its beginning: events
//! that are known by their id are not taken in twice, so nothing is lost and nothing doubled.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::chain::{Position, Taken};
use super::files::Files;
use super::reading::{ends_as_known, read_on};
use super::watch::Watch;
use crate::store::{Store, StoreError, events, kv};

/// The pause after a failure of the disk or the database.
const PAUSE: Duration = Duration::from_secs(1);

/// Asks the follower to go on to the end.
#[derive(Debug, Clone)]
pub struct Journal {
    requests: mpsc::Sender<oneshot::Sender<()>>,
}

/// Why the journal could not be taken in just now.
#[derive(Debug, thiserror::Error)]
enum FollowError {
    #[error("it could not be read: {0}")]
    Read(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Journal {
    /// Resolves once everything that the journal holds by now is in the events.
    pub async fn drain(&self) {
        let (done, drained) = oneshot::channel();
        if self.requests.send(done).await.is_ok() {
            let _ = drained.await;
        }
    }
}

/// The handle, and the work behind it, which ends when `stop` says so.
pub fn follow(
    path: PathBuf,
    store: Store,
    stop: CancellationToken,
) -> (Journal, impl Future<Output = ()> + Send + 'static) {
    let (requests, asked) = mpsc::channel(16);
    let follower = Follower { path, store, position: None };
    (Journal { requests }, follower.run(asked, stop))
}

struct Follower {
    path: PathBuf,
    store: Store,
    /// None until it is known from the database and holds for the file.
    position: Option<Position>,
}

impl Follower {
    async fn run(mut self, mut asked: mpsc::Receiver<oneshot::Sender<()>>, stop: CancellationToken) {
        let watch = self.watch();
        loop {
            self.go_to_the_end(&stop).await;
            tokio::select! {
                () = stop.cancelled() => return,
                () = changed(watch.as_ref()) => {}
                request = asked.recv() => match request {
                    Some(done) => {
                        self.go_to_the_end(&stop).await;
                        let _ = done.send(());
                    }
                    None => return,
                },
            }
        }
    }

    fn watch(&self) -> Option<Watch> {
        let directory = self.path.parent()?;
        let watch = Watch::directory(directory);
        if let Err(error) = &watch {
            tracing::warn!(%error, "no notice of changes to the journal: it is read when tasks end");
        }
        watch.ok()
    }

    /// Tries until it works: a task's end waits for its calls.
    async fn go_to_the_end(&mut self, stop: &CancellationToken) {
        while let Err(error) = self.take_in_all().await {
            tracing::error!(%error, "the journal could not be taken in; trying again");
            self.position = None;
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    /// Goes on from file to file. A full file is left for the next only after it was read when it was known
    /// to be full: until then records may still be added to it.
    async fn take_in_all(&mut self) -> Result<(), FollowError> {
        loop {
            let files = Files::list(&self.path)?;
            let position = self.position_in(&files).await?;
            let Some(file) = files.open(position.file)? else {
                self.position = Some(position);
                return Ok(());
            };
            if Files::list(&self.path)? != files {
                // Files were put aside meanwhile: the one that was opened may be another.
                self.position = Some(position);
                continue;
            }
            if !ends_as_known(&file, &position)? {
                self.position = Some(self.start_again(&position, &files));
                continue;
            }
            let position = self.read_to_the_end(&file, position).await?;
            if files.is_full(position.file) {
                self.position = Some(self.go_to_next_file(position).await?);
            } else {
                self.position = Some(position);
                return Ok(());
            }
        }
    }

    async fn read_to_the_end(&self, file: &File, from: Position) -> Result<Position, FollowError> {
        let mut position = from;
        while let Some(taken) = read_on(file, &position)? {
            position = taken.position.clone();
            self.commit(taken).await?;
        }
        Ok(position)
    }

    async fn go_to_next_file(&self, position: Position) -> Result<Position, StoreError> {
        let next = position.next_file();
        let text = serde_json::to_string(&next)?;
        self.store.write(move |tx| kv::set(tx, kv::JOURNAL_POSITION, &text)).await?;
        Ok(next)
    }

    /// Where to go on, in a file that is there or that is to come.
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
            "the journal was cut or changed before this offset: it is read again from its beginning"
        );
        Position::start_at(files.oldest())
    }

    async fn stored_position(&self) -> Result<Position, StoreError> {
        let stored = self.store.write(|tx| kv::get(tx, kv::JOURNAL_POSITION)).await?;
        Ok(stored.map_or(Ok(Position::start()), |text| serde_json::from_str(&text))?)
    }

    async fn commit(&self, taken: Taken) -> Result<(), StoreError> {
        for found in &taken.breaks {
            tracing::error!(
                journal = %self.path.display(),
                offset = found.offset,
                reason = found.reason,
                "the journal's chain is broken"
            );
        }
        let position = serde_json::to_string(&taken.position)?;
        let commit = self.store.write(move |tx| {
            taken.events.iter().try_for_each(|event| events::append(tx, event))?;
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

    use super::super::chain::fixture::chained;
    use super::super::reading::PIECE_BYTES;
    use super::*;
    use crate::store::fixture::Fixture;
    use protocol::journal::archive_name;

    struct Following {
        fixture: Fixture,
        path: PathBuf,
    }

    impl Following {
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

        /// Puts the journal's file aside, as a tool server does.
        fn put_aside(&self, number: u64) {
            std::fs::rename(&self.path, self.archive(number)).unwrap();
        }

        fn archive(&self, number: u64) -> PathBuf {
            self.path.with_file_name(archive_name("tool-calls.jsonl", number))
        }

        async fn names(&self) -> Vec<String> {
            let sql = "select payload ->> 'tool_name' from events where type like 'tool_call.%' order by seq";
            self.fixture.column(sql).await
        }
    }

    #[tokio::test]
    async fn records_become_events_exactly_once_over_restarts() {
        let following = Following::new().await;
        following.run().await;
        let lines = chained(&["a", "b", "c"]);
        following.append(&lines[0]);
        following.run().await;
        following.run().await;
        following.append(&lines[1..].concat());
        following.run().await;
        assert_eq!(following.names().await, ["a", "b", "c"]);
    }

    #[tokio::test]
    async fn a_torn_last_line_is_left_until_it_is_complete() {
        let following = Following::new().await;
        let text = chained(&["a", "b"]).concat();
        let (whole, torn) = text.split_at(text.len() - 10);
        following.append(whole);
        following.run().await;
        assert_eq!(following.names().await, ["a"]);
        following.append(torn);
        following.run().await;
        assert_eq!(following.names().await, ["a", "b"]);
    }

    #[tokio::test]
    async fn a_journal_that_was_cut_is_read_again_without_doubling_an_event() {
        let following = Following::new().await;
        let lines = chained(&["a", "b", "c"]);
        following.append(&lines[..2].concat());
        following.run().await;
        std::fs::write(&following.path, &lines[0]).unwrap();
        following.run().await;
        following.append(&lines[1..].concat());
        following.run().await;
        assert_eq!(following.names().await, ["a", "b", "c"]);
    }

    #[tokio::test]
    async fn a_broken_chain_is_taken_in_and_followed_on() {
        let following = Following::new().await;
        let lines = chained(&["a", "b", "c"]);
        following.append(&[lines[0].as_str(), "nonsense\n", &lines[2]].concat());
        following.run().await;
        assert_eq!(following.names().await, ["a", "c"]);
    }

    #[tokio::test]
    async fn files_that_were_put_aside_while_nobody_followed_are_taken_in_once_and_in_order() {
        let following = Following::new().await;
        let lines = chained(&["a", "b", "c", "d", "e"]);
        following.append(&lines[0]);
        following.run().await;
        following.append(&lines[1]);
        following.put_aside(1);
        following.append(&lines[2..4].concat());
        following.put_aside(2);
        for _ in 0..2 {
            following.run().await;
            assert_eq!(following.names().await, ["a", "b", "c", "d"]);
        }
        following.append(&lines[4]);
        following.run().await;
        assert_eq!(following.names().await, ["a", "b", "c", "d", "e"]);
    }

    #[tokio::test]
    async fn full_files_that_were_taken_in_may_go() {
        let following = Following::new().await;
        let lines = chained(&["a", "b", "c"]);
        following.append(&lines[0]);
        following.put_aside(1);
        following.append(&lines[1]);
        following.put_aside(2);
        following.run().await;
        std::fs::remove_file(following.archive(1)).unwrap();
        following.append(&lines[2]);
        following.run().await;
        assert_eq!(following.names().await, ["a", "b", "c"]);
    }

    #[tokio::test]
    async fn a_journal_that_begins_anew_is_read_from_its_beginning() {
        let following = Following::new().await;
        let lines = chained(&["a", "b"]);
        following.append(&lines[0]);
        following.put_aside(1);
        following.append(&lines[1]);
        following.run().await;
        std::fs::remove_file(following.archive(1)).unwrap();
        std::fs::write(&following.path, chained(&["x"]).concat()).unwrap();
        following.run().await;
        assert_eq!(following.names().await, ["a", "b", "x"]);
    }

    #[tokio::test]
    async fn growth_is_noticed_without_being_asked() {
        let following = Following::new().await;
        let stop = CancellationToken::new();
        let store = following.fixture.store.clone();
        let (_journal, work) = follow(following.path.clone(), store.clone(), stop.clone());
        let work = tokio::spawn(work);
        let mut changes = store.changes();
        following.append(&chained(&["a"])[0]);
        let noticed = async {
            while following.names().await != ["a"] {
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(Duration::from_secs(10), noticed).await.unwrap();
        stop.cancel();
        work.await.unwrap();
    }

    #[tokio::test]
    async fn a_line_of_several_pieces_is_read_whole() {
        let following = Following::new().await;
        let long = "n".repeat(3 * PIECE_BYTES);
        following.append(&chained(&["a", &long, "b"]).concat());
        following.run().await;
        assert_eq!(following.names().await, ["a".to_owned(), long, "b".to_owned()]);
    }
}
