//! `write`: writes a whole file, or appends to one.

use files::change::edits::LineEndings;
use files::change::{
    ChangeData, ChangeRequest, CurrentFile, ExpectedSha256, NewContent, Operation, PlannedChange,
    refuse_placeholder,
};
use files::roots::Missing;
use protocol::{Annotations, ErrorCode, Risk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::{Call, Outcome, PathText, Slot, Tool};

use crate::tool_context::{ToolContext, touches_its_path};

/// A byte order mark in UTF-8.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// The end of a sentence for a caller who has not read what it would overwrite.
const APPEND: &str = "repeat it with {\"mode\":\"append\"}, which needs no reading.";

/// Writes a whole file, or appends to one; makes missing directories.
///
/// To change a part use `edit`. Read an existing file before you overwrite it; appending needs no reading.
///
/// # Details
///
/// What was read in this session protects others' changes: a file that has changed since is not overwritten.
/// Line endings and byte order mark of an existing file are kept. With `dry_run` nothing is changed and the
/// answer shows what would be. `expected_sha256` takes precedence over what the session has read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteArguments {
    /// The file, absolute or relative to the first root.
    path: PathText,
    /// The whole new content, or the text to append.
    content: String,
    /// Default overwrite.
    #[serde(default)]
    mode: Mode,
    /// Whether to change nothing and only show the diff.
    #[serde(default)]
    dry_run: bool,
    /// The SHA-256 that the file must have now, in hex; goes before what the session has read.
    #[serde(default)]
    expected_sha256: Option<ExpectedSha256>,
}

/// What happens to the old content.
// Its default is in the schema because it can be serialized.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// The new content replaces it.
    #[default]
    Overwrite,
    /// The new content follows it.
    Append,
}

pub(crate) struct Write(pub(super) ToolContext);

impl Tool for Write {
    type Arguments = WriteArguments;
    type Data = ChangeData;
    const NAME: &'static str = "write";
    const RISK: Risk = Risk::High;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::File;
    const ESSENTIAL: &'static [&'static str] = &["mode"];

    fn example(&self) -> Value {
        json!({"path": "notes/hello.txt", "content": "hello\nworld\n"})
    }

    touches_its_path!();

    fn run(&self, arguments: WriteArguments, call: &Call) -> Outcome<ChangeData> {
        refuse_placeholder("content", &arguments.content)?;
        let request = ChangeRequest {
            path: &arguments.path,
            missing: Missing::MakeParents,
            expected_sha256: arguments.expected_sha256.as_deref(),
            needs_lock: arguments.mode == Mode::Overwrite,
            dry_run: arguments.dry_run,
        };
        let changed = self.0.changer.change(call, &request, |current| Ok(arguments.plan(current)));
        Ok(changed.map_err(|error| match error.code {
            ErrorCode::NotRead => {
                let hint = format!("{} To add to the end of the file, {APPEND}", error.hint);
                error.with_hint(hint)
            }
            _ => error,
        })?)
    }
}

impl WriteArguments {
    fn plan(&self, current: Option<&CurrentFile>) -> PlannedChange {
        let old = current.and_then(|current| current.content.as_deref()).unwrap_or_default();
        let line_endings = LineEndings::of(old);
        let mut content = line_endings.adapt(&self.content);
        let mut notices = Vec::new();
        if line_endings.adapts(&self.content) {
            notices.push("The file uses CRLF line endings; the content was converted to them.".to_owned());
        }
        if self.mode == Mode::Overwrite && old.starts_with(BOM) && !content.starts_with(BOM) {
            content.splice(..0, BOM.iter().copied());
            notices.push("The file's byte order mark was kept.".to_owned());
        }
        if self.mode == Mode::Overwrite && current.is_some_and(|current| current.is(&content)) {
            notices.push("The file already has this content; it was not rewritten.".to_owned());
        }
        let (operation, content) = match (current, self.mode) {
            (None, _) => (Operation::Create, NewContent::Replace(content)),
            (Some(_), Mode::Overwrite) => (Operation::Update, NewContent::Replace(content)),
            (Some(_), Mode::Append) => (Operation::Append, NewContent::Append(content)),
        };
        PlannedChange { content, operation, replacements: None, notices }
    }
}
