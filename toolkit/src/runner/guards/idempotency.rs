//! Idempotency keys: a call with a key acts once, whatever happens between its start and its answer.
//!
//! A key belongs to the token, the session and the tool that it was sent with. It is claimed on disk just
//! before the tool acts, when no other guard can stop the call any more, and the answer is kept in the
//! claim's file for a day. A claim without an answer that no running call holds was left by a server that was
//! killed: what that call did is unknown, so it is never run again.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use std::{fs, io};

use protocol::hash::sha256;
use protocol::{Envelope, ErrorCode, ToolError};
use serde::{Deserialize, Serialize};

use super::store::Store;
use super::{Check, Guard, Stop};
use crate::locked;
use crate::runner::call::PendingCall;

/// The guard. Keys of read-only tools are ignored.
pub(super) struct Idempotency(Option<Arc<Keys>>);

impl Idempotency {
    /// The keys in a directory, which is made when it is missing; without one, no call may have a key.
    pub(super) fn open(directory: Option<&Path>) -> io::Result<Self> {
        let keys = |directory| {
            Ok::<_, io::Error>(Keys { store: Store::open(directory)?, running: Mutex::default() })
        };
        Ok(Self(directory.map(keys).transpose()?.map(Arc::new)))
    }
}

impl Guard for Idempotency {
    fn name(&self) -> &'static str {
        "idempotency"
    }

    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        let acts = call.tool.as_ref().is_ok_and(|tool| !tool.spec().annotations.read_only);
        let Some(key) = call.idempotency_key.take().filter(|_| acts) else { return Ok(()).into() };
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
        self.0.as_ref().map_or(Ok(()), |keys| keys.store.sweep(now).map(drop))
    }
}

/// A key that this call holds. It is released when the call does not reach its tool.
pub(in crate::runner) struct Claim {
    keys: Arc<Keys>,
    name: String,
    body_sha256: String,
    acts: bool,
}

impl Claim {
    /// Makes the claim durable. The call takes effect from now on, so its key is never released.
    pub(in crate::runner) fn begin(&mut self) -> Result<(), ToolError> {
        let stored = Stored { body_sha256: self.body_sha256.clone(), answer: None };
        self.keys.store.create(&self.name, &stored).map_err(|error| storage_failed("claimed", &error))?;
        self.acts = true;
        Ok(())
    }

    /// Keeps the answer of a call that has reached its tool.
    pub(in crate::runner) fn keep(self, answer: &Envelope) {
        if !self.acts {
            return;
        }
        let stored = Stored { body_sha256: self.body_sha256.clone(), answer: Some(answer.clone()) };
        if let Err(error) = self.keys.store.replace(&self.name, &stored) {
            tracing::error!(%error, "could not keep the answer to an idempotency key");
        }
        locked(&self.keys.running).remove(&self.name);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.acts {
            return;
        }
        locked(&self.keys.running).remove(&self.name);
    }
}

/// The keys of one server, one file each.
struct Keys {
    store: Store,
    /// The keys that calls hold, each with the SHA-256 of the call's body. No two calls hold one key.
    running: Mutex<HashMap<String, String>>,
}

/// The file of a key.
#[derive(Serialize, Deserialize)]
struct Stored {
    body_sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Envelope>,
}

impl Keys {
    fn claim(self: Arc<Self>, name: String, body_sha256: String) -> Result<Claim, Stop> {
        let mut running = locked(&self.running);
        let held_for = running.get(&name);
        match fs::read(self.store.path(&name)) {
            Ok(text) => return Err(used_before(&text, &body_sha256, held_for.is_some())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(storage_failed("read", &error).into()),
        }
        match held_for {
            Some(other) if *other != body_sha256 => Err(other_body().into()),
            Some(_) => Err(still_running().into()),
            None => {
                running.insert(name.clone(), body_sha256.clone());
                drop(running);
                Ok(Claim { keys: self, name, body_sha256, acts: false })
            }
        }
    }
}

/// How a call ends whose key was used before.
fn used_before(text: &[u8], body_sha256: &str, is_running: bool) -> Stop {
    // A claim that a power loss cut short only proves that there was one.
    match serde_json::from_slice::<Stored>(text).ok() {
        Some(stored) if stored.body_sha256 != body_sha256 => other_body().into(),
        Some(Stored { answer: Some(answer), .. }) => Stop::Replayed(Box::new(answer)),
        _ if is_running => still_running().into(),
        _ => {
            let message = "The server ended while the call with this Idempotency-Key was running. Its effect \
                           is unknown, and it is not run again.";
            ToolError::new(ErrorCode::Interrupted, message).into()
        }
    }
}

fn other_body() -> ToolError {
    let message = "This Idempotency-Key was already used for a call with a different body.";
    ToolError::new(ErrorCode::IdempotencyConflict, message)
}

fn still_running() -> ToolError {
    ToolError::new(ErrorCode::InProgress, "A call with this Idempotency-Key is still running.")
}

/// The file of a key: of one token, session and tool. None of the parts has a NUL byte.
fn name_of(call: &PendingCall, key: &str) -> String {
    let token = call.token_sha256.as_deref().unwrap_or_default();
    sha256([token, call.info.ids.session.as_str(), &call.info.tool, key].join("\0").as_bytes())
}

fn storage_failed(verb: &str, error: &io::Error) -> ToolError {
    tracing::error!(%error, "an idempotency key could not be {verb}");
    ToolError::new(
        ErrorCode::IoError,
        format!("The Idempotency-Key could not be {verb}, so the call was not run."),
    )
}
