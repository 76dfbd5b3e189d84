//! The start, the end and the repetition of a tool call, as the journal and the events have them.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{ErrorClass, EventId, Risk};

/// A call that is about to act.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallStarted {
    pub tool_name: String,
    /// The name of the caller's token; absent for the server's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub token: Option<String>,
    /// The arguments, redacted; shortened above [`ARGUMENTS_BYTES`](crate::journal::ARGUMENTS_BYTES).
    pub arguments: Map<String, Value>,
    /// The SHA-256 of the request's body, byte for byte as it was sent; absent in records before version 0.2.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arguments_sha256: Option<String>,
    /// The file in the journal's `arguments/` with all of them, redacted, where they are shortened here. Its
    /// name is the SHA-256 of its content.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arguments_file: Option<String>,
    pub risk: Risk,
    /// The caller's `X-Request-Id`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request_id: Option<String>,
    /// The caller's W3C `traceparent`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub traceparent: Option<String>,
}

/// A call that was not run, because its idempotency key was used before: it got the first answer again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReplayed {
    pub tool_name: String,
    /// The name of the caller's token; absent for the server's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub token: Option<String>,
    /// The call that was run under the key.
    pub replayed_call_id: EventId,
    /// The SHA-256 of the request's body, byte for byte as it was sent.
    pub arguments_sha256: String,
    /// The caller's `X-Request-Id`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub request_id: Option<String>,
    /// The caller's W3C `traceparent`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub traceparent: Option<String>,
}

/// A call that ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallEnded {
    pub tool_name: String,
    /// The name of the caller's token; absent for the server's own.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub token: Option<String>,
    pub exit_code: i32,
    /// Why it failed; absent when it did not.
    #[serde(flatten, skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<CallFailure>,
    /// The first bytes of the result, at most [`OUTPUT_TEXT_BYTES`](crate::journal::OUTPUT_TEXT_BYTES).
    pub output_text: String,
    /// The file in the output directory with all that the call printed, where this record has less of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub output_file: Option<String>,
    pub latency_ms: u64,
    pub truncated_lines: bool,
    pub truncated_bytes: bool,
    /// The absolute path that the path argument led to, with links resolved.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_resolved: Option<String>,
    /// What the call changed at that path; absent when it changed nothing there.
    #[serde(flatten, skip_serializing_if = "Option::is_none", default)]
    pub change: Option<CallChange>,
    #[serde(skip_serializing_if = "Vec::is_empty", default, deserialize_with = "control_files")]
    pub created_control_files: Vec<CreatedControlFile>,
    /// The hosts that the call's command asked for and may not reach.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub network_refused: Vec<String>,
    /// The tools that the task may call from now on; absent if the call did not restrict it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub allowed_tools: Option<Vec<String>>,
}

/// Whether a background process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    /// It runs.
    Running,
    /// It ended by itself.
    Exited,
    /// Something ended it.
    Killed,
    /// It was ended because its time was over.
    TimedOut,
}

/// A background process that ended, under the call that started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundProcessEnded {
    pub process_id: String,
    /// The tool that started it.
    pub tool_name: String,
    pub state: ProcessState,
    /// 128 and the number of the signal, if one ended it.
    pub exit_code: i32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub signal: Option<i32>,
    /// Why it was ended, if it did not end by itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
    pub duration_ms: u64,
    /// How much it wrote.
    pub output_bytes: u64,
    /// The file with its output, as far as that may be as large.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub output_path: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub created_control_files: Vec<CreatedControlFile>,
    /// The hosts that it asked for and may not reach.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub network_refused: Vec<String>,
}

/// Something that a command left for other programs to execute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedControlFile {
    /// The absolute path where it was.
    pub path: String,
    /// What makes other programs execute it.
    pub why: String,
    /// Whether it was moved to the quarantine in the output directory. It stays if the call was allowed to
    /// leave it, or if it could not be moved.
    pub taken_back: bool,
}

/// Older records have only the path.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredControlFile {
    Path(String),
    Whole(CreatedControlFile),
}

fn control_files<'de, D: Deserializer<'de>>(stored: D) -> Result<Vec<CreatedControlFile>, D::Error> {
    let stored: Vec<StoredControlFile> = Vec::deserialize(stored)?;
    let whole = |stored| match stored {
        StoredControlFile::Path(path) => CreatedControlFile { path, why: String::new(), taken_back: false },
        StoredControlFile::Whole(whole) => whole,
    };
    Ok(stored.into_iter().map(whole).collect())
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallChange {
    /// `create`, `update`, `append` or `delete`.
    pub operation: String,
    /// The SHA-256 before, in hex; absent when there was no file, or one too large to hash.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sha256_before: Option<String>,
    /// The SHA-256 after, in hex; absent when there is no file any more, or one too large to hash.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sha256_after: Option<String>,
    /// Whether what was there is kept for undoing it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub can_be_undone: bool,
    /// Of an undo, the call whose change it took back.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub undone_call_id: Option<EventId>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallFailure {
    pub error: String,
    pub error_class: ErrorClass,
    pub error_code: String,
    /// Whether a secret was replaced in this record.
    pub redacted: bool,
    /// The approval of a call that was not run because a person had to decide, or refused it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub approval_id: Option<EventId>,
}
