//! The findings: whether everybody was answered once, in order, and never left without a sign.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::ledger::{Fate, Ledger, Span, Written};
use super::person::GROUP;
use super::trouble::Troubles;
use super::{MEMBERS, model, silence};
use crate::fake_telegram::Sent;
use crate::report::Report;
use crate::{FakeTelegram, System};

/// The longest silence, in milliseconds.
const MOST_SILENCE_MS: usize = 4000;

#[derive(Debug)]
pub(super) struct Inspection<'a> {
    pub(super) system: &'a System,
    pub(super) telegram: &'a FakeTelegram,
    pub(super) ledger: &'a Ledger,
    pub(super) troubles: &'a Troubles,
    pub(super) begun: Instant,
}

impl Inspection<'_> {
    pub(super) fn report(&self) -> Report {
        let mut report = Report::new();
        self.what_happened(&mut report);
        let written = self.ledger.written();
        let answers = self.telegram.sent_that(|sent| !model::answered(&sent.text).is_empty());
        self.answers(&mut report, &written, &answers);
        self.order(&mut report, &written, &answers);
        self.silence(&mut report, &written, &answers);
        report.forbid("what a person did not expect", self.ledger.faults());
        let unsent =
            "select chat_id || ' ' || state || ' ' || coalesce(text, kind) from outbox where state <> 'sent'";
        report.forbid("messages that did not leave", self.system.database().texts(unsent));
        report.forbid("progress messages that stayed behind", self.left_behind());
        report
    }

    fn what_happened(&self, report: &mut Report) {
        let events = |kind: &str| self.system.database().events_of(kind);
        report.inform("words written", self.ledger.written().len());
        report.inform("tasks", events("task.queued"));
        report.inform("messages added to a task that ran", events("task.added"));
        report.inform("edits of messages that waited", events("task.edited"));
        report.inform("questions to a person", events("approval.requested"));
        report.inform("reminders that came", events("schedule.due"));
        report.inform("tasks that were stopped", events("task.cancelled"));
        report.inform("drafts", self.telegram.drafts().len());
        let is_reaction = |sent: &Sent| sent.method == "setmessagereaction";
        report.inform("reactions", self.telegram.sent_that(is_reaction).len());
        report.inform("progress messages and their edits", self.telegram.progress().len());
        report.inform("supervisor kills", self.troubles.supervisor_kills);
        report.inform("child kills", self.troubles.child_kills);
        report.inform("breaks of the network", self.troubles.breaks);
    }

    fn answers(&self, report: &mut Report, written: &[Written], answers: &[Sent]) {
        let mut doubled_sends = Vec::new();
        let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut texts: BTreeSet<(i64, &str)> = BTreeSet::new();
        for sent in answers {
            if !texts.insert((sent.chat_id, &sent.text)) {
                doubled_sends.push(sent.text.clone());
            }
            for word in model::answered(&sent.text) {
                seen.entry(word).or_default().insert(&sent.text);
            }
        }
        let count = |one: &Written| seen.get(one.word.as_str()).map_or(0, BTreeSet::len);
        let named = |one: &Written| format!("{} of {} in {}", one.word, one.by, one.chat);
        let missing = written.iter().filter(|one| one.fate != Fate::Maybe && count(one) == 0);
        report.forbid("words without an answer", missing.map(named).collect());
        let twice = written.iter().filter(|one| one.fate != Fate::Later && count(one) > 1);
        report.forbid("words answered twice", twice.map(named).collect());
        let most = self.troubles.supervisor_kills + self.troubles.breaks;
        report.bound("answers sent twice (at most one per kill or break)", doubled_sends, most);
        let known: BTreeSet<(&str, i64)> = written.iter().map(|one| (one.word.as_str(), one.chat)).collect();
        let elsewhere = answers.iter().filter(|sent| {
            model::answered(&sent.text).iter().any(|word| !known.contains(&(word, sent.chat_id)))
        });
        report.forbid("answers in a wrong chat", elsewhere.map(|sent| sent.text.clone()).collect());
    }

    /// What one person writes in one chat is answered in its order.
    fn order(&self, report: &mut Report, written: &[Written], answers: &[Sent]) {
        let mut wrong = Vec::new();
        let chats: BTreeSet<(i64, i64)> = written.iter().map(|one| (one.chat, one.by)).collect();
        for (chat, by) in chats {
            let own = |one: &&Written| (one.chat, one.by) == (chat, by) && one.fate == Fate::Answered;
            let asked: Vec<&str> = written.iter().filter(own).map(|one| one.word.as_str()).collect();
            let mut got: Vec<&str> = Vec::new();
            let words = answers.iter().filter(|sent| sent.chat_id == chat);
            for word in words.flat_map(|sent| model::answered(&sent.text)) {
                if asked.contains(&word) && !got.contains(&word) {
                    got.push(word);
                }
            }
            let at = got.iter().zip(&asked).position(|(got, asked)| got != asked);
            wrong.extend(at.map(|at| format!("{by} in {chat}: {} instead of {}", got[at], asked[at])));
        }
        report.forbid("people with answers out of order", wrong);
    }

    fn silence(&self, report: &mut Report, written: &[Written], answers: &[Sent]) {
        let mut longest = Vec::new();
        for chat in MEMBERS.iter().map(|member| member.id).chain([GROUP.id]) {
            let (considered, commands) = (self.ledger.considerations(), self.ledger.commands());
            let excused = considered.iter().filter(|span| span.chat == chat);
            let excused: Vec<(Instant, Instant)> = excused
                .map(|span| (span.from, span.to))
                .chain(self.troubles.outages.iter().copied())
                .collect();
            let owed = silence::merged(owed(chat, written, answers, &commands));
            let found = silence::longest(&owed, &self.telegram.signs(chat), &excused);
            longest.extend(found.map(|silence| (silence.time, silence.from, chat)));
        }
        longest.sort_unstable();
        longest.reverse();
        let named = |(time, from, chat): &(std::time::Duration, Instant, i64)| {
            format!("{time:.1?} in {chat}, {:.1?} after the start", from.duration_since(self.begun))
        };
        let most = longest.first().map_or(0, |(time, _, _)| time.as_millis());
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let details = longest.iter().map(named).collect();
        report.measure("longest silence while something runs or waits, ms", most, MOST_SILENCE_MS, details);
    }

    fn left_behind(&self) -> Vec<String> {
        let chats = MEMBERS.iter().map(|member| member.id).chain([GROUP.id]);
        let left = chats.map(|chat| (chat, self.telegram.visible_progress(chat)));
        left.filter(|(_, numbers)| !numbers.is_empty()).map(|left| format!("{left:?}")).collect()
    }
}

/// From each message of a chat to its answer.
fn owed(chat: i64, written: &[Written], answers: &[Sent], commands: &[Span]) -> Vec<Span> {
    let of_chat = written.iter().filter(|one| one.chat == chat && one.fate != Fate::Later);
    let answered = of_chat.filter_map(|one| {
        let is_it = |sent: &&Sent| model::answered(&sent.text).contains(&one.word.as_str());
        let to = answers.iter().find(is_it)?.at;
        Some(Span { chat, from: one.at, to })
    });
    answered.chain(commands.iter().copied().filter(|span| span.chat == chat)).collect()
}
