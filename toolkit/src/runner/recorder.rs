//! What the runner has recorded about each call.

use std::io;

use protocol::journal::{CallEnded, CallReplayed, CallStarted, RecordBody};
use protocol::{EventId, SessionId, TaskId};

use crate::Scope;

/// The call that a record is about.
#[derive(Debug, Clone)]
pub struct CallIds {
    /// The call.
    pub call: EventId,
    /// The parent of its event.
    pub parent: Option<EventId>,
    /// The task that it belongs to.
    pub task: Option<TaskId>,
    /// Its session.
    pub session: SessionId,
    /// The name of its token; none of the server's own.
    pub token: Option<String>,
}

impl CallIds {
    /// Those of a new call.
    pub fn of(parent: Option<EventId>, task: Option<TaskId>, scope: &Scope) -> Self {
        let (session, token) = (scope.session().clone(), scope.token().map(str::to_owned));
        Self { call: EventId::new(), parent, task, session, token }
    }
}

/// Where calls are recorded.
pub trait Recorder: Send + Sync + 'static {
    /// Records that a call is about to run. If this fails, the call is not run.
    fn started(&self, ids: &CallIds, body: CallStarted) -> io::Result<()>;

    /// Records that a call got the answer of an earlier one. If this fails, it does not get it.
    fn replayed(&self, ids: &CallIds, body: CallReplayed) -> io::Result<()>;

    /// Records under the call's parent what a person was asked or decided. If this fails, it does not hold.
    fn approval(&self, _ids: &CallIds, _id: EventId, _body: RecordBody) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "approvals are not recorded here"))
    }

    /// Records how a call ended. The recorder itself reports a failure: the call is over.
    fn ended(&self, ids: &CallIds, body: CallEnded);
}
