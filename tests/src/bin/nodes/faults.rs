//! The faults: which there are, and how each is caused and ended.

use std::time::Duration;

use harness::{Postgres, Random, System, leftovers, signals, wait};
use protocol::now_ms;
use rustix::process::Signal;

use crate::cluster::{Node, leader};

/// How long a child may take to run again after an earlier fault, or to end with its supervisor.
const CHILD: Duration = Duration::from_secs(60);

/// After so long a server ends a connection without a sign.
const SILENCE: Duration = Duration::from_secs(12);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    SupervisorKilled,
    SupervisorGone,
    PowerCut,
    WorkerKilled,
    ToolServerKilled,
    DatabaseKilled,
    NodePaused,
    NodeStopped,
    DatabaseSilent,
    DatabaseLost,
    DatabaseCut,
    TelegramSilent,
    TelegramCut,
}

/// All of them, with the words for each.
const KINDS: [(Kind, &str); 13] = [
    (Kind::SupervisorKilled, "supervisor killed, restarted at once"),
    (Kind::SupervisorGone, "supervisor killed, restarted after its lease"),
    (Kind::PowerCut, "supervisor killed, its connections left open"),
    (Kind::WorkerKilled, "worker killed"),
    (Kind::ToolServerKilled, "tool server killed"),
    (Kind::DatabaseKilled, "PostgreSQL killed and restarted"),
    (Kind::NodePaused, "node stopped for less than its lease"),
    (Kind::NodeStopped, "node stopped beyond its lease"),
    (Kind::DatabaseSilent, "database silent for a node"),
    (Kind::DatabaseLost, "database silent for a node, connections lost"),
    (Kind::DatabaseCut, "database refuses a node"),
    (Kind::TelegramSilent, "Telegram silent for a node"),
    (Kind::TelegramCut, "Telegram refuses a node"),
];

impl Kind {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        KINDS.into_iter().map(|(kind, _)| kind)
    }

    pub(crate) fn words(self) -> &'static str {
        KINDS.into_iter().find(|(kind, _)| *kind == self).expect("each kind has words").1
    }

    /// The least and the most seconds that it lasts, beside what it takes to cause it.
    const fn seconds(self) -> (usize, usize) {
        match self {
            Self::SupervisorKilled | Self::PowerCut | Self::WorkerKilled | Self::ToolServerKilled => (0, 1),
            Self::SupervisorGone => (18, 24),
            // Some for longer than another node leaves a message to its sender.
            Self::NodeStopped => (18, 40),
            Self::DatabaseKilled => (1, 5),
            Self::NodePaused => (5, 13),
            Self::DatabaseSilent | Self::DatabaseLost => (6, 24),
            Self::DatabaseCut | Self::TelegramSilent => (4, 20),
            Self::TelegramCut => (4, 12),
        }
    }

    /// About how long chats write meanwhile.
    pub(crate) fn writing(self) -> Duration {
        let (_, most) = self.seconds();
        Duration::from_secs(u64::try_from(most).unwrap_or(0).max(6))
    }

    /// Whether a send can be cut by it between Telegram and its mark.
    pub(crate) const fn cuts_sends(self) -> bool {
        !matches!(self, Self::WorkerKilled | Self::ToolServerKilled)
    }

    /// Whether it can end a leadership.
    pub(crate) const fn ends_leadership(self) -> bool {
        !matches!(
            self,
            Self::WorkerKilled | Self::ToolServerKilled | Self::TelegramSilent | Self::TelegramCut
        )
    }
}

/// One that was caused.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) kind: Kind,
    pub(crate) node: &'static str,
    /// Whether the node led.
    pub(crate) led: bool,
    pub(crate) from_ms: i64,
    pub(crate) until_ms: i64,
}

impl Fault {
    /// Whether it concerns a node.
    pub(crate) fn is_of(&self, node: &str) -> bool {
        self.kind == Kind::DatabaseKilled || self.node == node
    }

    /// Whether it was there at a time, or about then.
    pub(crate) const fn is_about(&self, at_ms: i64, slack_ms: i64) -> bool {
        self.from_ms - slack_ms <= at_ms && at_ms <= self.until_ms + slack_ms
    }
}

/// Causes a fault at the leader or at another node, as often as not, and ends it.
pub(crate) fn cause(kind: Kind, nodes: &mut [Node], server: &Postgres, random: &mut Random) -> Fault {
    let leader = leader(server);
    let of_leader = nodes.iter().position(|node| leader.as_deref() == Some(node.name));
    let any = random.below(nodes.len());
    let index = of_leader.filter(|_| random.below(2) == 0).unwrap_or(any);
    let (least, most) = kind.seconds();
    let time = Duration::from_millis(
        u64::try_from(1000 * least + random.below(1000 * (most - least).max(1))).unwrap_or(0),
    );
    let node = &mut nodes[index];
    let (name, led) = (node.name, leader.as_deref() == Some(node.name));
    println!(
        "  {} of {name}{}, {:.1} s",
        kind.words(),
        if led { ", which leads" } else { "" },
        time.as_secs_f32()
    );
    let from_ms = now_ms();
    match kind {
        Kind::DatabaseKilled => {
            server.crash();
            wait::out(time);
            server.go_on();
        }
        _ => at(node, kind, time),
    }
    Fault { kind, node: name, led, from_ms, until_ms: now_ms() }
}

fn at(node: &mut Node, kind: Kind, time: Duration) {
    match kind {
        Kind::SupervisorKilled | Kind::SupervisorGone => {
            kill(&mut node.system);
            wait::out(time);
            node.system.start_again();
        }
        Kind::PowerCut => {
            node.to_database.strand();
            node.to_telegram.strand();
            kill(&mut node.system);
            node.system.start_again();
            wait::out(SILENCE);
            node.to_database.end_stranded();
            node.to_telegram.end_stranded();
        }
        Kind::WorkerKilled => kill_child(node, "agent-worker"),
        Kind::ToolServerKilled => kill_child(node, "tool-server"),
        Kind::NodePaused | Kind::NodeStopped => {
            node.system.signal_all(Signal::STOP);
            wait::out(time);
            node.system.signal_all(Signal::CONT);
        }
        Kind::DatabaseSilent | Kind::TelegramSilent => {
            let wire = if kind == Kind::DatabaseSilent { &node.to_database } else { &node.to_telegram };
            wire.silence();
            wait::out(time);
            wire.mend();
        }
        Kind::DatabaseLost => {
            node.to_database.silence();
            wait::out(time.min(SILENCE));
            node.to_database.end_present();
            wait::out(time.saturating_sub(SILENCE));
            // What tries to connect meanwhile hears nothing either.
            node.to_database.end_present();
            node.to_database.mend();
        }
        Kind::DatabaseCut | Kind::TelegramCut => {
            let wire = if kind == Kind::DatabaseCut { &node.to_database } else { &node.to_telegram };
            wire.cut();
            wait::out(time);
            wire.mend();
        }
        Kind::DatabaseKilled => {}
    }
}

/// Kills a supervisor, and waits until its children have noticed: on a busy machine that takes a while.
fn kill(system: &mut System) {
    signals::send(system.supervisor_pid(), Signal::KILL);
    let has_ended = || system.has_ended() && leftovers::processes_of(system.dir()).is_empty();
    assert!(wait::is_true_within(CHILD, has_ended), "processes were left behind");
}

fn kill_child(node: &Node, name: &str) {
    let child = wait::within(CHILD, || node.system.children().into_iter().find(|child| child.is(name)));
    if let Some(child) = child {
        signals::send(child.pid, Signal::KILL);
    }
}
