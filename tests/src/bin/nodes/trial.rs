//! The course of the trial: faults one after another while chats write, then quiet until all is answered.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use harness::{Random, wait};

use crate::chats::{Chats, answers};
use crate::cluster::{Cluster, Node};
use crate::faults::{Fault, Kind, cause};
use crate::findings::Findings;

/// How long the rest may take between two answers and in all, and how long second ones are waited for.
const PATIENCE: Duration = Duration::from_secs(180);
const MOST_PATIENCE: Duration = Duration::from_secs(1800);
const QUIET: Duration = Duration::from_secs(5);

const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The longest pause between two faults, in milliseconds.
const BETWEEN_MS: usize = 5000;

/// What is not over yet.
const OPEN: &str =
    "select (select count(*) from received) + (select count(*) from outbox where state = 'queued')
                    + (select count(*) from inbox where state in ('queued', 'in_progress'))";

pub(crate) struct Trial {
    pub(crate) seed: u64,
    pub(crate) chats: usize,
    pub(crate) messages: usize,
    pub(crate) faults: usize,
    /// Words of the only kinds to cause, between commas; all if it is empty.
    pub(crate) kinds: String,
    /// Whether all nodes have the same workspace, so that chats move away from nodes that are gone.
    pub(crate) is_shared: bool,
}

impl Trial {
    /// Returns whether all holds.
    pub(crate) fn run(self) -> bool {
        let Self { seed, chats, messages, faults, is_shared, .. } = self;
        let workspaces = if is_shared { "one workspace" } else { "workspaces of their own" };
        println!("seed {seed}, {chats} chats, {messages} messages, {faults} faults, {workspaces}");
        let begun = Instant::now();
        let mut random = Random::new(seed);
        let mut chats = Chats::new(chats, Random::new(random.number()));
        let mut cluster = Cluster::start(&chats.ids(), is_shared);
        let (caused, ended) = self.cause_all(&mut cluster, &mut chats, &mut random);
        let drained = drain(&mut cluster, &chats);
        println!(
            "{:.0} s, the last {:.0} to answer the rest\n",
            begun.elapsed().as_secs_f32(),
            drained.as_secs_f32()
        );
        let findings = Findings { cluster: &cluster, chats: &chats, faults: &caused, ended: &ended };
        let holds = findings.print();
        if !holds {
            cluster.nodes.iter().for_each(|node| println!("--- log of {}\n{}", node.name, troubles(node)));
        }
        for node in &mut cluster.nodes {
            let _ = node.system.stop();
        }
        holds
    }

    /// Causes the faults, and returns them with what ended by itself meanwhile.
    fn cause_all(
        &self,
        cluster: &mut Cluster,
        chats: &mut Chats,
        random: &mut Random,
    ) -> (Vec<Fault>, Vec<String>) {
        let (mut caused, mut ended, mut deck) = (Vec::new(), Vec::new(), Vec::new());
        let Cluster { nodes, telegram, server, .. } = cluster;
        let telegram = &*telegram;
        for number in 0..self.faults {
            if deck.is_empty() {
                deck = self.deck(random);
            }
            let Some(kind) = deck.pop() else { break };
            let until = self.messages * (number + 1) / self.faults;
            let (pause, before) = (random.below(BETWEEN_MS), chats.written.len());
            print!("{:>4} {:>6}", number + 1, before);
            let fault = thread::scope(|scope| {
                scope.spawn(|| chats.write(telegram, until, kind.writing()));
                wait::out(Duration::from_millis(u64::try_from(pause / 2).unwrap_or(0)));
                cause(kind, nodes, server, random)
            });
            caused.push(fault);
            wait::out(Duration::from_millis(u64::try_from(pause / 2).unwrap_or(0)));
            ended.extend(start_ended(nodes));
        }
        (caused, ended)
    }

    /// Each kind once, in a random order.
    fn deck(&self, random: &mut Random) -> Vec<Kind> {
        let wanted: Vec<&str> = self.kinds.split(',').filter(|words| !words.is_empty()).collect();
        let is_wanted =
            |kind: &Kind| wanted.is_empty() || wanted.iter().any(|words| kind.words().contains(words));
        let mut left: Vec<Kind> = Kind::all().filter(is_wanted).collect();
        let mut deck = Vec::new();
        while !left.is_empty() {
            deck.push(left.swap_remove(random.below(left.len())));
        }
        deck
    }
}

/// Starts supervisors that have ended by themselves, as a manager of services does. Returns their last words.
fn start_ended(nodes: &mut [Node]) -> Vec<String> {
    let mut ended = Vec::new();
    for node in nodes.iter_mut() {
        if node.system.has_ended() {
            let log = node.system.log();
            let last = log.lines().last().unwrap_or_default();
            println!("            {} ended by itself: {last}", node.name);
            ended.push(format!("{}: {last}", node.name));
            node.system.start_again();
        }
    }
    ended
}

/// Waits until all is answered, marked and read, and for second answers. Returns how long it took.
fn drain(cluster: &mut Cluster, chats: &Chats) -> Duration {
    let begun = Instant::now();
    let (mut known, mut changed) = (0, begun);
    while changed.elapsed() < PATIENCE && begun.elapsed() < MOST_PATIENCE {
        start_ended(&mut cluster.nodes);
        let answered: BTreeSet<String> =
            answers(&cluster.telegram).into_values().flatten().map(|answer| answer.word).collect();
        let is_open = cluster.server.try_ask(OPEN).map_or(true, |open| open != ["0"]);
        if answered.len() == chats.written.len() && !is_open {
            break;
        }
        if answered.len() > known {
            (known, changed) = (answered.len(), Instant::now());
        }
        wait::out(LOOK_EVERY);
    }
    let taken = begun.elapsed();
    wait::out(QUIET);
    taken
}

/// The last warnings and errors of a node.
fn troubles(node: &Node) -> String {
    let log = node.system.log();
    let is_trouble = |line: &&str| ["\"WARN\"", "\"ERROR\""].iter().any(|level| line.contains(level));
    let lines: Vec<&str> = log.lines().filter(is_trouble).collect();
    lines[lines.len().saturating_sub(15)..].join("\n")
}
