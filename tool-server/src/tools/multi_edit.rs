//! `multi_edit`: several replacements in one file, all of them or none.

use files::change::edits::{Edit, replace};
use files::change::{
    ChangeData, ChangeRequest, Changer, ExpectedSha256, NewContent, Operation, PlannedChange,
    refuse_placeholder,
};
use files::roots::Missing;
use protocol::{Annotations, ErrorCode, Risk, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::{Call, Outcome, PathText, Slot, Success, Tool};

use crate::tool_context::{ToolContext, touches_its_path};

/// Several edits in one file that you have read, all or none.
///
/// Each `find` matches the file as it is now; edits must not overlap.
///
/// # Details
///
/// Every `find` is literal text, matched against the file as it is and not as earlier edits of the call would
/// leave it. The answer is one diff. With `dry_run` nothing is changed. `expected_sha256` takes
/// precedence over what the session has read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MultiEditArguments {
    /// The file, absolute or relative to the first root.
    path: PathText,
    /// As `edit` makes them.
    #[schemars(length(min = 1, max = 1000))]
    edits: Vec<OneEdit>,
    /// Whether to change nothing and only show the diff.
    #[serde(default)]
    dry_run: bool,
    /// The SHA-256 that the file must have now, in hex; goes before what the session has read.
    #[serde(default)]
    expected_sha256: Option<ExpectedSha256>,
}

/// One replacement.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OneEdit {
    /// The text to replace, literally.
    #[schemars(length(min = 1))]
    find: String,
    /// The text to put in its place.
    replace: String,
    /// Whether to replace every match instead of exactly one.
    #[serde(default)]
    all: bool,
}

pub(crate) struct MultiEdit(pub(super) ToolContext);

impl Tool for MultiEdit {
    type Arguments = MultiEditArguments;
    type Data = ChangeData;
    const NAME: &'static str = "multi_edit";
    const RISK: Risk = Risk::High;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::File;

    fn example(&self) -> Value {
        json!({"path": "notes/hello.txt", "edits": [{"find": "world", "replace": "wide world"}]})
    }

    touches_its_path!();

    fn run(&self, arguments: MultiEditArguments, call: &Call) -> Outcome<ChangeData> {
        for (index, edit) in arguments.edits.iter().enumerate() {
            refuse_placeholder(&format!("edits[{index}].replace"), &edit.replace)?;
        }
        let edits: Vec<Edit<'_>> = arguments
            .edits
            .iter()
            .map(|edit| Edit { find: &edit.find, replace: &edit.replace, all: edit.all })
            .collect();
        let expected = arguments.expected_sha256.as_deref();
        let name = |index| format!("edits[{index}]: ");
        Ok(make_edits(&self.0.changer, call, &arguments.path, expected, arguments.dry_run, &edits, name)?)
    }
}

/// Makes edits in a file; `name` is the prefix of errors about the edit with an index.
pub(super) fn make_edits(
    changer: &Changer,
    call: &Call,
    path: &str,
    expected_sha256: Option<&str>,
    dry_run: bool,
    edits: &[Edit<'_>],
    name: impl Fn(usize) -> String,
) -> Result<Success<ChangeData>, ToolError> {
    let request =
        ChangeRequest { path, missing: Missing::Refuse, expected_sha256, needs_lock: true, dry_run };
    changer.change(call, &request, |current| {
        let content = current.and_then(|current| current.content.as_deref()).ok_or_else(|| {
            ToolError::new(ErrorCode::FileTooLarge, "The file is larger than AUTONOUS_TOOL_MAX_EDIT_BYTES.")
        })?;
        let replaced = replace(content, edits, name)?;
        Ok(PlannedChange {
            content: NewContent::Replace(replaced.content),
            operation: Operation::Update,
            replacements: Some(replaced.replacements),
            notices: replaced.notices,
        })
    })
}
