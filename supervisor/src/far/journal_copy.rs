//! Copies the journal of a tool server on another machine, so that it is read, compared and kept like one of
//! this machine. Nothing that happens there takes back what is here.
//!
//! Each connection begins with the last record of the copy, which has to come again as it was. A journal that
//! does not go on from there was tampered with, or the machine lost power: the copy is moved aside, another
//! one begins, and the follower finds that and reports it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use protocol::JournalPlace;
use protocol::journal::OPENED_AT_HEADER;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use store::{Store, tool_calls};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::copied_files::CopiedFiles;
use super::{FIRST_PAUSE, SILENCE, next_pause};
use crate::elsewhere::Troubles;
use crate::event_stream::{EventStream, StreamError, StreamEvent};
use crate::journal::{CopyRequest, Journal};
use crate::tool_client::ToolClient;
use process::error_chain;

/// How long an answer may take that ends.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the copy is called where troubles are listed.
const NAME: &str = "its journal";

#[derive(Debug, thiserror::Error)]
enum CopyError {
    #[error("it could not be asked for")]
    Server(#[from] reqwest::Error),
    #[error("the server answered with HTTP {0}")]
    Refused(StatusCode),
    #[error(transparent)]
    Stream(#[from] StreamError),
    #[error("the server has said nothing for {} s", SILENCE.as_secs())]
    Silent,
    #[error("the copy could not be written")]
    Write(#[from] io::Error),
}

pub(super) struct JournalCopy {
    pub(super) journal: PathBuf,
    pub(super) client: ToolClient,
    pub(super) store: Store,
    /// The follower of the copy.
    pub(super) follower: Journal,
    pub(super) troubles: Troubles,
    /// Where an earlier server's part ends, until its unfinished calls are marked.
    pub(super) unsettled: Option<JournalPlace>,
}

impl JournalCopy {
    /// Copies until `stop`. Each request is answered once all is copied that the journal has by then.
    pub(super) async fn keep(mut self, mut requests: mpsc::Receiver<CopyRequest>, stop: CancellationToken) {
        let mut pause = FIRST_PAUSE;
        loop {
            let mut has_copied = false;
            let ended = tokio::select! {
                () = stop.cancelled() => return,
                ended = self.copy(&mut requests, &mut has_copied) => ended,
            };
            let Err(error) = ended;
            let words = error_chain(&error);
            tracing::debug!(error = words, "the journal is not copied at the moment");
            // One that ends is connected to again at once; others say why.
            if !matches!(error, CopyError::Stream(_)) || !has_copied {
                self.troubles.set(NAME, Some(words));
            }
            pause = next_pause(pause, has_copied);
            if stop.run_until_cancelled(sleep(pause)).await.is_none() {
                return;
            }
        }
    }

    async fn copy(
        &mut self,
        requests: &mut mpsc::Receiver<CopyRequest>,
        has_copied: &mut bool,
    ) -> Result<std::convert::Infallible, CopyError> {
        let journal = self.journal.clone();
        let mut files = blocking(move || CopiedFiles::open(&journal)).await?;
        let mut events = self.connect(&mut files).await?;
        *has_copied = true;
        self.troubles.set(NAME, None);
        loop {
            tokio::select! {
                event = timeout(SILENCE, events.next_or_comment()) => {
                    let Some(event) = event.map_err(|_| CopyError::Silent)?? else { continue };
                    files = self.append(files, with_what_is_ready(event, &mut events)).await?;
                }
                Some(request) = requests.recv() => {
                    let waiting = take_all(request, requests);
                    files = self.fetch(files).await?;
                    for request in waiting {
                        let _ = request.send(());
                    }
                }
            }
        }
    }

    /// The stream of the records that the copy lacks.
    async fn connect(&mut self, files: &mut CopiedFiles) -> Result<EventStream, CopyError> {
        loop {
            let last = files.last().cloned();
            let after = last.as_ref().map_or(0, |last| last.from.number());
            let answer = self.ask(after, true).send().await?;
            let goes_on = match (answer.status(), &last) {
                (StatusCode::NOT_FOUND, Some(_)) => None,
                (StatusCode::OK, _) => {
                    self.note_opening(&answer, files.end());
                    let mut events = EventStream::of(answer);
                    match last {
                        None => Some(events),
                        Some(last) => {
                            let again = timeout(SILENCE, events.next()).await;
                            let again = again.map_err(|_| CopyError::Silent)??;
                            let is_same = again.data == last.text && again.id == Some(last.to.number());
                            is_same.then_some(events)
                        }
                    }
                }
                (status, _) => return Err(CopyError::Refused(status)),
            };
            match goes_on {
                Some(events) => {
                    self.settle(files.end(), false).await;
                    return Ok(events);
                }
                None => *files = self.begin_again().await?,
            }
        }
    }

    /// Moves the copy aside and copies all of the journal, before the follower looks at it.
    async fn begin_again(&mut self) -> Result<CopiedFiles, CopyError> {
        let hold = self.follower.hold().await;
        let journal = self.journal.clone();
        let replaced = blocking(move || {
            let mut files = CopiedFiles::open(&journal)?;
            Ok((files.replace()?, files))
        });
        let (away, files) = replaced.await?;
        tracing::error!(
            copy = %away.display(),
            "the journal of the tool server does not go on from what was copied of it; the copy stays there"
        );
        self.unsettled = None;
        let files = self.fetch(files).await?;
        drop(hold);
        self.mark_unfinished().await;
        Ok(files)
    }

    fn ask(&self, after: u64, follow: bool) -> RequestBuilder {
        let query = [("after", after.to_string()), ("follow", follow.to_string())];
        self.client.request(Method::GET, "/journal").query(&query)
    }

    /// Notes where the server's own part begins, if the copy is not in it yet.
    fn note_opening(&mut self, answer: &Response, end: JournalPlace) {
        let named =
            answer.headers().get(OPENED_AT_HEADER).and_then(|value| value.to_str().ok()?.parse().ok());
        self.unsettled = named.map(JournalPlace::of).filter(|opened| end <= *opened);
    }

    /// What the journal has now.
    async fn fetch(&mut self, mut files: CopiedFiles) -> Result<CopiedFiles, CopyError> {
        let after = files.last().map_or(0, |last| last.to.number());
        let answer = self.ask(after, false).timeout(PATIENCE).send().await?;
        if answer.status() != StatusCode::OK {
            return Err(CopyError::Refused(answer.status()));
        }
        let mut events = EventStream::of(answer);
        loop {
            match events.next().await {
                Ok(event) => files = self.append(files, with_what_is_ready(event, &mut events)).await?,
                Err(StreamError::Ended) => return Ok(files),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Appends records; before the first of this server, the calls of earlier ones end.
    async fn append(
        &mut self,
        files: CopiedFiles,
        mut batch: Vec<StreamEvent>,
    ) -> Result<CopiedFiles, CopyError> {
        self.keep_arguments(&files, &batch).await?;
        let mut files = files;
        if let Some(opened) = self.unsettled {
            let is_earlier = |event: &StreamEvent| event.id.is_some_and(|id| id <= opened.number());
            let own = batch.split_off(batch.iter().take_while(|event| is_earlier(event)).count());
            files = write(files, batch).await?;
            self.settle(files.end(), !own.is_empty()).await;
            batch = own;
        }
        write(files, batch).await
    }

    /// Marks the unfinished calls of earlier servers as interrupted, once all their records are here.
    async fn settle(&mut self, end: JournalPlace, has_more: bool) {
        let Some(opened) = self.unsettled else { return };
        if end != opened && !has_more {
            return;
        }
        self.unsettled = None;
        self.mark_unfinished().await;
    }

    async fn mark_unfinished(&self) {
        self.follower.drain_copy().await;
        let marked = self.store.write_until_done(|tx| {
            let newest = tool_calls::newest_event(tx)?;
            tool_calls::mark_interrupted(tx, newest, "the tool server ended during the call")
        });
        match marked.await {
            Ok(0) => {}
            Ok(calls) => tracing::warn!(calls, "tool calls were interrupted"),
            Err(error) => tracing::error!(%error, "could not mark interrupted tool calls"),
        }
    }

    /// Keeps the arguments that records name, before the records are here.
    async fn keep_arguments(&self, files: &CopiedFiles, batch: &[StreamEvent]) -> Result<(), CopyError> {
        #[derive(Deserialize)]
        struct Named {
            arguments_file: Option<String>,
        }
        let names =
            batch.iter().filter(|event| event.data.windows(16).any(|part| part == b"\"arguments_file\""));
        let names =
            names.filter_map(|event| serde_json::from_slice::<Named>(&event.data).ok()?.arguments_file);
        let is_name = |name: &String| name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        for name in names.filter(is_name) {
            if files.has_arguments(&name) {
                continue;
            }
            let request = self.client.request(Method::GET, &format!("/journal/arguments/{name}"));
            let answer = request.timeout(PATIENCE).send().await?;
            match answer.status() {
                StatusCode::OK => {
                    let content = answer.bytes().await?;
                    if let Err(error) = files.keep_arguments(&name, &content) {
                        tracing::error!(%error, name, "the arguments of a call are not kept");
                    }
                }
                StatusCode::NOT_FOUND => tracing::error!(name, "the arguments of a call are gone"),
                status => return Err(CopyError::Refused(status)),
            }
        }
        Ok(())
    }
}

fn with_what_is_ready(event: StreamEvent, events: &mut EventStream) -> Vec<StreamEvent> {
    std::iter::once(event).chain(std::iter::from_fn(|| events.ready())).collect()
}

fn take_all(first: CopyRequest, requests: &mut mpsc::Receiver<CopyRequest>) -> Vec<oneshot::Sender<()>> {
    std::iter::once(first).chain(std::iter::from_fn(|| requests.try_recv().ok())).collect()
}

async fn write(mut files: CopiedFiles, batch: Vec<StreamEvent>) -> Result<CopiedFiles, CopyError> {
    if batch.is_empty() {
        return Ok(files);
    }
    blocking(move || files.append(&batch).map(|()| files)).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, CopyError> {
    Ok(spawn_blocking(work).await.map_err(io::Error::other)??)
}
