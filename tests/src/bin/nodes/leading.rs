//! Who led when: the table `leaders` says, and the requests for updates that Telegram saw.

use std::collections::BTreeMap;

use harness::Postgres;
use harness::fake_telegram::Poll;

use crate::cluster::Node;
use crate::faults::Fault;

/// How long a leader may act on its last sign.
const LEADS_FOR_MS: i64 = 9000;

/// What a busy machine may take between a decision and what comes of it.
const SLACK_MS: i64 = 1500;

#[derive(Debug, Clone)]
pub(crate) struct Reign {
    pub(crate) node: String,
    pub(crate) since_ms: i64,
    pub(crate) until_ms: i64,
}

/// All who led, in order.
pub(crate) fn reigns(server: &Postgres) -> Vec<Reign> {
    let rows = server.try_ask("select node, since_ms, until_ms from leaders order by epoch");
    let reign = |row: &String| {
        let mut columns = row.split(' ');
        Some(Reign {
            node: columns.next()?.to_owned(),
            since_ms: columns.next()?.parse().ok()?,
            until_ms: columns.next()?.parse().ok()?,
        })
    };
    rows.unwrap_or_default().iter().filter_map(reign).collect()
}

/// The leaders that began before an earlier one had shown for the last time that it leads.
pub(crate) fn overlaps(reigns: &[Reign]) -> Vec<String> {
    let pairs = reigns.iter().enumerate().flat_map(|(at, a)| reigns[at + 1..].iter().map(move |b| (a, b)));
    pairs.filter(|(a, b)| a.until_ms > b.since_ms).map(|(a, b)| format!("{a:?} and {b:?}")).collect()
}

/// A request for updates, with its node.
pub(crate) struct Asking<'a> {
    node: &'a str,
    poll: Poll,
}

pub(crate) fn askings<'a>(nodes: &'a [Node], polls: Vec<Poll>) -> Vec<Asking<'a>> {
    let hosts: BTreeMap<String, &str> =
        nodes.iter().map(|node| (node.to_telegram.address().to_string(), node.name)).collect();
    let asking = |poll: Poll| Some(Asking { node: hosts.get(&poll.host).copied()?, poll });
    polls.into_iter().filter_map(asking).collect()
}

/// The requests of nodes that did not lead when they came, but for those that a fault may have delayed.
pub(crate) fn unentitled(askings: &[Asking<'_>], reigns: &[Reign], faults: &[Fault]) -> Vec<String> {
    let is_entitled = |asking: &&Asking<'_>| {
        let at = asking.poll.from_ms;
        let current = reigns.iter().rfind(|reign| reign.since_ms <= at + SLACK_MS / 10);
        let leads = current
            .is_some_and(|reign| reign.node == asking.node && at <= reign.until_ms + LEADS_FOR_MS + SLACK_MS);
        leads || faults.iter().any(|fault| fault.node == asking.node && fault.is_about(at, SLACK_MS))
    };
    let others = askings.iter().filter(|asking| !is_entitled(asking));
    others.map(|asking| format!("{} asked at {}", asking.node, asking.poll.from_ms)).collect()
}

/// How many requests of different nodes Telegram had open at one time.
pub(crate) fn at_once(askings: &[Asking<'_>]) -> usize {
    let mut most = 0;
    for asking in askings {
        let at = asking.poll.from_ms;
        let is_open = |other: &&Asking<'_>| {
            other.poll.from_ms <= at && other.poll.until_ms.is_none_or(|until| until > at)
        };
        let mut nodes: Vec<&str> = askings.iter().filter(is_open).map(|other| other.node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        most = most.max(nodes.len());
    }
    most
}

/// What became of the leadership after a fault of the leader: the milliseconds until there was another
/// leader, and whether it is another node.
pub(crate) fn followed(fault: &Fault, reigns: &[Reign]) -> Option<(i64, bool)> {
    let next = reigns.iter().find(|reign| reign.since_ms >= fault.from_ms)?;
    let is_by_it = next.since_ms <= fault.until_ms + 2 * LEADS_FOR_MS;
    is_by_it.then(|| (next.since_ms - fault.from_ms, next.node != fault.node))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Kind;

    fn reign(node: &str, since_ms: i64, until_ms: i64) -> Reign {
        Reign { node: node.to_owned(), since_ms, until_ms }
    }

    fn asking(node: &str, from_ms: i64, until_ms: i64) -> Asking<'_> {
        let poll = Poll { host: String::new(), from_ms, until_ms: Some(until_ms) };
        Asking { node, poll }
    }

    #[test]
    fn two_leaders_at_one_time_are_detected() {
        assert!(overlaps(&[reign("a", 0, 10_000), reign("b", 12_000, 20_000)]).is_empty());
        assert_eq!(overlaps(&[reign("a", 0, 10_000), reign("b", 9_000, 20_000)]).len(), 1);
    }

    #[test]
    fn a_node_that_asks_without_leading_is_detected_unless_a_fault_delayed_it() {
        let reigns = [reign("a", 0, 10_000), reign("b", 20_000, 30_000)];
        let fault =
            Fault { kind: Kind::NodeStopped, node: "a", led: true, from_ms: 10_000, until_ms: 30_000 };
        let all = [asking("a", 15_000, 16_000), asking("b", 21_000, 25_000), asking("a", 24_000, 26_000)];
        assert!(unentitled(&all[..2], &reigns, &[]).is_empty());
        assert_eq!(unentitled(&all, &reigns, &[]).len(), 1);
        assert!(unentitled(&all, &reigns, std::slice::from_ref(&fault)).is_empty());
        assert_eq!((at_once(&all[..2]), at_once(&all)), (1, 2));
        assert_eq!(followed(&fault, &reigns), Some((10_000, true)));
    }
}
