//! `files_change`: what `POST /files` does. Several files get a new content, all or none.

use protocol::{Annotations, Risk, SessionId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::policy::Touches;
use toolkit::{Call, Outcome, Slot, Tool};

use crate::change::{NewFile, SeveralData};
use crate::tool_context::ToolContext;

/// Gives several files a new content, all or none.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeFilesArguments {
    /// The files, in the order in which they are changed.
    #[schemars(length(min = 1, max = 8))]
    files: Vec<NewFile>,
}

pub(crate) struct ChangeFiles(pub(crate) ToolContext);

impl Tool for ChangeFiles {
    type Arguments = ChangeFilesArguments;
    type Data = SeveralData;
    const NAME: &'static str = "files_change";
    const RISK: Risk = Risk::High;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::Transfer;
    /// The tool on whose behalf it is done is.
    const BOUND_BY_SKILL: bool = false;

    fn example(&self) -> Value {
        json!({"files": [{"path": "notes/hello.txt", "content": "hello\n"}]})
    }

    fn touches(&self, arguments: &Value, session: &SessionId) -> Touches {
        let files = arguments["files"].as_array().into_iter().flatten();
        let paths = files.filter_map(|file| file["path"].as_str());
        let paths = paths.flat_map(|path| self.0.paths_touched(path, session)).collect();
        Touches { paths, ..Touches::default() }
    }

    fn run(&self, arguments: ChangeFilesArguments, call: &Call) -> Outcome<SeveralData> {
        self.0.raw_files.require()?;
        Ok(self.0.changer.change_several(call, &arguments.files)?)
    }
}
