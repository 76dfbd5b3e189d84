//! The findings: whether chats, database, leaders and files agree at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use harness::report::Report;

use crate::chats::{Answer, Chats, Written, answers, word_in};
use crate::cluster::Cluster;
use crate::faults::{Fault, Kind};
use crate::leading::{self, Reign};
use crate::story;

/// A send and the fault that cut it are at most so far apart.
const NEAR_MS: i64 = 5000;

/// The longest that there may be no leader after a fault.
const MOST_LEADERLESS_MS: usize = 45_000;

/// What happened to so many chats is printed.
const MOST_STORIES: usize = 3;

pub(crate) struct Findings<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) chats: &'a Chats,
    pub(crate) faults: &'a [Fault],
    /// The supervisors that ended by themselves.
    pub(crate) ended: &'a [String],
}

impl Findings<'_> {
    /// Prints the table. Returns whether all holds.
    pub(crate) fn print(&self) -> bool {
        let answers = answers(&self.cluster.telegram);
        let places = self.places();
        let mut report = Report::new();
        let mut wrong = self.conversations(&mut report, &answers);
        wrong.extend(self.doubled(&mut report, &answers, &places));
        wrong.extend(self.effects(&mut report, &answers, &places));
        self.led(&mut report);
        self.rest(&mut report);
        println!("{report}");
        for chat in wrong.into_iter().take(MOST_STORIES) {
            let node = places.get(&chat).map_or("no node", String::as_str);
            let written = self.chats.written.iter().filter(|written| written.chat == chat);
            let answers = answers.get(&chat).map(Vec::as_slice).unwrap_or_default();
            story::print(&self.cluster.server, chat, node, written, answers);
        }
        report.holds()
    }

    /// The node of each chat.
    fn places(&self) -> BTreeMap<i64, String> {
        let rows = self.cluster.server.try_ask("select chat_id, node from chats where channel = 'telegram'");
        let place = |row: String| {
            let (chat, node) = row.split_once(' ')?;
            Some((chat.parse().ok()?, node.to_owned()))
        };
        rows.unwrap_or_default().into_iter().filter_map(place).collect()
    }

    fn conversations(&self, report: &mut Report, answers: &BTreeMap<i64, Vec<Answer>>) -> BTreeSet<i64> {
        let by_chat = self.chats.by_chat();
        let (mut lost, mut disordered, mut wrong) = (Vec::new(), Vec::new(), BTreeSet::new());
        let (open, mut late) = (self.open(), Vec::new());
        for (chat, written) in &by_chat {
            let got = answers.get(chat).map(Vec::as_slice).unwrap_or_default();
            let position = |answer: &Answer| written.iter().position(|one| one.word == answer.word);
            let order: Vec<Option<usize>> = got.iter().map(position).collect();
            if !order.is_sorted() || order.contains(&None) {
                disordered.push(format!("chat {chat}: {order:?}"));
                wrong.insert(*chat);
            }
            for one in written.iter().filter(|one| !got.iter().any(|answer| answer.word == one.word)) {
                let rows = if open.contains(&one.word) { &mut late } else { &mut lost };
                rows.push(format!("chat {chat}: {} of {}", one.word, one.at_ms));
                wrong.insert(*chat);
            }
        }
        report.inform("chats that wrote", by_chat.len());
        report.inform("messages", self.chats.written.len());
        report.inform("answered", self.chats.written.len() - lost.len() - late.len());
        report.forbid("lost", lost);
        report.forbid("not lost, but not answered when the time was over", late);
        report.forbid("chats with answers out of order", disordered);
        wrong
    }

    /// The words of messages that are on their way.
    fn open(&self) -> BTreeSet<String> {
        let rows = self.cluster.server.try_ask(
            "select text from inbox where state in ('queued', 'in_progress')
             union all select text from outbox where state = 'queued'
             union all select change from received",
        );
        let stored: BTreeSet<String> =
            rows.unwrap_or_default().iter().filter_map(|text| word_in(text)).map(str::to_owned).collect();
        let known = self.cluster.server.try_ask("select text from inbox").unwrap_or_default();
        let known: BTreeSet<&str> = known.iter().filter_map(|text| word_in(text)).collect();
        let at_telegram = self.cluster.telegram.unconfirmed();
        let words = self.chats.written.iter().rev().map(|one| &one.word).take(at_telegram);
        words.filter(|word| !known.contains(word.as_str())).cloned().chain(stored.iter().cloned()).collect()
    }

    /// Answers that came more than once, by the fault that may have cut the first.
    fn doubled(
        &self,
        report: &mut Report,
        answers: &BTreeMap<i64, Vec<Answer>>,
        places: &BTreeMap<i64, String>,
    ) -> BTreeSet<i64> {
        // Where all have one workspace, a chat can have been on another node then.
        let has_moved = self.cluster.is_shared();
        let (mut causes, mut without) = (BTreeMap::<Kind, usize>::new(), Vec::new());
        let mut wrong = BTreeSet::new();
        for (chat, got) in answers {
            let node = places.get(chat).map_or("", String::as_str);
            for (at, second) in got.iter().enumerate() {
                let Some(first) = got[..at].iter().rfind(|first| first.word == second.word) else { continue };
                let cut = |fault: &&Fault| {
                    fault.kind.cuts_sends()
                        && (has_moved || fault.is_of(node))
                        && fault.is_about(first.at_ms, NEAR_MS)
                };
                if let Some(fault) = self.faults.iter().find(cut) {
                    *causes.entry(fault.kind).or_default() += 1;
                } else {
                    without.push(format!(
                        "chat {chat} of {node}: {} at {} and {}",
                        first.word, first.at_ms, second.at_ms
                    ));
                    wrong.insert(*chat);
                }
            }
        }
        report.inform("answers that came twice", causes.values().sum::<usize>() + without.len());
        report.forbid("answers that came twice without a fault that cuts sends", without);
        for kind in Kind::all() {
            report.inform(kind.words(), self.faults.iter().filter(|fault| fault.kind == kind).count());
            if let Some(doubled) = causes.get(&kind) {
                report.inform("  answers that came twice by it", *doubled);
            }
        }
        wrong
    }

    /// Whether each message had its effect once, on the node of its chat.
    fn effects(
        &self,
        report: &mut Report,
        answers: &BTreeMap<i64, Vec<Answer>>,
        places: &BTreeMap<i64, String>,
    ) -> BTreeSet<i64> {
        let (mut missing, mut twice, mut elsewhere) = (Vec::new(), Vec::new(), Vec::new());
        let (mut unknown, mut wrong) = (0, BTreeSet::new());
        let (workspaces, open) = (self.cluster.workspaces(), self.open());
        for written in &self.chats.written {
            let got = answers.get(&written.chat).into_iter().flatten();
            let mut texts = got.filter(|answer| answer.word == written.word).map(|answer| &answer.text);
            let is_unknown = texts.any(|text| text.contains("outcome is unknown"));
            unknown += usize::from(is_unknown);
            let counts = counts(written, &workspaces);
            let at = places.get(&written.chat).map_or("", String::as_str);
            let row = || format!("chat {}: {} {counts:?}", written.chat, written.word);
            let faults = [
                (counts.is_empty() && !is_unknown && !open.contains(&written.word), &mut missing),
                (counts.iter().map(|(_, count)| count).sum::<usize>() > 1, &mut twice),
                (counts.iter().any(|(node, _)| node.is_some_and(|node| at != node)), &mut elsewhere),
            ];
            for (_, rows) in faults.into_iter().filter(|(is_wrong, _)| *is_wrong) {
                rows.push(row());
                wrong.insert(written.chat);
            }
        }
        report.inform("calls whose outcome is unknown, as their answers say", unknown);
        report.forbid("calls without an effect", missing);
        report.forbid("calls with an effect more than once", twice);
        report.forbid("calls on a node that is not their chat's", elsewhere);
        wrong
    }

    fn led(&self, report: &mut Report) {
        let reigns = leading::reigns(&self.cluster.server);
        let askings = leading::askings(&self.cluster.nodes, self.cluster.telegram.polls());
        report.inform("leaders, one after another", reigns.len());
        report.forbid("leaders at the time of another one, in the table", leading::overlaps(&reigns));
        report.forbid(
            "requests for updates of a node that did not lead",
            leading::unentitled(&askings, &reigns, self.faults),
        );
        report.inform("nodes whose requests Telegram had open at one time", leading::at_once(&askings));
        self.successions(report, &reigns);
    }

    fn successions(&self, report: &mut Report, reigns: &[Reign]) {
        let of_leader = self.faults.iter().filter(|fault| {
            fault.kind.ends_leadership() && (fault.led || fault.kind == Kind::DatabaseKilled)
        });
        let (mut count, mut times, mut details) = (0, Vec::new(), Vec::new());
        for fault in of_leader {
            count += 1;
            let words = fault.kind.words();
            match leading::followed(fault, reigns) {
                Some((after, is_other)) => {
                    let by = if is_other { "another node" } else { "the same node" };
                    println!("  {words}: {by} led after {:.1} s", after as f64 / 1000.0);
                    times.push(usize::try_from(after).unwrap_or(usize::MAX));
                    details.push(format!("{words}: {after} ms"));
                }
                None => println!("  {words}: it led on"),
            }
        }
        println!();
        report.inform("faults of the leader or of PostgreSQL", count);
        report.inform("after which there was a new leader", times.len());
        times.sort_unstable();
        report.inform(
            "milliseconds until then, as the median",
            times.get(times.len() / 2).copied().unwrap_or(0),
        );
        let most = times.last().copied().unwrap_or(0);
        report.measure("milliseconds until then, at most", most, MOST_LEADERLESS_MS, details);
    }

    fn rest(&self, report: &mut Report) {
        report.forbid("supervisors that ended by themselves", self.ended.to_vec());
        for (what, sql) in [
            ("updates that no node has read", "select seq, channel, chat_id, change from received"),
            (
                "tasks that are not over",
                "select id, chat_id, state, node from inbox where state in ('queued', 'in_progress')",
            ),
            (
                "messages that are not marked as sent",
                "select seq, chat_id, state, sender from outbox where state <> 'sent'",
            ),
            ("nodes that are not active", "select name, state from nodes where state <> 'active'"),
        ] {
            report.forbid(what, self.cluster.server.try_ask(sql).unwrap_or_else(|error| vec![error]));
        }
    }
}

/// How often a message had its effect in each workspace.
fn counts<'a>(written: &Written, workspaces: &[(Option<&'a str>, PathBuf)]) -> Vec<(Option<&'a str>, usize)> {
    let count = |(node, root): &(Option<&'a str>, PathBuf)| {
        let text = fs::read_to_string(root.join(format!("{}.txt", written.word))).ok()?;
        let count = text.matches(&written.word).count();
        (count > 0).then_some((*node, count))
    };
    workspaces.iter().filter_map(count).collect()
}
