//! The claim of an idempotency key by the call that was sent with it, and the answers of earlier calls.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use std::{fs, io};

use protocol::{Envelope, ErrorCode, ToolError};
use serde::{Deserialize, Serialize};

use super::store::Store;
use crate::locked;
use crate::runner::stop::Stop;

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
        if !self.acts {
            locked(&self.keys.running).remove(&self.name);
        }
    }
}

/// The keys of one server, one file each.
pub(super) struct Keys {
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
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        Ok(Self { store: Store::open(directory)?, running: Mutex::default() })
    }

    pub(super) fn sweep(&self, now: SystemTime) -> io::Result<()> {
        self.store.sweep(now).map(drop)
    }

    pub(super) fn claim(self: Arc<Self>, name: String, body_sha256: String) -> Result<Claim, Stop> {
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

pub(super) fn storage_failed(verb: &str, error: &io::Error) -> ToolError {
    tracing::error!(%error, "an idempotency key could not be {verb}");
    ToolError::new(
        ErrorCode::IoError,
        format!("The Idempotency-Key could not be {verb}, so the call was not run."),
    )
}
