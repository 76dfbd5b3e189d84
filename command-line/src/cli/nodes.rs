//! `supervisor nodes` and `supervisor chats move`: through the running supervisor of any node.

use clap::{Args, Subcommand};
use protocol::now_ms;
use serde_json::json;
use store::nodes::{Drained, Node};
use store::queries;

use super::control_client::post;
use super::error::CommandError;
use crate::terminal::{Column, Screen, Table};
use supervisor::age::since;
use supervisor::control::nodes::{MoveRequest, NodeRequest};
use supervisor::data_dir::DataDir;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct NodesArguments {
    #[command(subcommand)]
    command: Option<NodesCommand>,
    /// Print JSON: {"nodes": [{"name", "state", "chats", "running", "leads", …}]}, times in milliseconds.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum NodesCommand {
    /// Place no new chat on a node, and move its chats away if the other nodes have their files.
    ///
    /// Needs a running supervisor of any node.
    Drain {
        /// Its name.
        node: String,
    },
    /// Place new chats on a node again.
    ///
    /// Needs a running supervisor of any node.
    Resume {
        /// Its name.
        node: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChatsCommand {
    /// Move a chat to another node: its tasks run there from now on.
    ///
    /// Needs a running supervisor of any node. Its files stay where they are: unless both nodes mount them,
    /// copy the chat's directories first.
    Move {
        /// Its address, such as telegram:4711, or its ID.
        #[arg(allow_hyphen_values = true)]
        chat: String,
        /// The node's name.
        node: String,
    },
}

const COLUMNS: &[Column] = &[
    Column::text("NODE", 24),
    Column::text("STATE", 8),
    Column::text("LEADS", 5),
    Column::number("CHATS", 7),
    Column::number("RUNNING", 7),
    Column::number("SEEN", 5),
    Column::text("FILES", 0),
];

pub(super) async fn run(
    data: &DataDir,
    arguments: NodesArguments,
    screen: Screen,
) -> Result<String, CommandError> {
    Ok(match arguments.command {
        None => {
            let nodes = store::nodes::all(&queries::open(data.database())?)?;
            if arguments.json { super::pretty(&json!({"nodes": nodes})) } else { table(&nodes, screen) }
        }
        Some(NodesCommand::Drain { node }) => {
            summary(&post(data, "/nodes/drain", &NodeRequest { node }).await?)
        }
        Some(NodesCommand::Resume { node }) => {
            let NodeRequest { node } = post(data, "/nodes/resume", &NodeRequest { node }).await?;
            format!("{node} takes new chats again.")
        }
    })
}

pub(super) async fn move_chat(data: &DataDir, command: ChatsCommand) -> Result<String, CommandError> {
    let ChatsCommand::Move { chat, node } = command;
    let MoveRequest { chat, node } = post(data, "/chats/move", &MoveRequest { chat, node }).await?;
    Ok(format!("{chat} is on {node} from now on."))
}

fn summary(drained: &Drained) -> String {
    let Drained { node, moved, stay } = drained;
    let rest = match stay {
        0 => "Stop it when its tasks have ended.".to_owned(),
        _ => format!(
            "{stay} stay, because their files are on {node} alone or a task of theirs runs: move them one by \
             one with `supervisor chats move`."
        ),
    };
    format!("{node} takes no new chats; {moved} of its chats are elsewhere now. {rest}")
}

fn table(nodes: &[Node], screen: Screen) -> String {
    if nodes.is_empty() {
        return "The database is a file, so there is one node. Several share a PostgreSQL server: see \
                docs/nodes.md."
            .to_owned();
    }
    let mut table = Table::new(COLUMNS);
    for node in nodes {
        let cells = [
            node.name.clone(),
            node.state.clone(),
            if node.leads { "yes" } else { "" }.to_owned(),
            node.chats.to_string(),
            node.running.to_string(),
            since(node.seen_at_ms, now_ms()),
            if node.shares_workspaces { "shared" } else { "its own" }.to_owned(),
        ];
        table.row(cells.map(|cell| (cell, None)));
    }
    table.lines(screen.columns, screen.paint).join("\n")
}
