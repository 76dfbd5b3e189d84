//! Reverts the file changes of tasks, through the tool server, which alone has the files.
//!
//! Several changes are undone newest first. Before the first one, the newest change of each file is tried
//! without making it, so that usually all are undone or none. A file that changes in between stops the rest;
//! what was undone until then stays undone, and the answer lists it.

use std::collections::BTreeSet;
use std::time::Duration;

use protocol::{Envelope, ToolError};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::changes::ChangedFile;
use texts::{Language, Text};

use crate::journal::Journal;
use crate::tool_client::ToolClient;
use crate::tool_files::{Caller, in_words};

/// A tool server that restarts is waited for; its socket keeps the request.
const PATIENCE: Duration = Duration::from_secs(60);

/// The tool server's route for undoing, as one who may undo the changes of all.
#[derive(Debug, Clone)]
pub(crate) struct Undoer {
    pub client: ToolClient,
    /// Has to be read to its end before it is decided what can be undone.
    pub journal: Journal,
}

/// What became of the changes.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Undone {
    /// Newest change first.
    pub undone: Vec<UndoneFile>,
    /// Why not all were undone; with none undone, nothing was changed.
    pub refused: Vec<RefusedFile>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct UndoneFile {
    pub path: String,
    /// The call whose change was undone.
    pub call_id: String,
    /// The call that undid it; undoing that makes the change again.
    pub undo_call_id: String,
    /// `create`: it is back; `update`: it has its former content; `delete`: it was removed.
    pub operation: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct RefusedFile {
    pub path: String,
    pub call_id: String,
    pub code: String,
    pub message: String,
}

/// The tool server gave no answer.
#[derive(Debug, thiserror::Error)]
#[error("the tool server gave no answer: {0}")]
pub struct NoAnswer(String);

impl Undoer {
    /// Undoes changes, which come newest first.
    ///
    /// # Errors
    /// Without an answer it is not known whether the change that was being undone is undone; asking again
    /// finds out.
    pub(crate) async fn undo(&self, changes: &[ChangedFile]) -> Result<Undone, NoAnswer> {
        let mut done = Undone::default();
        let mut tried = BTreeSet::new();
        if changes.len() > 1 {
            for change in changes.iter().filter(|change| tried.insert(change.path.as_str())) {
                if let Err(error) = self.send(change, true).await? {
                    done.refused.push(RefusedFile::new(change, &error));
                }
            }
        }
        if !done.refused.is_empty() {
            return Ok(done);
        }
        for change in changes {
            match self.send(change, false).await? {
                Ok(envelope) => done.undone.push(UndoneFile::new(change, &envelope)),
                Err(error) => {
                    done.refused.push(RefusedFile::new(change, &error));
                    return Ok(done);
                }
            }
        }
        Ok(done)
    }

    /// The diff that undoing a change would make; none if it cannot be undone.
    pub(crate) async fn preview(&self, change: &ChangedFile) -> Option<String> {
        let envelope = self.send(change, true).await.ok()?.ok()?;
        Some(envelope.stdout)
    }

    async fn send(
        &self,
        change: &ChangedFile,
        dry_run: bool,
    ) -> Result<Result<Envelope, ToolError>, NoAnswer> {
        let request = self.client.request(Method::POST, &format!("/changes/{}/undo", change.call_id));
        let request = request.header("X-Session-Id", change.session_id.as_str());
        let caller = Caller { task: change.task_id.as_ref(), parent: None };
        let no_answer = |error| NoAnswer(in_words(error));
        let body = json!({"dry_run": dry_run, "accept_undone": change.holds});
        let request = caller.sign(request).json(&body).timeout(PATIENCE);
        let envelope: Envelope = request.send().await.map_err(no_answer)?.json().await.map_err(no_answer)?;
        Ok(envelope.meta.error.clone().map_or(Ok(envelope), Err))
    }
}

impl UndoneFile {
    fn new(change: &ChangedFile, envelope: &Envelope) -> Self {
        Self {
            path: change.path.clone(),
            call_id: change.call_id.to_string(),
            undo_call_id: envelope.meta.call_id.to_string(),
            operation: envelope.meta.data["operation"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

impl RefusedFile {
    fn new(change: &ChangedFile, error: &ToolError) -> Self {
        Self {
            path: change.path.clone(),
            call_id: change.call_id.to_string(),
            code: error.code.as_str().to_owned(),
            message: error.message.clone(),
        }
    }
}

impl Undone {
    /// What was done, for people: a line for each file.
    pub fn in_words(&self, language: Language) -> String {
        let mut lines = Vec::new();
        for UndoneFile { path, operation, .. } in &self.undone {
            let line = match operation.as_str() {
                "create" => Text::UndoneBack { path },
                "delete" => Text::UndoneRemoved { path },
                _ => Text::UndoneAsBefore { path },
            };
            lines.push(line.to(language));
        }
        if !self.refused.is_empty() {
            let rest = if self.undone.is_empty() { Text::UndoneNothing } else { Text::UndoneInPart };
            lines.push(rest.to(language));
        }
        lines.extend(self.refused.iter().map(|refused| format!("{}: {}", refused.path, refused.message)));
        lines.join("\n")
    }
}
