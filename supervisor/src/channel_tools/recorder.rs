//! Records the calls of channel tools as events, as the journal's records become events.

use std::io;

use protocol::event::{ToolCallCompleted, ToolCallFailed, ToolCallReplayed, ToolCallStarted};
use protocol::journal::{ARGUMENTS_BYTES, CallEnded, CallReplayed, CallStarted, FIRST_PREV, RecordBody};
use protocol::{Event, EventBody, EventId, JournalRecord, now_ms};
use toolkit::runner::CallIds;
use toolkit::{Recorder, arguments};

use super::sending::wait;
use crate::store::{Store, StoreError, events};

pub(super) struct EventRecorder(pub(super) Store);

impl EventRecorder {
    fn append(&self, ids: &CallIds, id: Option<EventId>, body: EventBody) -> Result<(), StoreError> {
        let parent = if id.is_some() { ids.parent.clone() } else { Some(ids.call.clone()) };
        let mut event = Event::now(body, parent.as_ref(), ids.task.as_ref());
        event.id = id.unwrap_or(event.id);
        wait(self.0.write(move |tx| events::append(tx, &event)))
    }
}

impl Recorder for EventRecorder {
    fn started(&self, ids: &CallIds, mut call: CallStarted) -> io::Result<()> {
        if serde_json::to_vec(&call.arguments).is_ok_and(|json| json.len() > ARGUMENTS_BYTES) {
            call.arguments = arguments::bounded(&call.arguments);
        }
        let body = ToolCallStarted { call, session_id: ids.session.clone() };
        self.append(ids, Some(ids.call.clone()), body.into()).map_err(io::Error::other)
    }

    fn replayed(&self, ids: &CallIds, call: CallReplayed) -> io::Result<()> {
        let body = ToolCallReplayed { call, session_id: ids.session.clone() };
        self.append(ids, Some(ids.call.clone()), body.into()).map_err(io::Error::other)
    }

    fn approval(&self, ids: &CallIds, id: EventId, body: RecordBody) -> io::Result<()> {
        // As the journal's records become events.
        let record = JournalRecord {
            body,
            id,
            parent_id: ids.parent.clone(),
            task_id: ids.task.clone(),
            session_id: ids.session.clone(),
            time_ms: now_ms(),
            prev: FIRST_PREV.to_owned(),
        };
        let Some(event) = record.into_event() else { return Ok(()) };
        wait(self.0.write(move |tx| events::append(tx, &event))).map_err(io::Error::other)
    }

    fn ended(&self, ids: &CallIds, call: CallEnded) {
        let session_id = ids.session.clone();
        let body: EventBody = match call.failure {
            Some(_) => ToolCallFailed { call, session_id }.into(),
            None => ToolCallCompleted { call, session_id }.into(),
        };
        if let Err(error) = self.append(ids, None, body) {
            tracing::error!(call_id = %ids.call, %error, "could not store the end of a call");
        }
    }
}
