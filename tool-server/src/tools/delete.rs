//! `delete`: a file, a link or an empty directory.

use std::sync::Arc;

use protocol::{Annotations, Risk};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::{Call, Outcome, Slot, Tool};

use crate::change::{ChangeData, ChangeRequest, Changer};
use crate::roots::Missing;
use crate::tool_context::ToolContext;

/// Deletes a file, a link, or an empty directory. What is deleted is gone.
///
/// Use it only when the task asks for it. A file has to be read in this session first. A link is deleted
/// itself, not what it leads to. With `dry_run` nothing is deleted and the answer shows what would be lost.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteArguments {
    /// The file, link or empty directory, absolute or relative to the first root.
    path: String,
    /// Whether to delete nothing and only show what would be lost.
    #[serde(default)]
    dry_run: bool,
    /// The SHA-256 that the file must have now, in hex; goes before what the session has read.
    #[serde(default)]
    expected_sha256: Option<String>,
}

/// The tool.
pub(crate) struct Delete {
    changer: Arc<Changer>,
}

impl Delete {
    /// Takes what the tool needs from the context.
    pub(crate) fn new(context: &ToolContext) -> Self {
        Self { changer: Arc::clone(&context.changer) }
    }
}

impl Tool for Delete {
    type Arguments = DeleteArguments;
    type Data = ChangeData;
    const NAME: &'static str = "delete";
    const RISK: Risk = Risk::High;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::File;

    fn example() -> Value {
        json!({"path": "notes/hello.txt"})
    }

    fn run(&self, arguments: DeleteArguments, call: &Call) -> Outcome<ChangeData> {
        let request = ChangeRequest {
            path: &arguments.path,
            missing: Missing::Refuse,
            expected_sha256: arguments.expected_sha256.as_deref(),
            needs_lock: true,
            dry_run: arguments.dry_run,
        };
        Ok(self.changer.delete(call, &request)?)
    }
}
