//! The verdict: what was lost, doubled, out of order or without its record, as a table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;

use rusqlite::Connection;

use super::blow::Blows;
use super::chats::{Chats, Written};
use super::copy::Copies;
use crate::{System, TelegramServer};

/// What is left after an ordeal.
#[derive(Debug)]
pub struct Verdict {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    what: &'static str,
    found: usize,
    /// None: the number only informs.
    most: Option<usize>,
    details: Vec<String>,
}

/// A task as the database has it at the end.
struct Noted {
    attempts: u32,
    started: u32,
    done: u32,
    effects: u32,
}

impl Verdict {
    /// Looks at a system that was stopped.
    pub(super) fn reach(
        system: &System,
        telegram: &TelegramServer,
        chats: &Chats,
        blows: &Blows,
        copies: &Copies,
        is_answered: bool,
    ) -> Self {
        let mut verdict = Self { rows: Vec::new() };
        verdict.inform("processes killed: the supervisor, and its children with it", blows.supervisor);
        verdict.inform("processes killed: a child alone", blows.children);
        verdict.inform("messages written", chats.written().len());
        verdict.messages(system, chats);
        verdict.replies(telegram, chats, blows);
        verdict.calls(system, chats);
        verdict.records(system);
        verdict.copies(copies);
        if !is_answered {
            verdict.forbid("replies that did not come in time", vec![system.log_tail()]);
        }
        verdict
    }

    /// Whether nothing is wrong.
    pub fn holds(&self) -> bool {
        self.rows.iter().all(Row::holds)
    }

    fn messages(&mut self, system: &System, chats: &Chats) {
        let stored = system.database().texts("select text from inbox");
        let stored: BTreeSet<&str> = stored.iter().map(String::as_str).collect();
        let lost = chats.written().iter().filter(|written| !stored.contains(written.text().as_str()));
        self.forbid("messages lost", lost.map(Written::text).collect());
        let open = "select id || ' ' || state from inbox where state not in ('done', 'skipped')";
        self.forbid("tasks that are not done", system.database().texts(open));
        let unsent = "select task_id || ' ' || state from outbox where state <> 'sent'";
        self.forbid("replies that were not sent", system.database().texts(unsent));
    }

    fn replies(&mut self, telegram: &TelegramServer, chats: &Chats, blows: &Blows) {
        let replies = Chats::replies(telegram);
        let all: BTreeSet<&str> = replies.values().flatten().map(String::as_str).collect();
        let missing = chats.written().iter().filter(|written| !all.contains(written.word.as_str()));
        self.forbid("replies missing", missing.map(Written::text).collect());
        let mut doubled = Vec::new();
        let mut disordered = Vec::new();
        for (chat, mut words) in replies {
            let twice = words.windows(2).filter(|pair| pair[0] == pair[1]);
            doubled.extend(twice.map(|pair| format!("{} in {chat}", pair[0])));
            words.dedup();
            if words != chats.asked_by(chat) {
                disordered.push(format!("{chat}: {}", first_difference(&words, &chats.asked_by(chat))));
            }
        }
        self.bound("replies doubled, at most one for each kill of the supervisor", doubled, blows.supervisor);
        self.forbid("chats whose replies are out of order", disordered);
    }

    fn calls(&mut self, system: &System, chats: &Chats) {
        let database = system.database();
        let count = |status: &str| {
            let query = format!("select count(*) from tool_calls where status = '{status}'");
            usize::try_from(database.count(&query)).unwrap_or_default()
        };
        self.inform("tool calls done", count("done"));
        self.inform("tool calls failed", count("failed"));
        self.inform("tool calls without an end, marked as interrupted", count("interrupted"));
        let running = "select id from tool_calls where status in ('running', 'queued')";
        self.forbid("tool calls without an end that are not marked", database.texts(running));
        let mut notes = noted(system);
        let words = chats.written().iter().map(|written| {
            let effects = effects(system, written);
            (written.word.as_str(), notes.remove(&written.text()).map(|note| Noted { effects, ..note }))
        });
        let words: Vec<(&str, Noted)> =
            words.filter_map(|(word, note)| note.map(|note| (word, note))).collect();
        self.inform(
            "effects repeated by a later attempt, which was not told of their end",
            words.iter().filter(|(_, n)| n.effects > 1).count(),
        );
        let having = |wrong: fn(&Noted) -> bool| {
            let found = words.iter().filter(|(_, note)| wrong(note));
            found.map(|(word, note)| format!("{word}: {note}")).collect()
        };
        self.forbid("calls done without their effect", having(|note| note.effects < note.done));
        self.forbid("effects without their call", having(|note| note.effects > note.started));
        self.forbid("effects beyond one for each attempt", having(|note| note.effects > note.attempts));
    }

    fn records(&mut self, system: &System) {
        let verified = system.run_tool_server(&["journal", "verify"]);
        let said = String::from_utf8_lossy(&verified.stderr).into_owned();
        self.forbid(
            "breaks in the journal",
            (!verified.status.success()).then_some(said).into_iter().collect(),
        );
        let events: BTreeSet<String> = system
            .database()
            .texts("select id from events where type like 'tool_call.%'")
            .into_iter()
            .collect();
        let journal = fs::read_to_string(system.place().data().join("journal/tool-calls.jsonl"));
        let journal = journal.unwrap_or_default();
        let records: Vec<String> = journal.lines().filter_map(call_record).collect();
        self.inform("records of calls in the journal", records.len());
        self.forbid(
            "records that are not among the events",
            records.into_iter().filter(|id| !events.contains(id)).collect(),
        );
        let database = Connection::open(system.place().data().join("db/autonous.db"));
        let checked = database.and_then(|database| {
            database.query_row("pragma integrity_check", [], |row| row.get::<_, String>(0))
        });
        let fault =
            checked.map_or_else(|error| Some(error.to_string()), |said| (said != "ok").then_some(said));
        self.forbid("faults found by integrity_check", fault.into_iter().collect());
    }

    fn copies(&mut self, copies: &Copies) {
        self.inform("copies of a stopped supervisor's database", copies.taken);
        self.inform("confirmed updates looked for in them", copies.confirmed);
        self.forbid("copies that are broken or lack one", copies.faults.clone());
    }

    fn inform(&mut self, what: &'static str, found: usize) {
        self.rows.push(Row { what, found, most: None, details: Vec::new() });
    }

    fn forbid(&mut self, what: &'static str, details: Vec<String>) {
        self.bound(what, details, 0);
    }

    fn bound(&mut self, what: &'static str, details: Vec<String>, most: usize) {
        self.rows.push(Row { what, found: details.len(), most: Some(most), details });
    }
}

impl Row {
    fn holds(&self) -> bool {
        self.most.is_none_or(|most| self.found <= most)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, found, most, .. } = self;
        match most {
            None => write!(f, "  {what:<64} {found:>6}"),
            Some(most) => {
                let verdict = if self.holds() { "ok" } else { "WRONG" };
                write!(f, "  {what:<64} {found:>6}   at most {most:<4} {verdict}")
            }
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            writeln!(f, "{row}")?;
            if !row.holds() {
                row.details.iter().take(10).try_for_each(|detail| writeln!(f, "      {detail}"))?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Noted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attempts, started, done, effects } = self;
        write!(f, "{attempts} attempts, {started} calls, {done} of them done, {effects} effects")
    }
}

/// Where the replies of a chat leave the order of its messages.
fn first_difference(got: &[String], asked: &[&str]) -> String {
    let at = got.iter().zip(asked).position(|(got, asked)| got != asked);
    match at {
        Some(at) => format!("reply {at} has {} instead of {}", got[at], asked[at]),
        None => format!("{} replies to {} messages", got.len(), asked.len()),
    }
}

/// The tasks by their messages, with their calls counted.
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

/// How often a word stands in its file.
fn effects(system: &System, written: &Written) -> u32 {
    let text = fs::read_to_string(system.workspace().join(written.file())).unwrap_or_default();
    let count = text.lines().filter(|line| *line == written.word).count();
    u32::try_from(count).expect("a word is noted a few times")
}

/// The id of a record that tells of a call.
fn call_record(line: &str) -> Option<String> {
    let record: serde_json::Value = serde_json::from_str(line).ok()?;
    let is_of_call = record["type"].as_str()?.starts_with("tool_call.");
    is_of_call.then(|| record["id"].as_str().map(str::to_owned)).flatten()
}
