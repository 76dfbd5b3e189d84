//! Records the calls of the worker's tools as events, as the journal's records become events.

use std::io;

use protocol::EventBody;
use protocol::event::{ToolCallCompleted, ToolCallFailed, ToolCallReplayed, ToolCallStarted};
use protocol::journal::{ARGUMENTS_BYTES, CallEnded, CallReplayed, CallStarted};
use toolkit::runner::CallIds;
use toolkit::{Recorder, arguments};

use super::link::TaskLink;

pub(super) struct LinkRecorder(pub(super) TaskLink);

impl LinkRecorder {
    fn begin(&self, ids: &CallIds, body: EventBody) -> io::Result<()> {
        let is_recorded = self.0.record(ids.call.clone(), ids.parent.clone(), body);
        if is_recorded { Ok(()) } else { Err(io::Error::other("the task has ended")) }
    }
}

impl Recorder for LinkRecorder {
    fn started(&self, ids: &CallIds, mut call: CallStarted) -> io::Result<()> {
        if serde_json::to_vec(&call.arguments).is_ok_and(|json| json.len() > ARGUMENTS_BYTES) {
            call.arguments = arguments::bounded(&call.arguments);
        }
        self.begin(ids, ToolCallStarted { call, session_id: ids.session.clone() }.into())
    }

    fn replayed(&self, ids: &CallIds, call: CallReplayed) -> io::Result<()> {
        self.begin(ids, ToolCallReplayed { call, session_id: ids.session.clone() }.into())
    }

    fn ended(&self, ids: &CallIds, call: CallEnded) {
        let session_id = ids.session.clone();
        let body: EventBody = match call.failure {
            Some(_) => ToolCallFailed { call, session_id }.into(),
            None => ToolCallCompleted { call, session_id }.into(),
        };
        // Without a task, its next attempt counts the call as interrupted.
        self.0.record(protocol::EventId::new(), Some(ids.call.clone()), body);
    }
}
