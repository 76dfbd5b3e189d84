//! `write`: a whole file, or more at the end of one.

use protocol::{Annotations, Risk};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use toolkit::{Call, Outcome, Slot, Tool};

use crate::change::edits::LineEndings;
use crate::change::{
    ChangeData, ChangeRequest, Changer, CurrentFile, NewContent, Operation, PlannedChange, refuse_placeholder,
};
use crate::roots::Missing;
use crate::tool_context::ToolContext;

/// A byte order mark in UTF-8.
const BOM: &[u8] = "\u{feff}".as_bytes();

/// Writes a whole file, or appends to one. Missing directories are made.
///
/// Use it for new files and for files that you rewrite from beginning to end; to change a part of a file
/// use `edit`. A file that exists has to be read in this session before it is overwritten, so that nobody's
/// change is lost; appending needs no reading. Line ends and byte order mark of an existing file are kept.
/// With `dry_run` nothing is changed and the answer shows what would be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteArguments {
    /// The file, absolute or relative to the first root.
    path: String,
    /// All of the new content, or what is appended.
    content: String,
    /// Whether the content takes the place of the old one or is added at its end.
    #[serde(default)]
    mode: Mode,
    /// Whether to change nothing and only show the difference.
    #[serde(default)]
    dry_run: bool,
    /// The SHA-256 that the file must have now, in hex; goes before what the session has read.
    #[serde(default)]
    expected_sha256: Option<String>,
}

/// What becomes of the old content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// The new content takes its place.
    #[default]
    Overwrite,
    /// The new content follows it.
    Append,
}

/// The tool.
pub(crate) struct Write {
    changer: Arc<Changer>,
}

impl Write {
    /// Takes what the tool needs from the context.
    pub(crate) fn new(context: &ToolContext) -> Self {
        Self { changer: Arc::clone(&context.changer) }
    }
}

impl Tool for Write {
    type Arguments = WriteArguments;
    type Data = ChangeData;
    const NAME: &'static str = "write";
    const RISK: Risk = Risk::High;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::File;

    fn example() -> Value {
        json!({"path": "notes/hello.txt", "content": "hello\n"})
    }

    fn run(&self, arguments: WriteArguments, call: &Call) -> Outcome<ChangeData> {
        refuse_placeholder("content", &arguments.content)?;
        let request = ChangeRequest {
            path: &arguments.path,
            missing: Missing::MakeParents,
            expected_sha256: arguments.expected_sha256.as_deref(),
            needs_lock: arguments.mode == Mode::Overwrite,
            dry_run: arguments.dry_run,
        };
        Ok(self.changer.change(call, &request, |current| Ok(arguments.plan(current)))?)
    }
}

impl WriteArguments {
    fn plan(&self, current: Option<&CurrentFile>) -> PlannedChange {
        let old = current.and_then(|current| current.content.as_deref()).unwrap_or_default();
        let line_endings = LineEndings::of(old);
        let mut content = line_endings.adapt(&self.content);
        let mut notices = Vec::new();
        if line_endings.adapts(&self.content) {
            notices.push(
                "The file's lines end with CRLF; the content was written with the same line ends.".to_owned(),
            );
        }
        if self.mode == Mode::Overwrite && old.starts_with(BOM) && !content.starts_with(BOM) {
            content.splice(..0, BOM.iter().copied());
            notices.push("The file's byte order mark was kept.".to_owned());
        }
        if self.mode == Mode::Overwrite && current.is_some_and(|current| current.is(&content)) {
            notices.push("The file has exactly this content already; it was not written again.".to_owned());
        }
        let (operation, content) = match (current, self.mode) {
            (None, _) => (Operation::Create, NewContent::Replace(content)),
            (Some(_), Mode::Overwrite) => (Operation::Update, NewContent::Replace(content)),
            (Some(_), Mode::Append) => (Operation::Append, NewContent::Append(content)),
        };
        PlannedChange { content, operation, replacements: None, notices }
    }
}
