//! Effects: what a call of the tool server asks of the supervisor, over a socket that the tool server has
//! inherited. They only add to the supervisor's tables.
//!
//! Nothing in a request is believed. Session, running task, chat, rate, and each file are checked here; what
//! does not fit is refused with an error and logged. A bad request harms no other.

mod add;
mod file;
mod line;
mod rate;
mod schedule;
mod send;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use channel::formatting;
use channel::{Channel, Channels, Chat, Content, Rejection};
use process::fd_passing;
use protocol::effect::{Answer, Ask, EffectAnswer, EffectRequest};
use protocol::{ErrorCode, SessionId, ToolError};
use store::{Store, StoreError, contact_messages, outside};
use tokio::io::Interest;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use toolkit::arguments::{elide, invalid};

use crate::journal::Journal;
use crate::schedules::Schedules;
pub(crate) use file::Files;
use rate::Rate;

/// How long one request may take, with its line and its files.
const PATIENCE: Duration = Duration::from_secs(60);

/// So many are answered at once; others wait in the socket.
const AT_ONCE: usize = 64;

/// What answers requests needs.
#[derive(Clone)]
pub(crate) struct Effects {
    store: Store,
    channels: Channels,
    /// The tool server's, which has the start of each call before what it causes.
    journal: Journal,
    schedules: Schedules,
    rate: Rate,
    room: Arc<Semaphore>,
}

impl Effects {
    pub(crate) fn new(store: &Store, channels: &Channels, journal: &Journal, schedules: &Schedules) -> Self {
        Self {
            store: store.clone(),
            channels: channels.clone(),
            journal: journal.clone(),
            schedules: schedules.clone(),
            rate: Rate::default(),
            room: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Begins to answer a new tool server, and returns its end of the socket.
    pub(crate) fn connect(&self) -> io::Result<OwnedFd> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let socket = tokio::net::UnixStream::from_std(ours)?;
        tokio::spawn(self.clone().serve(socket));
        Ok(theirs.into())
    }

    /// Answers until the other end is closed.
    async fn serve(self, socket: tokio::net::UnixStream) {
        loop {
            let receive = || fd_passing::receive(&socket).map_err(io::Error::from);
            let descriptors = match socket.async_io(Interest::READABLE, receive).await {
                Ok(Some((_, descriptors))) => descriptors,
                Ok(None) => return,
                Err(error) => {
                    tracing::error!(%error, "no more effects can be received from this tool server");
                    return;
                }
            };
            let Some(place) = self.place().await else { return };
            let effects = self.clone();
            tokio::spawn(async move {
                Self::in_time(effects.handle(descriptors)).await;
                drop(place);
            });
        }
    }

    /// Waits for room to answer one more.
    pub(crate) async fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.room).acquire_owned().await.ok()
    }

    /// What `work` for a request leads to; none if it took too long, so that the call knows of no answer.
    pub(crate) async fn in_time<T>(work: impl Future<Output = T>) -> Option<T> {
        let done = timeout(PATIENCE, work).await;
        if done.is_err() {
            tracing::warn!("a request for an effect was given up: it took too long");
        }
        done.ok()
    }

    async fn handle(&self, descriptors: Vec<OwnedFd>) {
        let mut descriptors = descriptors.into_iter();
        let Some(stream) = descriptors.next() else {
            return tracing::warn!("an effect was asked for without a stream");
        };
        let mut asked = match line::read(stream).await {
            Ok(asked) => asked,
            Err(error) => return tracing::warn!(%error, "a request for an effect could not be read"),
        };
        let answer = self.answer(&asked.line, Files::Here(descriptors.collect())).await;
        if let Err(error) = asked.answer(&answer).await {
            tracing::warn!(%error, "an effect could not be answered");
        }
    }

    /// The answer to a request's line.
    pub(crate) async fn answer(&self, line: &[u8], files: Files) -> EffectAnswer {
        let request: EffectRequest = serde_json::from_slice(line).map_err(|error| {
            tracing::warn!(%error, "a request for an effect was not understood");
            ToolError::new(ErrorCode::Internal, "The supervisor did not understand the request.")
        })?;
        let (call, session) = (request.call.clone(), request.session.clone());
        let answer = self.ask(request, files).await;
        if let Err(error) = &answer {
            let (code, message) = (error.code, elide(&error.message, 300));
            tracing::warn!(%call, %session, %code, message, "an effect was refused");
        }
        answer
    }

    async fn ask(&self, request: EffectRequest, files: Files) -> EffectAnswer {
        let own = self.chat_of(&request.session)?;
        match request.ask.clone() {
            Ask::MayWrite { chat } => {
                self.target(&own, &chat)?;
                self.require_running(&request, &own).await.map(|()| Answer::Done)
            }
            Ask::HasMet { contact_id, chat } => {
                let (session, address) = (request.session, self.parsed(&own, &chat)?);
                let met = self
                    .store
                    .write(move |tx| contact_messages::has_met(tx, &session, &contact_id, &address));
                met.await.map(|yes| Answer::Yes { yes }).map_err(not_read)
            }
            Ask::HasSeenOutside => {
                self.journal.drain().await;
                let seen = self.store.write(move |tx| outside::seen_in(tx, &own)).await;
                seen.map(|seen| Answer::Yes { yes: seen.is_some() }).map_err(not_read)
            }
            Ask::PlainText { markdown } => Ok(Answer::Text { text: formatting::render(&markdown).text }),
            Ask::ListSchedules => self.list_schedules(own).await,
            Ask::PlanSchedule(new) => self.plan_schedule(&request, own, new).await,
            Ask::CreateSchedule(new) => self.create_schedule(&request, own, new).await,
            Ask::CancelSchedule { schedule_id } => self.cancel_schedule(&request, own, schedule_id).await,
            Ask::React { chat, message_id, emoji, is_big } => {
                self.react(&request, own, &chat, message_id, (emoji, is_big)).await
            }
            Ask::SendFiles { chat, caption, files: named } => {
                self.send_files(&request, own, &chat, &caption, (files, named)).await
            }
            Ask::WriteToContact { contact_id, chat, text } => {
                self.write_to_contact(&request, own, &chat, contact_id, text).await
            }
        }
    }

    /// The chat of a session, whatever the bot may do there.
    fn chat_of(&self, session: &SessionId) -> Result<Chat, ToolError> {
        let (channel, id) = session.as_str().split_once(':').unwrap_or((session.as_str(), ""));
        let known = self.channels.iter().find(|known| known.name().as_str() == channel && !id.is_empty());
        let message = || format!("The session {session} is no chat.");
        let known = known.ok_or_else(|| ToolError::new(ErrorCode::ToolNotAllowed, message()))?;
        Ok(Chat::new(known.name(), id))
    }

    /// A chat of the same channel as the session's, by its address.
    fn parsed(&self, own: &Chat, address: &str) -> Result<Chat, ToolError> {
        let id = address.strip_prefix(own.channel.as_str()).and_then(|rest| rest.strip_prefix(':'));
        let id = id.filter(|id| !id.is_empty()).ok_or_else(|| {
            let message = format!("This chat of {} writes to no chat of another channel.", own.channel);
            ToolError::new(ErrorCode::ToolNotAllowed, message)
        })?;
        Ok(Chat::new(own.channel.clone(), id))
    }

    /// A chat that the bot writes to, for a session whose chat it works for.
    fn target(&self, own: &Chat, address: &str) -> Result<Chat, ToolError> {
        let chat = self.parsed(own, address)?;
        self.prepared(own, Content::Text("?".to_owned()))?;
        self.prepared(&chat, Content::Text("?".to_owned()))?;
        Ok(chat)
    }

    /// The messages that a content is sent as, if the channel sends anything to the chat.
    fn prepared(&self, chat: &Chat, content: Content) -> Result<Vec<Content>, ToolError> {
        self.channel(chat)?.prepare(&chat.id, content).map_err(rejected)
    }

    fn channel(&self, chat: &Chat) -> Result<&Arc<dyn Channel>, ToolError> {
        self.channels.get(&chat.channel).ok_or_else(|| not_here("is unknown"))
    }
}

fn rejected(rejection: Rejection) -> ToolError {
    match rejection {
        Rejection::Off { hint } => not_here("is off").with_hint(hint),
        Rejection::ChatNotAllowed { hint } => {
            let message = "The bot does not write to this chat.";
            ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint)
        }
        Rejection::Invalid(message) => invalid(message),
    }
}

fn not_here(why: &str) -> ToolError {
    ToolError::new(ErrorCode::ToolNotAllowed, format!("The channel {why}."))
}

fn not_read(error: StoreError) -> ToolError {
    tracing::error!(%error, "could not read what a call has to know");
    let message = "The supervisor's database could not be read; nothing was done.";
    ToolError::new(ErrorCode::IoError, message).with_hint("Ask the operator to look at the supervisor's log.")
}
