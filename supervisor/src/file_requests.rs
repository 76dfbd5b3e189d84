//! Answers the commands that need files, by asking the tool server as the chat's session.
//!
//! What was asked lies in the database until its answer is queued. A request that was cut off is simply made
//! again: listing and reading change nothing, and an undone change is not undone once more.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use channel::content::{File, FileBody};
use channel::formatting::FormattedText;
use channel::{Channels, Content, Delivery};
use protocol::{Envelope, ReplyFormat, TaskId};
use reqwest::Method;
use serde_json::json;
use store::changes;
use store::file_requests::{FileRequest, Kind, answer, oldest};
use store::{Store, StoreError, languages};
use texts::{Language, Text};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::file_copy::copy;
use crate::tool_files::{ToolFiles, in_words};
use crate::undo::Undoer;

/// How many are answered at once.
const AT_ONCE: usize = 4;

/// A tool server that restarts is waited for; its socket keeps the request.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pause after the database could not be read.
const PAUSE: Duration = Duration::from_secs(5);

pub(crate) struct FileRequests {
    pub store: Store,
    pub channels: Channels,
    /// Notified when a request was stored.
    pub arrived: Arc<Notify>,
    pub tool_server: ToolFiles,
    pub undoer: Undoer,
}

impl FileRequests {
    /// Answers until `stop`, beginning with those of an earlier run.
    pub(crate) async fn serve(self, stop: CancellationToken) {
        let this = Arc::new(self);
        let (mut answering, mut busy) = (JoinSet::new(), HashSet::<TaskId>::new());
        loop {
            match this.store.write(|tx| oldest(tx, AT_ONCE)).await {
                Ok(waiting) => {
                    for request in waiting {
                        if busy.len() < AT_ONCE && busy.insert(request.task.clone()) {
                            answering.spawn(Arc::clone(&this).answer(request));
                        }
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "could not read which files were asked for");
                    this.arrived.notify_one();
                    tokio::time::sleep(PAUSE).await;
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = this.arrived.notified() => {}
                Some(ended) = answering.join_next() => match ended {
                    Ok(task) => drop(busy.remove(&task)),
                    // Which one it was is not known; the next start makes it again.
                    Err(error) => tracing::error!(%error, "a file request was cut off"),
                },
            }
        }
    }

    async fn answer(self: Arc<Self>, request: FileRequest) -> TaskId {
        let channel = self.channels.get(&request.chat.channel);
        let takes_files = channel.is_some_and(|channel| channel.delivery() != Delivery::Pull);
        let (task, chat) = (request.task.clone(), request.chat.clone());
        let language = self.store.write(move |tx| languages::of(tx, &chat)).await.unwrap_or_default();
        let content = match request.kind {
            Kind::List => self.list(&request, language).await,
            Kind::Send if !takes_files => Err(Text::TextAlone.to(language)),
            Kind::Send => self.fetch(&request).await,
            Kind::Undo => self.undo(&request.path, language).await.map(Content::Text),
        };
        let content = content.unwrap_or_else(Content::Text);
        if let Err(error) = self.queue(request, content, language).await {
            tracing::error!(%error, "could not store the answer to a command");
        }
        task
    }

    async fn queue(
        &self,
        request: FileRequest,
        content: Content,
        language: Language,
    ) -> Result<(), StoreError> {
        let Some(channel) = self.channels.get(&request.chat.channel) else { return Ok(()) };
        let contents = match content {
            Content::Text(text) => channel.decorate(&text, ReplyFormat::Plain, language),
            other => vec![other],
        };
        let delivery = channel.delivery();
        self.store.write_until_done(move |tx| answer(tx, &request, contents.clone(), delivery)).await
    }

    /// The entries of a directory, or in words why it cannot be listed.
    async fn list(&self, request: &FileRequest, language: Language) -> Result<Content, String> {
        let no_answer = |error| no_answer(error, language);
        let (session, path) = (request.chat.session(), request.path.as_str());
        let call = self.tool_server.call("ls", &json!({"path": path}), &session).timeout(PATIENCE);
        let envelope: Envelope = call.send().await.map_err(no_answer)?.json().await.map_err(no_answer)?;
        match &envelope.meta.error {
            Some(error) => Err(format!("{} {}", error.message, error.hint)),
            None => Ok(Content::Text(listing(&envelope, language))),
        }
    }

    /// A file, or in words why it cannot be sent.
    async fn fetch(&self, request: &FileRequest) -> Result<Content, String> {
        let (session, path) = (request.chat.session(), request.path.as_str());
        let call = self.tool_server.request(Method::GET, path, &session).timeout(PATIENCE);
        let stored = copy(call, &self.store).await;
        let stored = stored.map_err(|error| format!("{} {}", error.message, error.hint))?;
        let name = path.rsplit('/').next().unwrap_or("file").to_owned();
        let (caption, body) = (FormattedText::plain(""), FileBody::Stored(stored));
        Ok(Content::Document(File { name, caption, body, media: None }))
    }

    /// Undoes the changes of a task that hold; the answer, or in words why there is none.
    async fn undo(&self, task: &str, language: Language) -> Result<String, String> {
        self.undoer.journal.drain().await;
        let task = task.to_owned();
        let changes = self.store.write(move |tx| changes::of_task(tx, &task)).await.map_err(|error| {
            tracing::error!(%error, "could not read what a task has changed");
            Text::DatabaseUnavailable.to(language)
        })?;
        if changes.is_empty() {
            return Ok(Text::UndoneBefore.to(language));
        }
        match self.undoer.undo(&changes).await {
            Ok(done) => Ok(done.in_words(language)),
            Err(error) => {
                tracing::warn!(%error, "a change was not undone");
                Err(Text::NoAnswerFromTools.to(language))
            }
        }
    }
}

/// The entries of a directory, and the remarks about them.
fn listing(envelope: &Envelope, language: Language) -> String {
    let none = Text::NoFiles.to(language);
    let entries = match envelope.stdout.trim_end() {
        "" => &none,
        entries => entries,
    };
    let notices = envelope.meta.notices.iter().map(String::as_str);
    std::iter::once(entries).chain(notices).collect::<Vec<_>>().join("\n")
}

fn no_answer(error: reqwest::Error, language: Language) -> String {
    tracing::warn!(error = in_words(error), "the tool server gave no answer to a command");
    Text::NoAnswerFromTools.to(language)
}
