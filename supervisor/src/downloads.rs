//! Fetches the files that messages bring, and stores them through the tool server.
//!
//! Which files wait is in the database, so that a kill loses none: one that was being fetched is fetched
//! again. The bytes go from one connection to the other and are never here as a whole.

use std::collections::HashSet;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use channel::attachment::SPEECH;
use channel::download::{Download, NoDownload};
use channel::{Channel, ChannelName, Channels, Content, Delivery};
use futures_util::future::select_all;
use futures_util::{Stream, TryStreamExt as _};
use protocol::{EventId, now_ms, visible};
use reqwest::Body;
use store::attachments::{self, Fetched, NotFetched, Waiting};
use store::sql::Connection;
use store::{Store, StoreError, languages, outbox};
use texts::{Language, Text};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::tool_files::{Caller, PutError, ToolFiles};
use crate::transcribe::Transcriber;

type Bytes = Pin<Box<dyn Stream<Item = io::Result<bytes::Bytes>> + Send>>;

/// How many files are fetched at the same time.
const AT_ONCE: usize = 4;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// With these pauses, about five minutes.
const MAX_ATTEMPTS: u32 = 9;

/// How often the queue is looked at without a wake.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// The longest that fetching one file may take.
const LONGEST_FETCH: Duration = Duration::from_secs(300);

pub(crate) struct Downloads {
    pub store: Store,
    /// This run's `process.started`.
    pub run: EventId,
    pub channels: Channels,
    /// Where the files go.
    pub files: ToolFiles,
    /// Notified when files wait.
    pub arrived: Arc<Notify>,
    pub transcriber: Transcriber,
}

impl Downloads {
    /// Fetches what waits until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let this = Arc::new(self);
        let (mut running, mut in_hand) = (JoinSet::new(), HashSet::new());
        let mut breaks = vec![0; this.channels.iter().count()];
        loop {
            let wait = match this.begin(&mut running, &mut in_hand).await {
                Ok(wait) => wait,
                Err(error) => {
                    tracing::error!(%error, "could not read which files wait");
                    FIRST_PAUSE
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                Some(ended) = running.join_next() => drop(ended.map(|seq| in_hand.remove(&seq))),
                () = this.arrived.notified() => {}
                channel = back(&this.channels, &mut breaks) => this.try_again(channel).await,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Begins to fetch the files that are due; returns when to look again.
    async fn begin(
        self: &Arc<Self>,
        running: &mut JoinSet<i64>,
        in_hand: &mut HashSet<i64>,
    ) -> Result<Duration, StoreError> {
        // The files of a channel that is off wait, and keep no others waiting.
        let working = self.channels.iter().filter(|channel| channel.delivery() != Delivery::Off);
        let working: Vec<ChannelName> = working.map(|channel| channel.name()).collect();
        let run = self.run.clone();
        let look = self.store.write(move |tx| {
            for late in attachments::step_aside(tx, &working)? {
                let name = visible::escaped(&late.name);
                tell(tx, &late, |language| Text::FileNotYet { name: &name }.to(language), &run)?;
            }
            Ok((attachments::due(tx, &working, 4 * AT_ONCE)?, attachments::next_due(tx, &working)?))
        });
        let (due, next) = look.await?;
        for file in due {
            let Some(channel) = self.channels.get(&file.chat.channel).cloned() else { continue };
            if running.len() < AT_ONCE && in_hand.insert(file.seq) {
                let this = Arc::clone(self);
                running.spawn(async move { this.fetch_and_settle(channel.as_ref(), file).await });
            }
        }
        let until = next.filter(|next| *next > now_ms()).map(|next| next - now_ms());
        let until = until.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
        Ok(until.unwrap_or(LOOK_EVERY).min(LOOK_EVERY))
    }

    /// Makes all files of a channel due that wait for another attempt.
    async fn try_again(&self, channel: ChannelName) {
        if let Err(error) = self.store.write(move |tx| attachments::try_again(tx, &channel)).await {
            tracing::error!(%error, "could not fetch files at once after a break of the network");
        }
    }

    async fn fetch_and_settle(&self, channel: &dyn Channel, file: Waiting) -> i64 {
        let fetched = match tokio::time::timeout(LONGEST_FETCH, self.fetch(channel, &file)).await {
            Ok(fetched) => fetched,
            Err(_) => later(&file, "it took too long"),
        };
        let (seq, run) = (file.seq, self.run.clone());
        let settled = self.store.write_until_done(move |tx| {
            attachments::settle(tx, &file, &fetched)?;
            match &fetched {
                Fetched::Failed(why) => tell(tx, &file, |language| failure(&file.kind, why, language), &run),
                Fetched::Later { .. } | Fetched::Stored { .. } => Ok(()),
            }
        });
        if let Err(error) = settled.await {
            tracing::error!(%error, "could not store what became of a file");
        }
        seq
    }

    async fn fetch(&self, channel: &dyn Channel, file: &Waiting) -> Fetched {
        let Download { bytes, most_bytes } = match channel.download(&file.source).await {
            Ok(download) => download,
            Err(NoDownload::Never(why)) => return Fetched::Failed(NotFetched::Refused(why)),
            Err(NoDownload::Later(why)) => return later(file, &why),
        };
        let received = Arc::new(AtomicU64::new(0));
        let body = bounded(bytes, most_bytes, Arc::clone(&received));
        let session = file.chat.session();
        let caller = Caller { task: Some(&file.task), parent: None };
        match self.files.put(&file.path, &session, caller, body).await {
            Ok(size_bytes) => {
                let is_speech = SPEECH.contains(&file.kind.as_str());
                let transcript = if is_speech {
                    Some(self.transcriber.words_of(&file.path, &session, &file.task).await)
                } else {
                    None
                };
                Fetched::Stored { size_bytes, transcript }
            }
            Err(_) if received.load(Ordering::Relaxed) > most_bytes => {
                Fetched::Failed(NotFetched::TooLarge { most_bytes })
            }
            Err(PutError::Refused(why)) => Fetched::Failed(NotFetched::Refused(why)),
            Err(PutError::NotNow(why)) => later(file, &why),
        }
    }
}

/// Resolves with a channel whose service can be reached again after a break. `breaks` are those seen of each.
async fn back(channels: &Channels, breaks: &mut [u64]) -> ChannelName {
    let again = channels.iter().zip(breaks).map(|(channel, seen)| {
        Box::pin(async move {
            *seen = channel.reach().again(*seen).await;
            channel.name()
        })
    });
    select_all(again).await.0
}

/// The bytes of a download, as long as they are not too many.
fn bounded(bytes: Bytes, most: u64, received: Arc<AtomicU64>) -> Body {
    Body::wrap_stream(bytes.and_then(move |part| {
        let length = u64::try_from(part.len()).unwrap_or(u64::MAX);
        let total = received.fetch_add(length, Ordering::Relaxed) + length;
        let fits = total <= most;
        async move { if fits { Ok(part) } else { Err(io::Error::other("the file is too large")) } }
    }))
}

/// Tells the chat of a file something about it.
fn tell(
    tx: &Connection,
    file: &Waiting,
    text: impl FnOnce(Language) -> String,
    run: &EventId,
) -> Result<(), StoreError> {
    let content = vec![Content::Text(text(languages::of(tx, &file.chat)?))];
    outbox::queue(tx, None, &file.chat, content, Delivery::Push, Some(run)).map(|_| ())
}

fn failure(kind: &str, why: &NotFetched, language: Language) -> String {
    let kind = Text::FileKind { kind: &kind.replace(' ', "-") }.to(language);
    Text::FileFailed { kind: &kind, why: &why.in_words(language) }.to(language)
}

/// Another time, until there were too many.
fn later(file: &Waiting, why: &str) -> Fetched {
    if file.attempt + 1 >= MAX_ATTEMPTS {
        tracing::error!(why, task_id = %file.task, "a file that somebody sent is given up");
        return Fetched::Failed(NotFetched::GivenUp);
    }
    let wait = FIRST_PAUSE.saturating_mul(2_u32.saturating_pow(file.attempt)).min(LONGEST_PAUSE);
    tracing::warn!(why, task_id = %file.task, wait_ms = wait.as_millis(), "a file is fetched again later");
    Fetched::Later { at_ms: now_ms().saturating_add(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)) }
}
