//! Fetches what tools elsewhere ask of the supervisor, and sends the answers. Each request is answered by the
//! same code as one of this machine, which believes none of it.

use std::convert::Infallible;
use std::time::Duration;

use protocol::effect::EffectAnswer;
use reqwest::{Method, StatusCode};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{FIRST_PAUSE, SILENCE, next_pause};
use crate::effects::{Effects, Files};
use crate::elsewhere::Troubles;
use crate::event_stream::{EventStream, StreamError, StreamEvent};
use crate::tool_client::ToolClient;
use process::error_chain;

/// How long an answer may take on its way, and how often it is sent.
const PATIENCE: Duration = Duration::from_secs(10);
const ATTEMPTS: u32 = 3;

/// What it is called where troubles are listed.
const NAME: &str = "requests of its tools";

#[derive(Debug, thiserror::Error)]
enum RelayError {
    #[error("they could not be asked for")]
    Server(#[from] reqwest::Error),
    #[error("it answered with HTTP {0}; AUTONOUS_TOOL_SUPERVISED=true lets it take a supervisor")]
    NoneThere(StatusCode),
    #[error("it answered with HTTP {0}")]
    Refused(StatusCode),
    #[error(transparent)]
    Stream(#[from] StreamError),
    #[error("nothing was heard for {} s", SILENCE.as_secs())]
    Silent,
}

#[derive(Clone)]
pub(super) struct Relay {
    pub(super) client: ToolClient,
    pub(super) effects: Effects,
    pub(super) troubles: Troubles,
}

impl Relay {
    pub(super) async fn serve(self, stop: CancellationToken) {
        let mut pause = FIRST_PAUSE;
        loop {
            let mut has_connected = false;
            let Err(error) = tokio::select! {
                () = stop.cancelled() => return,
                ended = self.follow(&mut has_connected) => ended,
            };
            if !has_connected {
                self.troubles.set(NAME, Some(error_chain(&error)));
            }
            pause = next_pause(pause, has_connected);
            if stop.run_until_cancelled(sleep(pause)).await.is_none() {
                return;
            }
        }
    }

    async fn follow(&self, has_connected: &mut bool) -> Result<Infallible, RelayError> {
        let answer = self.client.request(Method::GET, "/effects").send().await?;
        match answer.status() {
            StatusCode::OK => {}
            status @ (StatusCode::NOT_FOUND | StatusCode::FORBIDDEN) => {
                return Err(RelayError::NoneThere(status));
            }
            status => return Err(RelayError::Refused(status)),
        }
        *has_connected = true;
        self.troubles.set(NAME, None);
        let mut events = EventStream::of(answer);
        loop {
            let heard = timeout(SILENCE, events.next_or_comment()).await.map_err(|_| RelayError::Silent)?;
            let Some(StreamEvent { id: Some(number), data }) = heard? else { continue };
            let Some(place) = self.effects.place().await else { continue };
            let relay = self.clone();
            tokio::spawn(async move {
                relay.handle(number, &data).await;
                drop(place);
            });
        }
    }

    async fn handle(&self, number: u64, line: &[u8]) {
        let files =
            Files::Elsewhere { client: self.client.clone(), path: format!("/effects/{number}/files") };
        if let Some(answer) = Effects::in_time(self.effects.answer(line, files)).await {
            self.send(number, &answer).await;
        }
    }

    /// The tool server takes only the first answer, so it can be sent again.
    async fn send(&self, number: u64, answer: &EffectAnswer) {
        for attempt in 1..=ATTEMPTS {
            let request = self.client.request(Method::POST, &format!("/effects/{number}")).json(answer);
            match request.timeout(PATIENCE).send().await {
                Ok(answer) if answer.status() == StatusCode::NO_CONTENT => return,
                Ok(answer) if answer.status() == StatusCode::NOT_FOUND => {
                    return tracing::warn!(number, "the call of an effect waits for it no more");
                }
                Ok(answer) => {
                    tracing::warn!(status = %answer.status(), "the answer to an effect was refused")
                }
                Err(error) => {
                    let error = error_chain(&error.without_url());
                    tracing::warn!(error, attempt, "the answer to an effect could not be sent");
                }
            }
            sleep(FIRST_PAUSE * attempt).await;
        }
    }
}
