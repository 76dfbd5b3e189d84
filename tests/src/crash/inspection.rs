//! The findings: whether chats, database, journal and files agree at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;

use super::chats::{Chats, Written};
use super::copy::{self, Copies};
use super::kills::Kills;
use super::model;
use super::report::Report;
use crate::{FakeTelegram, System};

struct Noted {
    attempts: u32,
    started: u32,
    done: u32,
    effects: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Inspection<'a> {
    pub(super) system: &'a System,
    pub(super) telegram: &'a FakeTelegram,
    pub(super) chats: &'a Chats,
    pub(super) kills: &'a Kills,
    pub(super) copies: &'a Copies,
    /// Whether every message was answered in time.
    pub(super) is_answered: bool,
}

impl Inspection<'_> {
    pub(super) fn report(&self) -> Report {
        let mut report = Report::new();
        report.inform("supervisor kills (its children end with it)", self.kills.supervisor);
        report.inform("child kills", self.kills.children);
        report.inform("messages sent", self.chats.written().len());
        self.messages(&mut report);
        self.replies(&mut report);
        self.calls(&mut report);
        self.approvals(&mut report);
        self.records(&mut report);
        self.copied(&mut report);
        if !self.is_answered {
            report.forbid("replies that did not arrive in time", vec![self.system.log_tail()]);
        }
        report
    }

    fn messages(&self, report: &mut Report) {
        let stored = self.system.database().texts("select text from inbox");
        let stored: BTreeSet<&str> = stored.iter().map(String::as_str).collect();
        let lost = self.chats.written().iter().filter(|written| !stored.contains(written.text().as_str()));
        report.forbid("messages lost", lost.map(Written::text).collect());
        let open = "select id || ' ' || state from inbox where state not in ('done', 'skipped')";
        report.forbid("tasks that are not done", self.system.database().texts(open));
        let unsent = "select coalesce(task_id, text) || ' ' || state from outbox where state <> 'sent'";
        report.forbid("unsent replies", self.system.database().texts(unsent));
    }

    fn replies(&self, report: &mut Report) {
        let replies = Chats::replies(self.telegram);
        let all: BTreeSet<&str> = replies.values().flatten().map(String::as_str).collect();
        let missing = self.chats.written().iter().filter(|written| !all.contains(written.word.as_str()));
        report.forbid("missing replies", missing.map(Written::text).collect());
        let mut doubled = Vec::new();
        let mut disordered = Vec::new();
        for (chat, mut words) in replies {
            let twice = words.windows(2).filter(|pair| pair[0] == pair[1]);
            doubled.extend(twice.map(|pair| format!("{} in {chat}", pair[0])));
            words.dedup();
            if words != self.chats.asked_by(chat) {
                disordered.push(format!("{chat}: {}", first_difference(&words, &self.chats.asked_by(chat))));
            }
        }
        report.bound("duplicate replies (at most one per supervisor kill)", doubled, self.kills.supervisor);
        report.forbid("chats with replies out of order", disordered);
    }

    fn calls(&self, report: &mut Report) {
        let database = self.system.database();
        let count = |status: &str| {
            let query = format!("select count(*) from tool_calls where status = '{status}'");
            usize::try_from(database.count(&query)).unwrap_or_default()
        };
        report.inform("tool calls done", count("done"));
        report.inform("tool calls failed", count("failed"));
        report.inform("tool calls marked as interrupted", count("interrupted"));
        let running = "select id from tool_calls where status in ('running', 'queued')";
        report.forbid("unfinished tool calls that are not marked", database.texts(running));
        let mut notes = noted(self.system);
        let words = self.chats.written().iter().map(|written| {
            let effects = effects(self.system, written);
            (written.word.as_str(), notes.remove(&written.text()).map(|note| Noted { effects, ..note }))
        });
        let words: Vec<(&str, Noted)> =
            words.filter_map(|(word, note)| note.map(|note| (word, note))).collect();
        report.inform(
            "files queued for a chat",
            usize::try_from(database.count("select count(*) from outbox where kind = 'document'"))
                .unwrap_or_default(),
        );
        report.inform(
            "effects repeated because the first outcome was unknown",
            words.iter().filter(|(_, n)| n.effects > 1).count(),
        );
        let having = |wrong: fn(&Noted) -> bool| {
            let found = words.iter().filter(|(_, note)| wrong(note));
            found.map(|(word, note)| format!("{word}: {note}")).collect()
        };
        report.forbid("completed calls without an effect", having(|note| note.effects < note.done));
        report.forbid("effects without a call", having(|note| note.effects > note.started));
        report.forbid("more than one effect per attempt", having(|note| note.effects > note.attempts));
    }

    fn approvals(&self, report: &mut Report) {
        let database = self.system.database();
        let count = |event: &str| {
            let query = format!("select count(*) from events where type = '{event}'");
            usize::try_from(database.count(&query)).unwrap_or_default()
        };
        report.inform("attempts that ended to wait for a person", count("task.parked"));
        report.inform("questions", count("approval.requested"));
        report.inform("answered with a no", count("approval.denied"));
        report.inform("answered with a yes", count("approval.granted"));
        let twice = "select payload ->> 'approval_id' from events where type = 'approval.used'
                     group by 1 having count(*) > 1";
        report.forbid("decisions that were used twice", database.texts(twice));
        let without = "select used.payload ->> 'approval_id' from events as used
                       where used.type = 'approval.used' and not exists (
                           select 1 from events as yes where yes.type = 'approval.granted'
                               and yes.payload ->> 'approval_id' = used.payload ->> 'approval_id')";
        report.forbid("decisions that were used without a yes", database.texts(without));
        let yes: BTreeMap<String, u32> = database
            .rows(
                "select task.text, count(*) from events as used join inbox as task on task.id = used.task_id
                 where used.type = 'approval.used' group by task.id",
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .into_iter()
            .collect();
        let asked = self.chats.written().iter().filter(|written| model::needs_approval(&written.word));
        let more = asked.filter_map(|written| {
            let (effects, yes) =
                (effects(self.system, written), yes.get(&written.text()).copied().unwrap_or(0));
            (effects > yes).then(|| format!("{}: {effects} effects, {yes} decisions", written.word))
        });
        report.forbid("effects without a yes of their own", more.collect());
        report.forbid("presses that were not passed on", database.texts("select approval_id from decisions"));
    }

    fn records(&self, report: &mut Report) {
        let verified = self.system.run_tool_server(&["journal", "verify"]);
        let said = String::from_utf8_lossy(&verified.stderr).into_owned();
        report.forbid(
            "breaks in the journal's chain",
            (!verified.status.success()).then_some(said).into_iter().collect(),
        );
        let events: BTreeSet<String> = self
            .system
            .database()
            .texts("select id from events where type like 'tool_call.%'")
            .into_iter()
            .collect();
        let journal = fs::read_to_string(self.system.dir().journal());
        let journal = journal.unwrap_or_default();
        let records: Vec<String> = journal.lines().filter_map(call_record).collect();
        report.inform("call records in the journal", records.len());
        report.forbid(
            "journal records missing from the events",
            records.into_iter().filter(|id| !events.contains(id)).collect(),
        );
        let fault = copy::checked(&self.system.dir().data().join("db/autonous.db")).err();
        report.forbid("integrity_check errors", fault.into_iter().collect());
    }

    fn copied(&self, report: &mut Report) {
        report.inform("database copies of a stopped supervisor", self.copies.taken);
        report.inform("confirmed updates checked in them", self.copies.confirmed);
        report.forbid("broken or incomplete copies", self.copies.faults.clone());
    }
}

impl fmt::Display for Noted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attempts, started, done, effects } = self;
        write!(f, "{attempts} attempts, {started} calls, {done} done, {effects} effects")
    }
}

/// The first reply that is out of order.
fn first_difference(got: &[String], asked: &[&str]) -> String {
    let at = got.iter().zip(asked).position(|(got, asked)| got != asked);
    match at {
        Some(at) => format!("reply {at} is {} instead of {}", got[at], asked[at]),
        None => format!("{} replies to {} messages", got.len(), asked.len()),
    }
}

fn noted(system: &System) -> BTreeMap<String, Noted> {
    let query =
        "select task.text, task.attempt, count(call.id), count(call.id) filter (where call.status = 'done')
                 from inbox as task left join tool_calls as call on call.task_id = task.id
                 where task.state <> 'skipped' group by task.id";
    let rows = system.database().rows(query, |row| {
        let note = Noted { attempts: row.get(1)?, started: row.get(2)?, done: row.get(3)?, effects: 0 };
        Ok((row.get(0)?, note))
    });
    rows.into_iter().collect()
}

fn effects(system: &System, written: &Written) -> u32 {
    if model::is_sent(&written.word) {
        let sent = "select count(*) from outbox where kind = 'document' and text = ";
        let count = system.database().count(&format!("{sent}'{}'", written.word));
        return u32::try_from(count).expect("a word is sent only a few times");
    }
    let text = fs::read_to_string(system.workspace().join(written.file())).unwrap_or_default();
    let count = text.lines().filter(|line| *line == written.word).count();
    u32::try_from(count).expect("a word is noted only a few times")
}

fn call_record(line: &str) -> Option<String> {
    let record: serde_json::Value = serde_json::from_str(line).ok()?;
    let is_of_call = record["type"].as_str()?.starts_with("tool_call.");
    is_of_call.then(|| record["id"].as_str().map(str::to_owned)).flatten()
}
