//! `supervisor tree`: what was done, as a tree of events.

use clap::Args;
use progress_line::LateLine;
use protocol::now_ms;
use serde_json::json;
use store::queries::QueryError;

use super::tree_text;
use crate::terminal::Screen;
use supervisor::data_dir::DataDir;
use supervisor::tree::{Node, Scope, grow, load};

#[derive(Debug, Args)]
pub(crate) struct TreeArguments {
    /// Show the tree of this task [default: the newest task].
    #[arg(long, value_name = "TASK", conflicts_with_all = ["id", "all"])]
    pub task: Option<String>,
    /// Show the tree below this event; `--json` shows the IDs.
    #[arg(long, value_name = "EVENT", conflicts_with = "all")]
    pub id: Option<String>,
    /// Show everything.
    #[arg(long)]
    pub all: bool,
    /// Show this many levels.
    #[arg(short = 'L', long = "depth", value_name = "DEPTH",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub depth: Option<u16>,
    /// Print JSON: an array of events, each with its children.
    #[arg(long)]
    pub json: bool,
    /// Hide the payloads of events.
    #[arg(long)]
    pub no_payload: bool,
}

pub(super) fn run(data: &DataDir, arguments: &TreeArguments, screen: Screen) -> Result<String, QueryError> {
    let _line = LateLine::new("Reading the database");
    let scope = match (&arguments.task, &arguments.id) {
        (Some(task), _) => Scope::Task(task.clone()),
        (None, Some(event)) => Scope::Event(event.clone()),
        (None, None) if arguments.all => Scope::All,
        (None, None) => Scope::NewestTask,
    };
    let mut trees = grow(load(&data.database(), &scope)?);
    if let Some(depth) = arguments.depth {
        trees = trees.into_iter().map(|tree| tree.cut(depth)).collect();
    }
    if arguments.no_payload {
        trees = trees.into_iter().map(Node::without_payload).collect();
    }
    Ok(if arguments.json {
        super::pretty(&json!(trees))
    } else {
        tree_text::render(&trees, screen.columns, now_ms())
    })
}
