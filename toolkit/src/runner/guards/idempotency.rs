//! Idempotency keys: a call with a key acts once, whatever happens between its start and its answer.
//!
//! A key belongs to the token, the session and the tool that it was sent with. It is claimed on disk just
//! before the tool acts, when no other guard can stop the call any more, and the answer is kept in the
//! claim's file for a day. A claim without an answer that no running call holds was left by a server that was
//! killed: what that call did is unknown, so it is never run again.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use protocol::hash::sha256;
use protocol::{ErrorCode, ToolError};

use super::claim::{Keys, storage_failed};
use super::{Check, Guard};
use crate::runner::call::PendingCall;

/// The guard. Keys of read-only tools are ignored; that of a question is kept with it, and its call only
/// reads the answer.
pub(super) struct Idempotency(Option<Arc<Keys>>);

impl Idempotency {
    /// The keys in a directory, which is made when it is missing; without one, no call may have a key.
    pub(super) fn open(directory: Option<&Path>) -> io::Result<Self> {
        Ok(Self(directory.map(Keys::open).transpose()?.map(Arc::new)))
    }
}

impl Guard for Idempotency {
    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        let acts = call.tool.as_ref().is_ok_and(|tool| !tool.spec().annotations.read_only);
        if !acts || call.asks_question() {
            return Ok(()).into();
        }
        let Some(key) = call.idempotency_key.take() else { return Ok(()).into() };
        let Some(keys) = self.0.clone() else {
            let message = "No answers are kept here, so a call with an Idempotency-Key is not run.";
            return Err(ToolError::new(ErrorCode::InvalidArgument, message)).into();
        };
        let (name, body_sha256) = (name_of(call, &key), call.info.arguments_sha256.clone());
        Check::Wait(Box::pin(async move {
            let claimed = tokio::task::spawn_blocking(move || keys.claim(name, body_sha256)).await;
            call.claim = Some(claimed.map_err(|error| storage_failed("read", &error.into()))??);
            Ok(())
        }))
    }

    fn sweep(&self, now: SystemTime) -> io::Result<()> {
        self.0.as_ref().map_or(Ok(()), |keys| keys.sweep(now))
    }
}

/// The file of a key: of one token, session and tool. None of the parts has a NUL byte.
fn name_of(call: &PendingCall, key: &str) -> String {
    let token = call.token_sha256.as_deref().unwrap_or_default();
    sha256([token, call.info.ids.session.as_str(), &call.info.tool, key].join("\0").as_bytes())
}
