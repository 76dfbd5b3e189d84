//! `undo`: what `POST /changes/{call_id}/undo` does.

use files::change::{UndoData, UndoRequest};
use protocol::{Annotations, EventId, Risk};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolkit::policy::Touches;
use toolkit::{Call, Outcome, Scope, Slot, Tool, names_no_files};

use super::no_attachment;
use crate::tool_context::ToolContext;

/// Undoes the change of a file that a call has made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UndoArguments {
    /// The call whose change is undone.
    call_id: EventId,
    /// Whether to change nothing and only say what would be.
    #[serde(default)]
    dry_run: bool,
    /// Whether it is a success, too, that all is as it was before the call: an undo that was cut off may have
    /// been made without a record of its end.
    #[serde(default)]
    accept_undone: bool,
}

/// Whose changes the caller of the route may undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UndoRight {
    /// Those of the same token and session.
    Own,
    /// All: the caller has the approver's token.
    Everybodys,
}

pub(crate) struct Undo(pub(crate) ToolContext);

impl Tool for Undo {
    type Arguments = UndoArguments;
    type Data = UndoData;
    const NAME: &'static str = "undo";
    const RISK: Risk = Risk::High;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::File;
    const BOUND_BY_SKILL: bool = false;

    fn example(&self) -> Value {
        json!({"call_id": "01997a2e-5f6b-7c3d-8e9f-0123456789ab"})
    }

    /// The file that was changed, as the session has it that changed it.
    fn touches(&self, arguments: &Value, _: &Scope) -> Touches {
        let call = arguments["call_id"].as_str().and_then(|id| id.parse::<EventId>().ok());
        let changed = call.and_then(|call| self.0.changer.changed_by(&call));
        let paths = changed.map(|(path, session)| self.0.paths_touched(&path, &session.into()));
        Touches { paths: paths.unwrap_or_default(), ..Touches::nothing() }
    }

    names_no_files!();

    fn run(&self, arguments: UndoArguments, call: &Call) -> Outcome<UndoData> {
        let right = call.attachment::<UndoRight>().ok_or_else(no_attachment)?;
        let request = UndoRequest {
            call_id: &arguments.call_id,
            of_anybody: *right == UndoRight::Everybodys,
            dry_run: arguments.dry_run,
            accept_undone: arguments.accept_undone,
        };
        Ok(self.0.changer.undo(call, &request)?)
    }
}
