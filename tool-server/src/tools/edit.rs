//! `edit`: replaces one piece of text in a file.

use files::change::edits::Edit;
use files::change::{ChangeData, ExpectedSha256, refuse_placeholder};
use protocol::{Annotations, Risk};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::{Call, Outcome, PathText, Slot, Tool};

use super::multi_edit::make_edits;
use crate::tool_context::{ToolContext, touches_its_path};

/// Replaces text in a file that you have read. `find` is literal and must match exactly once.
///
/// It may span lines. Copy it from `read` without the line numbers, or set `all`.
///
/// # Details
///
/// For several changes in one file use `multi_edit`. The answer is a diff. With `dry_run` nothing is changed.
/// `expected_sha256` takes precedence over what the session has read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditArguments {
    /// The file, absolute or relative to the first root.
    path: PathText,
    /// The text to replace.
    #[schemars(length(min = 1))]
    find: String,
    /// The new text.
    replace: String,
    /// Every match.
    #[serde(default)]
    all: bool,
    /// Whether to change nothing and only show the diff.
    #[serde(default)]
    dry_run: bool,
    /// The SHA-256 that the file must have now, in hex; goes before what the session has read.
    #[serde(default)]
    expected_sha256: Option<ExpectedSha256>,
}

pub(crate) struct EditTool(pub(super) ToolContext);

impl Tool for EditTool {
    type Arguments = EditArguments;
    type Data = ChangeData;
    const NAME: &'static str = "edit";
    const RISK: Risk = Risk::High;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::File;
    const ESSENTIAL: &'static [&'static str] = &["all"];

    fn example(&self) -> Value {
        json!({"path": "notes/hello.txt", "find": "hello", "replace": "hello again"})
    }

    touches_its_path!();

    fn run(&self, arguments: EditArguments, call: &Call) -> Outcome<ChangeData> {
        refuse_placeholder("replace", &arguments.replace)?;
        let edits = [Edit { find: &arguments.find, replace: &arguments.replace, all: arguments.all }];
        let expected = arguments.expected_sha256.as_deref();
        let name = |_| String::new();
        Ok(make_edits(&self.0.changer, call, &arguments.path, expected, arguments.dry_run, &edits, name)?)
    }
}
