//! The nodes, each behind wires of its own, with what they share.

use harness::{FakeTelegram, Postgres, System, Wire};

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
}

impl Cluster {
    pub(crate) fn start(chats: &str) -> Self {
        let (server, telegram) = (Postgres::start(), FakeTelegram::start());
        let nodes = NAMES.map(|name| Node::start(name, &server, &telegram, chats));
        Self { nodes: nodes.into(), telegram, server }
    }
}

impl Node {
    /// A node that never gives up a task, however often it is interrupted.
    fn start(name: &'static str, server: &Postgres, telegram: &FakeTelegram, chats: &str) -> Self {
        let to_database = Wire::to(server.address());
        let to_telegram = Wire::to(telegram.address());
        let system = System::builder()
            .allowing_all()
            .workers(WORKERS)
            .telegram_at(&format!("http://{}", to_telegram.address()), chats)
            .variable("AUTONOUS_DATABASE_URL", &server.url_at(to_database.address()))
            .variable("AUTONOUS_NODE", name)
            .variable("AUTONOUS_TASK_MAX_ATTEMPTS", "100")
            .variable("AUTONOUS_TG_PENDING_MAX_MESSAGES", "10000")
            .start();
        Self { name, system, to_database, to_telegram }
    }
}

/// The node that led last.
pub(crate) fn leader(server: &Postgres) -> Option<String> {
    server.try_ask("select node from leaders order by epoch desc limit 1").ok()?.pop()
}
