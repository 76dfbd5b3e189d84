//! The nodes, each behind wires of its own, with what they share.

use std::fs;
use std::path::PathBuf;

use harness::{FakeTelegram, Postgres, System, TestDir, Wire};

pub(crate) const NAMES: [&str; 3] = ["a", "b", "c"];

/// How many tasks a node runs at once.
const WORKERS: usize = 2;

/// A machine: what runs on it, and its ways out.
pub(crate) struct Node {
    pub(crate) name: &'static str,
    // Ends before its wires do.
    pub(crate) system: System,
    pub(crate) to_database: Wire,
    pub(crate) to_telegram: Wire,
}

/// All that takes part. The nodes end first.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    pub(crate) telegram: FakeTelegram,
    pub(crate) server: Postgres,
    /// The place of the one workspace, if all nodes have the same.
    shared: Option<TestDir>,
}

impl Cluster {
    pub(crate) fn start(chats: &str, is_shared: bool) -> Self {
        let (server, telegram) = (Postgres::start(), FakeTelegram::start());
        let shared = is_shared.then(TestDir::new);
        let root = shared.as_ref().map(workspace_in);
        let nodes = NAMES.map(|name| Node::start(name, &server, &telegram, chats, root.as_ref()));
        Self { nodes: nodes.into(), telegram, server, shared }
    }

    pub(crate) const fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// The workspaces, each with its node; one that all nodes have is of none.
    pub(crate) fn workspaces(&self) -> Vec<(Option<&'static str>, PathBuf)> {
        match &self.shared {
            Some(shared) => vec![(None, workspace_in(shared))],
            None => self.nodes.iter().map(|node| (Some(node.name), node.system.workspace())).collect(),
        }
    }
}

/// The workspace of all nodes.
fn workspace_in(shared: &TestDir) -> PathBuf {
    let root = shared.path().join("workspace");
    fs::create_dir_all(&root).expect("a test may write in its directory");
    root
}

impl Node {
    /// A node that never gives up a task, however often it is interrupted.
    fn start(
        name: &'static str,
        server: &Postgres,
        telegram: &FakeTelegram,
        chats: &str,
        root: Option<&PathBuf>,
    ) -> Self {
        let to_database = Wire::to(server.address());
        let to_telegram = Wire::to(telegram.address());
        let builder = System::builder()
            .allowing_all()
            .workers(WORKERS)
            .telegram_at(&format!("http://{}", to_telegram.address()), chats)
            .variable("AUTONOUS_DATABASE_URL", &server.url_at(to_database.address()))
            .variable("AUTONOUS_NODE", name)
            .variable("AUTONOUS_TASK_MAX_ATTEMPTS", "100")
            .variable("AUTONOUS_TG_PENDING_MAX_MESSAGES", "10000");
        let builder = match root {
            Some(root) => builder
                .variable("AUTONOUS_TOOL_ALLOWED_ROOTS", &root.display().to_string())
                .variable("AUTONOUS_SHARED_WORKSPACES", "true"),
            None => builder,
        };
        Self { name, system: builder.start(), to_database, to_telegram }
    }
}

/// The node that led last.
pub(crate) fn leader(server: &Postgres) -> Option<String> {
    server.try_ask("select node from leaders order by epoch desc limit 1").ok()?.pop()
}
