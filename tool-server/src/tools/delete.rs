//! `delete`: a file, a link or an empty directory.

use files::change::{ChangeData, ChangeRequest, ExpectedSha256};
use files::roots::Missing;
use protocol::{Annotations, Risk};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::{Call, Outcome, PathText, Slot, Tool};

use crate::tool_context::{ToolContext, touches_its_path};

/// Deletes a file that you have read, a link or an empty directory.
///
/// # Details
///
/// Of a link, the link itself is deleted. A file hidden by its name, such as `.env` or `.aws`, is deleted
/// unread, a directory with all that is in it, and cannot be brought back. With `dry_run` nothing is deleted
/// and the answer shows what would be lost. `expected_sha256` takes precedence over what the session has
/// read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeleteArguments {
    /// The file, link or empty directory, absolute or relative to the first root.
    path: PathText,
    /// Whether to delete nothing and only show what would be lost.
    #[serde(default)]
    dry_run: bool,
    /// The SHA-256 that the file must have now, in hex; goes before what the session has read.
    #[serde(default)]
    expected_sha256: Option<ExpectedSha256>,
}

pub(crate) struct Delete(pub(super) ToolContext);

impl Tool for Delete {
    type Arguments = DeleteArguments;
    type Data = ChangeData;
    const NAME: &'static str = "delete";
    const RISK: Risk = Risk::High;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::File;

    fn example(&self) -> Value {
        json!({"path": "notes/hello.txt"})
    }

    touches_its_path!();

    fn run(&self, arguments: DeleteArguments, call: &Call) -> Outcome<ChangeData> {
        let request = ChangeRequest {
            path: &arguments.path,
            missing: Missing::Refuse,
            expected_sha256: arguments.expected_sha256.as_deref(),
            needs_lock: true,
            dry_run: arguments.dry_run,
        };
        Ok(self.0.changer.delete(call, &request)?)
    }
}
