//! `supervisor resend`: through the running supervisor, or directly if none is running.

use clap::Args;
use serde_json::json;
use store::queries;
use store::queries::short_id::resolve;
use store::resend::{self, Resent, Which};

use super::BY;
use super::control_client::post;
use super::database_access::{DatabaseAccess, database_access};
use super::error::CommandError;
use super::queue::CommandOutput;
use supervisor::data_dir::DataDir;

/// A number of more digits is part of a task's ID.
const MAX_OUTBOX_DIGITS: usize = 7;

#[derive(Debug, Args)]
pub(crate) struct ResendArguments {
    /// All undelivered messages of these tasks, by the beginning or end of their IDs, or single messages by
    /// their `outbox_id`.
    #[arg(value_name = "ID", required_unless_present = "all_dead")]
    pub ids: Vec<String>,
    /// All undelivered messages.
    #[arg(long, conflicts_with = "ids")]
    pub all_dead: bool,
    /// Print JSON: {"outbox_ids": […], "nothing_to_send": […]}.
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(data: &DataDir, arguments: &ResendArguments) -> Result<CommandOutput, CommandError> {
    let wanted = wanted(data, arguments)?;
    let access = database_access(data).await?;
    let (mut queued, mut nothing) = (Vec::new(), Vec::new());
    for (name, which) in wanted {
        let mut resent = send_again(data, &access, &which).await?;
        if resent.outbox_ids.is_empty() {
            nothing.push(name);
        }
        queued.append(&mut resent.outbox_ids);
        while resent.more {
            resent = send_again(data, &access, &which).await?;
            queued.append(&mut resent.outbox_ids);
        }
    }
    let text = if arguments.json {
        super::pretty(&json!({"outbox_ids": queued, "nothing_to_send": nothing}))
    } else {
        in_words(queued.len(), &nothing)
    };
    Ok(CommandOutput { text, succeeded: nothing.is_empty() || arguments.all_dead })
}

/// What was named, each with its name.
fn wanted(data: &DataDir, arguments: &ResendArguments) -> Result<Vec<(String, Which)>, CommandError> {
    if arguments.all_dead {
        return Ok(vec![("all".to_owned(), Which::AllDead(true))]);
    }
    let connection = queries::open(data.database())?;
    let which = |id: &String| {
        let number = id.parse().ok().filter(|_| id.len() <= MAX_OUTBOX_DIGITS);
        let which = match number {
            Some(number) => Which::OutboxId(number),
            None => {
                let task = resolve(&connection, id)?;
                let unreadable = |_| CommandError::Refused(format!("{id}: not the ID of a task"));
                Which::TaskId(task.parse().map_err(unreadable)?)
            }
        };
        Ok((id.clone(), which))
    };
    arguments.ids.iter().map(which).collect()
}

async fn send_again(data: &DataDir, access: &DatabaseAccess, which: &Which) -> Result<Resent, CommandError> {
    match access {
        DatabaseAccess::ViaSupervisor => post(data, "/outbox/resend", which).await,
        DatabaseAccess::Exclusive(exclusive) => {
            let (which, run) = (which.clone(), exclusive.run.clone());
            Ok(exclusive.store.write(move |tx| resend::resend(tx, &which, BY, &run)).await?)
        }
    }
}

fn in_words(queued: usize, nothing: &[String]) -> String {
    let queued = match queued {
        0 => "No undelivered messages.".to_owned(),
        1 => "1 message is queued again.".to_owned(),
        many => format!("{many} messages are queued again."),
    };
    match nothing {
        [] => queued,
        [name] if name == "all" => queued,
        names => format!("{queued}\nNothing undelivered: {}", names.join(", ")),
    }
}
