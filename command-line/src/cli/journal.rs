//! `supervisor journal accept`: accepts a journal that was tampered with as it is.

use clap::{Args, Subcommand};
use progress_line::ProgressLine;
use protocol::event::JournalAccepted;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::control_client::post;
use super::database_access::{DatabaseAccess, ExclusiveStore, database_access};
use super::error::CommandError;
use supervisor::control::error::ControlError;
use supervisor::control::journal::AcceptRequest;
use supervisor::data_dir::DataDir;
use supervisor::journal::{follow, tampering};

#[derive(Debug, Subcommand)]
pub(crate) enum JournalCommand {
    /// Accept the journal as it is, after something in it was changed or is missing.
    ///
    /// Find out first what happened: `supervisor check` says what was found. From then on the journal is
    /// checked from its present end. Works whether or not the supervisor is running.
    Accept(AcceptArguments),
}

#[derive(Debug, Args)]
pub(crate) struct AcceptArguments {
    /// What happened to the journal; it is kept in the event `journal.accepted`.
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub reason: String,
    /// Print JSON: {"reason": …, "expected_hash": …, "accepted_hash": …}.
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(data: &DataDir, command: &JournalCommand) -> Result<String, CommandError> {
    let JournalCommand::Accept(arguments) = command;
    let accepted = match database_access(data).await? {
        DatabaseAccess::ViaSupervisor => {
            let request = AcceptRequest { reason: arguments.reason.clone() };
            post(data, "/journal/accept", &request).await?
        }
        DatabaseAccess::Exclusive(exclusive) => accept_directly(data, &exclusive, arguments).await?,
    };
    if arguments.json {
        return Ok(super::pretty(&json!(accepted)));
    }
    let JournalAccepted { expected_hash, accepted_hash, .. } = accepted;
    Ok(format!("Accepted. The journal is checked from {accepted_hash} on; expected was {expected_hash}."))
}

/// Reads the journal to its end, as a running supervisor does, and accepts what was found.
async fn accept_directly(
    data: &DataDir,
    exclusive: &ExclusiveStore,
    arguments: &AcceptArguments,
) -> Result<JournalAccepted, CommandError> {
    let progress = ProgressLine::new();
    progress.step("Reading the journal");
    let (stop, run) = (CancellationToken::new(), exclusive.run.clone());
    let (journal, following) =
        follow(data.journal(), exclusive.store.clone(), Some(run.clone()), stop.clone());
    let following = tokio::spawn(following);
    journal.drain().await;
    stop.cancel();
    let _ = following.await;
    let reason = arguments.reason.clone();
    let accept = exclusive.store.write(move |tx| tampering::accept(tx, &reason, Some(&run)));
    accept.await?.ok_or_else(|| CommandError::Refused(ControlError::NothingToAccept.to_string()))
}
