//! The findings: whether chats, database, journal and files agree at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;

use super::chats::{Chats, Written};
use super::copy::{self, Copies};
use super::kills::Kills;
use super::model;
use crate::report::Report;
use crate::{FakeTelegram, System};

/// A task: what it was asked for and what was added, and what it did.
struct Noted {
    id: String,
    words: Vec<String>,
    attempts: u32,
    started: u32,
    done: u32,
    effects: u32,
    /// Those that a person was asked about.
    asked_effects: u32,
}

impl Noted {
    /// How many words it was asked to note.
    fn asked(&self) -> u32 {
        u32::try_from(self.words.len()).expect("a task has few words")
    }
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
        self.albums(&mut report);
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
        let database = self.system.database();
        let added = database.texts("select text from additions");
        report.inform("… of them added to a task that ran", added.len());
        let stored = [database.texts("select text from inbox"), added].concat();
        let is_stored = |said: &str| stored.iter().any(|text| text.contains(said));
        let lost = self.chats.written().iter().filter(|written| !is_stored(&written.text()));
        report.forbid("messages lost", lost.map(Written::text).collect());
        let open = "select id || ' ' || state from inbox where state not in ('done', 'skipped')";
        report.forbid("tasks that are not done", database.texts(open));
        let unsent = "select coalesce(task_id, text) || ' ' || state from outbox where state <> 'sent'";
        report.forbid("unsent replies", database.texts(unsent));
    }

    fn albums(&self, report: &mut Report) {
        let database = self.system.database();
        let albums = || self.chats.written().iter().filter(|written| written.is_album());
        report.inform("albums sent", albums().count());
        let stored = database.texts("select source from attachments where state = 'stored'");
        let photos = albums().flat_map(Written::photos);
        report.forbid("photos lost", photos.filter(|photo| !stored.contains(photo)).collect());
        let twice = "select source from attachments group by source having count(*) > 1";
        report.forbid("photos stored twice", database.texts(twice));
        let apart = "select album from attachments where album is not null
                     group by album having count(distinct task_id) > 1";
        report.forbid("albums that became several tasks", database.texts(apart));
        let told = database.texts("select text from inbox where text like '%[Files came with%'");
        let lists = |written: &&Written| {
            let text = told.iter().find(|text| text.contains(&written.word));
            text.is_some_and(|text| text.matches("\n- photo: /").count() == written.photos().len())
        };
        let unlisted = albums().filter(|written| !lists(written));
        report.forbid("albums whose task does not list all photos", unlisted.map(Written::text).collect());
    }

    fn replies(&self, report: &mut Report) {
        let replies = Chats::replies(self.telegram);
        let all: BTreeSet<&str> = replies.values().flatten().flatten().map(String::as_str).collect();
        let missing = self.chats.written().iter().filter(|written| !all.contains(written.word.as_str()));
        report.forbid("missing replies", missing.map(Written::text).collect());
        let mut doubled = Vec::new();
        let mut disordered = Vec::new();
        let may_be_disordered = Chats::that_wait_for_files(self.telegram);
        report.inform("chats whose files came late", may_be_disordered.len());
        for (chat, mut replies) in replies {
            let twice = replies.windows(2).filter(|pair| pair[0] == pair[1]);
            doubled.extend(twice.map(|pair| format!("{:?} in {chat}", pair[0])));
            replies.dedup();
            let (mut words, mut asked) = (replies.concat(), self.chats.asked_by(chat));
            if may_be_disordered.contains(&chat) {
                words.sort_unstable();
                asked.sort_unstable();
            }
            if words != asked {
                disordered.push(format!("{chat}: {}", first_difference(&words, &asked)));
            }
        }
        report.bound("duplicate replies (at most one per supervisor kill)", doubled, self.kills.supervisor);
        report.forbid("chats with replies out of order", disordered);
    }

    fn calls(&self, report: &mut Report) {
        let database = self.system.database();
        let count = |status: &str| {
            database.size(&format!("select count(*) from tool_calls where status = '{status}'"))
        };
        report.inform("tool calls done", count("done"));
        report.inform("tool calls failed", count("failed"));
        report.inform("tool calls marked as interrupted", count("interrupted"));
        let running = "select id from tool_calls where status in ('running', 'queued')";
        report.forbid("unfinished tool calls that are not marked", database.texts(running));
        let tasks = self.noted();
        let files = database.size("select count(*) from outbox where kind = 'document'");
        report.inform("files queued for a chat", files);
        let repeated = tasks.iter().filter(|task| task.effects > task.asked()).count();
        report.inform("effects repeated because the first outcome was unknown", repeated);
        let having = |wrong: fn(&Noted) -> bool| {
            tasks.iter().filter(|task| wrong(task)).map(ToString::to_string).collect()
        };
        report.forbid("completed calls without an effect", having(|note| note.effects < note.done));
        report.forbid("effects without a call", having(|note| note.effects > note.started));
        let too_many = having(|note| note.effects > note.attempts * note.asked());
        report.forbid("more than one effect per attempt", too_many);
    }

    /// The tasks that had words to note, and what came of each. That its files were stored is no call of it.
    fn noted(&self) -> Vec<Noted> {
        let query = "select task.id, task.attempt, count(call.id),
                         count(call.id) filter (where call.status = 'done'),
                         task.text || coalesce(
                             (select string_agg(text, ' ') from additions where task_id = task.id), '')
                     from inbox as task left join tool_calls as call
                         on call.task_id = task.id
                             and call.tool_name in ('bash', 'write', 'telegram_send_file')
                     where task.state <> 'skipped' group by task.id, task.attempt, task.text";
        let rows = self.system.database().rows(query, |row| {
            let (id, attempts, started, done) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((id, attempts, started, done, row.get::<String>(4)?))
        });
        let noted = rows.into_iter().map(|(id, attempts, started, done, text)| {
            let own: Vec<&Written> =
                self.chats.written().iter().filter(|written| text.contains(&written.word)).collect();
            let sum = |of: &mut dyn Iterator<Item = &&Written>| of.map(|one| effects(self.system, one)).sum();
            let effects = sum(&mut own.iter());
            let asked_effects = sum(&mut own.iter().filter(|one| model::needs_approval(&one.word)));
            let words = own.iter().map(|one| one.word.clone()).collect();
            Noted { id, words, attempts, started, done, effects, asked_effects }
        });
        noted.filter(|task| !task.words.is_empty()).collect()
    }

    fn approvals(&self, report: &mut Report) {
        let database = self.system.database();
        report.inform("attempts that ended to wait for a person", database.events_of("task.parked"));
        report.inform("questions", database.events_of("approval.requested"));
        report.inform("answered with a no", database.events_of("approval.denied"));
        report.inform("answered with a yes", database.events_of("approval.granted"));
        let twice = "select payload ->> 'approval_id' from events where type = 'approval.used'
                     group by 1 having count(*) > 1";
        report.forbid("decisions that were used twice", database.texts(twice));
        let without = "select used.payload ->> 'approval_id' from events as used
                       where used.type = 'approval.used' and not exists (
                           select 1 from events as yes where yes.type = 'approval.granted'
                               and yes.payload ->> 'approval_id' = used.payload ->> 'approval_id')";
        report.forbid("decisions that were used without a yes", database.texts(without));
        let used = "select task_id, count(*) from events
                    where type = 'approval.used' and task_id is not null group by task_id";
        let yes = database.rows(used, |row| Ok((row.get(0)?, row.get(1)?)));
        let yes: BTreeMap<String, u32> = yes.into_iter().collect();
        let tasks = self.noted();
        let more = tasks.iter().filter_map(|task| {
            let yes = yes.get(&task.id).copied().unwrap_or(0);
            (task.asked_effects > yes).then(|| format!("{task}, {yes} decisions"))
        });
        report.forbid("effects without a yes of their own", more.collect());
        report.forbid("presses that were not passed on", database.texts("select approval_id from decisions"));
    }

    fn records(&self, report: &mut Report) {
        let verified = self.system.run_tool_server(&["journal", "verify"]);
        let said = String::from_utf8_lossy(&verified.stderr).into_owned();
        let breaks = (!verified.status.success()).then_some(said);
        report.forbid("breaks in the journal's chain", breaks.into_iter().collect());
        let database = self.system.database();
        let events = database.texts("select id from events where type like 'tool_call.%'");
        let events: BTreeSet<String> = events.into_iter().collect();
        let journal = fs::read_to_string(self.system.dir().journal()).unwrap_or_default();
        let records: Vec<String> = journal.lines().filter_map(call_record).collect();
        report.inform("call records in the journal", records.len());
        let missing = records.into_iter().filter(|id| !events.contains(id)).collect();
        report.forbid("journal records missing from the events", missing);
        let fault = database.file().and_then(|file| copy::checked(file).err());
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
        let Self { words, attempts, started, done, effects, .. } = self;
        write!(f, "{words:?}: {attempts} attempts, {started} calls, {done} done, {effects} effects")
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
