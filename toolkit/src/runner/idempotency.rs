//! Idempotency keys: a call with a key acts once, whatever happens between its start and its answer.
//!
//! A key is claimed on the disk before the tool acts, and the answer is kept beside the claim for a day.
//! A claim without an answer that no running call holds was left by a server that was killed: nobody knows
//! what that call did, so it is never run again.

use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use protocol::hash::sha256;
use protocol::{Envelope, ErrorCode, ToolError};
use serde::{Deserialize, Serialize};

/// How long an answer is kept.
const KEEP: Duration = Duration::from_secs(24 * 3600);

/// The keys of one server.
#[derive(Debug)]
pub(super) struct Keys {
    directory: PathBuf,
    running: Mutex<HashSet<String>>,
}

/// What became of a key.
pub(super) enum Claim {
    /// The call may act; its answer goes into this claim.
    Ours(Ours),
    /// The call was answered before.
    Answered(Box<Envelope>),
}

/// A claim that this call holds.
#[derive(Debug)]
pub(super) struct Ours {
    name: String,
    body_sha256: String,
}

/// The file of a key.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    body_sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Envelope>,
}

impl Keys {
    /// The keys in a directory, which is made when it is missing; those of yesterday are removed.
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let keys = Self { directory: directory.to_owned(), running: Mutex::default() };
        keys.sweep(SystemTime::now())?;
        Ok(keys)
    }

    /// Removes what is older than a day.
    pub(super) fn sweep(&self, now: SystemTime) -> io::Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let age = now.duration_since(entry.metadata()?.modified()?).unwrap_or_default();
            if age > KEEP {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Claims a key for a call of a tool with a body.
    pub(super) fn claim(&self, tool: &str, key: &str, body: &[u8]) -> Result<Claim, ToolError> {
        let ours = Ours { name: sha256(format!("{tool}\0{key}").as_bytes()), body_sha256: sha256(body) };
        let mut running = self.running();
        match self.create(&ours) {
            Ok(()) => {
                running.insert(ours.name.clone());
                Ok(Claim::Ours(ours))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let is_running = running.contains(&ours.name);
                drop(running);
                self.read(&ours, is_running)
            }
            Err(error) => Err(storage_failed("claimed", &error)),
        }
    }

    /// Keeps the answer of a call that has acted.
    pub(super) fn keep(&self, ours: &Ours, answer: &Envelope) {
        let stored = Stored { body_sha256: ours.body_sha256.clone(), answer: Some(answer.clone()) };
        if let Err(error) = self.replace(ours, &stored) {
            tracing::error!(%error, "the answer to an idempotency key could not be kept");
        }
        self.running().remove(&ours.name);
    }

    /// Gives a key back because its call has not acted.
    pub(super) fn release(&self, ours: &Ours) {
        if let Err(error) = fs::remove_file(self.path(ours)) {
            tracing::error!(%error, "an idempotency key could not be given back");
        }
        self.running().remove(&ours.name);
    }

    fn create(&self, ours: &Ours) -> io::Result<()> {
        let stored = Stored { body_sha256: ours.body_sha256.clone(), answer: None };
        let mut file = private().create_new(true).open(self.path(ours))?;
        file.write_all(&serde_json::to_vec(&stored)?)?;
        file.sync_data()?;
        File::open(&self.directory)?.sync_all()
    }

    fn read(&self, ours: &Ours, is_running: bool) -> Result<Claim, ToolError> {
        let text = fs::read(self.path(ours)).map_err(|error| storage_failed("read", &error))?;
        // A claim that was torn by a power loss says nothing but that it was made.
        let stored: Option<Stored> = serde_json::from_slice(&text).ok();
        match stored {
            Some(stored) if stored.body_sha256 != ours.body_sha256 => Err(ToolError::new(
                ErrorCode::IdempotencyConflict,
                "The Idempotency-Key was used for a call with another body.",
            )),
            Some(Stored { answer: Some(answer), .. }) => Ok(Claim::Answered(Box::new(answer))),
            _ if is_running => Err(ToolError::new(
                ErrorCode::InProgress,
                "A call with this Idempotency-Key is still running.",
            )),
            _ => Err(ToolError::new(
                ErrorCode::Interrupted,
                "The call with this Idempotency-Key was cut off when the server ended; what it did is not known, \
                 and it is not run again.",
            )),
        }
    }

    fn replace(&self, ours: &Ours, stored: &Stored) -> io::Result<()> {
        let path = self.path(ours);
        let temporary = path.with_extension("new");
        private().create(true).truncate(true).open(&temporary)?.write_all(&serde_json::to_vec(stored)?)?;
        fs::rename(temporary, path)
    }

    fn path(&self, ours: &Ours) -> PathBuf {
        self.directory.join(&ours.name)
    }

    fn running(&self) -> MutexGuard<'_, HashSet<String>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

fn storage_failed(verb: &str, error: &io::Error) -> ToolError {
    tracing::error!(%error, "an idempotency key could not be {verb}");
    ToolError::new(
        ErrorCode::IoError,
        format!("The Idempotency-Key could not be {verb}, so the call was not run."),
    )
}
