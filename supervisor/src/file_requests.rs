//! Answers the commands that need files, by asking the tool server as the chat's session.
//!
//! What was asked lies in the database until its answer is queued. Listing and reading change nothing, so a
//! request that was cut off is simply made again.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use process::Secret;
use protocol::text_form::text_form;
use protocol::{Envelope, ReplyFormat, TaskId};
use reqwest::header::{ACCEPT, CONTENT_LENGTH};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::channel::content::File;
use crate::channel::{Channels, Content};
use crate::error_chain::error_chain;
use crate::store::file_requests::{FileRequest, Kind, answer, oldest};
use crate::store::{Store, StoreError};

/// What Telegram takes of a bot by this way, and what the outbox holds.
const MAX_FILE_BYTES: u64 = 20 * 1024 * 1024;

/// How many are answered at once: each may hold a file.
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
    pub tool_server: ToolServerFiles,
}

/// The tool server's routes for files.
#[derive(Clone)]
pub(crate) struct ToolServerFiles {
    pub client: Client,
    pub url: String,
    pub token: Secret,
}

impl FileRequests {
    /// Answers until `stop`, beginning with those of an earlier run.
    pub(crate) async fn serve(self, stop: CancellationToken) {
        let (mut answering, mut busy) = (JoinSet::new(), HashSet::<TaskId>::new());
        loop {
            match self.store.write(|tx| oldest(tx, AT_ONCE)).await {
                Ok(waiting) => {
                    for request in waiting {
                        if busy.len() < AT_ONCE && busy.insert(request.task.clone()) {
                            answering.spawn(self.answering(request));
                        }
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "could not read which files were asked for");
                    self.arrived.notify_one();
                    tokio::time::sleep(PAUSE).await;
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.arrived.notified() => {}
                Some(ended) = answering.join_next() => match ended {
                    Ok(task) => drop(busy.remove(&task)),
                    // Which one it was is not known; the next start makes it again.
                    Err(error) => tracing::error!(%error, "a file request was cut off"),
                },
            }
        }
    }

    fn answering(&self, request: FileRequest) -> impl Future<Output = TaskId> + use<> {
        let (store, channels, tool_server) =
            (self.store.clone(), self.channels.clone(), self.tool_server.clone());
        async move {
            let task = request.task.clone();
            let content = match tool_server.carry_out(&request).await {
                Ok(content) => content,
                Err(words) => Content::Text(words),
            };
            if let Err(error) = queue(&store, &channels, request, content).await {
                tracing::error!(%error, "could not store the answer to a command");
            }
            task
        }
    }
}

async fn queue(
    store: &Store,
    channels: &Channels,
    request: FileRequest,
    content: Content,
) -> Result<(), StoreError> {
    let Some(channel) = channels.get(&request.chat.channel) else { return Ok(()) };
    let contents = match content {
        Content::Text(text) => channel.decorate(&text, ReplyFormat::Plain),
        other => vec![other],
    };
    let delivery = channel.delivery();
    store.write_until_done(move |tx| answer(tx, &request, contents.clone(), delivery)).await
}

impl ToolServerFiles {
    /// The answer, or in words why there is none.
    async fn carry_out(&self, request: &FileRequest) -> Result<Content, String> {
        match request.kind {
            Kind::List => self.list(request).await,
            Kind::Send => self.fetch(request).await,
        }
    }

    async fn list(&self, request: &FileRequest) -> Result<Content, String> {
        let call = self.client.post(format!("{}/tools/ls", self.url)).header(ACCEPT, "application/json");
        let response = self.send(call.json(&json!({"path": request.path})), request).await?;
        let envelope: Envelope = response.json().await.map_err(no_answer)?;
        if let Some(error) = &envelope.meta.error {
            return Err(format!("{} {}", error.message, error.hint));
        }
        Ok(Content::Text(text_form(&envelope)))
    }

    async fn fetch(&self, request: &FileRequest) -> Result<Content, String> {
        let call = self.client.get(format!("{}/files", self.url)).query(&[("path", &request.path)]);
        let response = self.send(call, request).await?;
        if response.status() != StatusCode::OK {
            let envelope: Envelope = response.json().await.map_err(no_answer)?;
            let error = envelope.meta.error.ok_or("The file could not be read.")?;
            return Err(format!("{} {}", error.message, error.hint));
        }
        let size = response.headers().get(CONTENT_LENGTH).and_then(|size| size.to_str().ok()?.parse().ok());
        match size {
            Some(0) => return Err(format!("{} is empty, and an empty file cannot be sent.", request.path)),
            Some(1..=MAX_FILE_BYTES) => {}
            Some(_) | None => {
                let most = MAX_FILE_BYTES / (1 << 20);
                return Err(format!("{} is larger than the {most} MiB that I can send.", request.path));
            }
        }
        let name = request.path.rsplit('/').next().unwrap_or("file").to_owned();
        let bytes = response.bytes().await.map_err(no_answer)?.to_vec();
        Ok(Content::Document(File { name, caption: String::new(), bytes }))
    }

    async fn send(&self, call: RequestBuilder, request: &FileRequest) -> Result<Response, String> {
        let session = request.chat.session();
        let call = call.bearer_auth(self.token.expose()).header("X-Session-Id", session.as_str());
        call.timeout(PATIENCE).send().await.map_err(no_answer)
    }
}

fn no_answer(error: reqwest::Error) -> String {
    let error = error_chain(&error.without_url());
    tracing::warn!(error, "the tool server gave no answer to a command");
    "The tool server gave no answer. Please send it again in a moment.".to_owned()
}
