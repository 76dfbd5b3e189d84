//! `supervisor undo`: through the running supervisor, whose tool server has the files.

use clap::Args;
use store::queries::short_id::resolve;
use store::queries::{self, QueryError};
use texts::Language;

use super::control_client::post;
use super::error::CommandError;
use super::queue::CommandOutput;
use supervisor::control::undo::UndoRequest;
use supervisor::data_dir::DataDir;
use supervisor::undo::Undone;

#[derive(Debug, Args)]
pub(crate) struct UndoArguments {
    /// A call that changed a file, or a task whose changes are all undone; by the beginning or end of a
    /// task's ID, or the end of a call's.
    #[arg(value_name = "CALL|TASK")]
    pub id: String,
    /// Print JSON: {"undone": […], "refused": […]}.
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(data: &DataDir, arguments: &UndoArguments) -> Result<CommandOutput, CommandError> {
    let connection = queries::open(data.database())?;
    let id = match resolve(&connection, &arguments.id) {
        Err(QueryError::NoTask(_)) => arguments.id.clone(),
        resolved => resolved?,
    };
    drop(connection);
    let done: Undone = post(data, "/undo", &UndoRequest::Id(id)).await?;
    let text = if arguments.json { super::pretty(&serde_json::json!(done)) } else { in_words(&done) };
    Ok(CommandOutput { text, succeeded: done.refused.is_empty() })
}

fn in_words(done: &Undone) -> String {
    let mut text = done.in_words(Language::English);
    if let [one] = done.undone.as_slice() {
        text.push_str(&format!("\nTo make the change again: supervisor undo {}", one.undo_call_id));
    }
    text
}
