//! `supervisor chats`, `pair` and `unpair`: through the running supervisor, or directly if none is running.

use channel::Delivery;
use clap::Args;
use protocol::now_ms;
use serde_json::json;
use store::pairing::{self, Paired};

use super::BY;
use super::control_client::{ControlClient, post};
use super::database_access::{DatabaseAccess, database_access};
use super::error::CommandError;
use super::nodes::ChatsCommand;
use crate::terminal::{Column, Screen, Table};
use supervisor::age::since;
use supervisor::control::chats::{AllowedBy, Chats, PairRequest, UnpairRequest, list, refusal, summary};
use supervisor::control::error::ControlError;
use supervisor::data_dir::DataDir;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ChatsArguments {
    #[command(subcommand)]
    pub command: Option<ChatsCommand>,
    /// Print JSON: {"chats": [{"channel", "chat", "allowed", …}]}, times in milliseconds.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PairArguments {
    /// The code that the bot answered with.
    pub code: String,
    /// Print JSON: {"channel", "chat", "title"}.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UnpairArguments {
    /// The ID of the chat, as `supervisor chats` lists it.
    #[arg(allow_hyphen_values = true)]
    pub chat: String,
}

const CHAT_COLUMNS: &[Column] = &[
    Column::text("CHAT", 16),
    Column::text("CHANNEL", 10),
    Column::text("ALLOWED BY", 10),
    Column::number("SINCE", 5),
    Column::text("CODE", 8),
    Column::text("NODE", 16),
    Column::text("NAME", 0),
];

pub(super) async fn show(
    data: &DataDir,
    arguments: ChatsArguments,
    screen: Screen,
) -> Result<String, CommandError> {
    if let Some(command) = arguments.command {
        return super::nodes::move_chat(data, command).await;
    }
    let listed = match database_access(data).await? {
        DatabaseAccess::ViaSupervisor => {
            let client = ControlClient::new(data)?;
            client.send(client.get("/chats")).await?
        }
        DatabaseAccess::Exclusive(exclusive) => {
            let channels = exclusive.channels.clone();
            exclusive.store.write(move |tx| list(tx, &channels)).await?
        }
    };
    Ok(if arguments.json { super::pretty(&json!(listed)) } else { table(&listed, now_ms(), screen) })
}

pub(super) async fn pair(data: &DataDir, arguments: PairArguments) -> Result<String, CommandError> {
    let paired: Paired = match database_access(data).await? {
        DatabaseAccess::ViaSupervisor => post(data, "/pair", &PairRequest { code: arguments.code }).await?,
        DatabaseAccess::Exclusive(exclusive) => {
            let (code, run) = (arguments.code, exclusive.run.clone());
            let write = exclusive.store.write(move |tx| {
                let known = pairing::pair(tx, &code, BY, &run)?;
                // Sent by the next run.
                known.iter().try_for_each(|known| pairing::welcome(tx, known, Delivery::Push, &run))?;
                Ok(known)
            });
            write.await?.as_ref().map(summary).ok_or_else(|| refused(&ControlError::NoSuchCode))?
        }
    };
    Ok(if arguments.json {
        super::pretty(&json!(paired))
    } else {
        format!("{} may use the bot: chat {} of {}.", paired.title, paired.chat, paired.channel)
    })
}

pub(super) async fn unpair(data: &DataDir, arguments: UnpairArguments) -> Result<String, CommandError> {
    let chat = arguments.chat;
    match database_access(data).await? {
        DatabaseAccess::ViaSupervisor => {
            let _: UnpairRequest = post(data, "/unpair", &UnpairRequest { chat: chat.clone() }).await?;
        }
        DatabaseAccess::Exclusive(exclusive) => {
            let (id, run) = (chat.clone(), exclusive.run.clone());
            let unpaired = exclusive.store.write(move |tx| pairing::unpair(tx, &id, BY, &run)).await?;
            unpaired.ok_or_else(|| refused(&refusal(&exclusive.channels, &chat)))?;
        }
    }
    Ok(format!("Chat {chat} may no longer use the bot. What it had asked for is cancelled."))
}

fn refused(error: &ControlError) -> CommandError {
    CommandError::Refused(format!("{error}. {}", error.hint()))
}

fn table(listed: &Chats, now: i64, screen: Screen) -> String {
    if listed.chats.is_empty() {
        return "No chat is known. Write to the bot: it answers with a code for `supervisor pair`."
            .to_owned();
    }
    let mut table = Table::new(CHAT_COLUMNS);
    for chat in &listed.chats {
        let allowed = match chat.allowed {
            AllowedBy::Settings => "settings",
            AllowedBy::Pairing => "pairing",
            AllowedBy::Nobody => "nobody",
        };
        let cells = [
            chat.chat.clone(),
            chat.channel.clone(),
            allowed.to_owned(),
            chat.since_ms.map(|at| since(at, now)).unwrap_or_default(),
            chat.code.clone().unwrap_or_default(),
            chat.node.clone().unwrap_or_default(),
            chat.title.clone().unwrap_or_default(),
        ];
        table.row(cells.map(|cell| (cell, None)));
    }
    table.lines(screen.columns, screen.paint).join("\n")
}
