//! `todo_update`: adds to the to-do list, or moves an item to the done ones.
//!
//! The lists are Markdown files in the `state` root, which people and models edit, too. A change of both is
//! one change, so that no kill loses an item or leaves it in both; and it holds only if the files are what
//! they were when they were read, else it is worked out again.

mod files;
mod list;
mod people;
mod reference;

use std::sync::Mutex;

use files::{Files, Lists, chat_of};
use jiff::Timestamp;
use protocol::{Annotations, ErrorCode, Risk, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::contacts::ACTIVE;
use toolkit::policy::Touches;
use toolkit::{Call, Failure, Outcome, Scope, Slot, Success, Tool, locked, names_no_files};

use crate::state_files;
use crate::tool_context::ToolContext;
use list::{Item, Kind};
use reference::{is_valid, references};

/// How often a change is worked out again because another program has changed the lists.
const TRIES: usize = 5;

/// The most items that an error names.
const MOST_NAMED: usize = 10;

/// Adds to the to-do list, or completes an item.
///
/// # Details
///
/// The lists are `TODO.md` and `TODO.DONE.md` in the `state` root; other lines in them stay. Behind
/// the name of each of `people` that one contact alone has stands a reference, such as `Anna (tg:@anna)`. An
/// item is completed by its text, or by a part of it that no other item has, letter case aside.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TodoArguments {
    action: Action,
    /// The item.
    #[schemars(length(min = 1, max = 2000))]
    content: String,
    /// To add: the names of those who say it, hear it, or are in it; may be empty.
    #[serde(default)]
    people: Option<Vec<String>>,
    /// The chat it belongs to, as `tg:<number>`; this one by default.
    #[serde(default)]
    chat_id: Option<String>,
}

/// What to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// A new item.
    #[default]
    Add,
    /// It is done.
    Complete,
}

/// What was done.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct TodoData {
    /// What was asked for.
    action: Action,
    /// How many items there are now.
    updated_counts: Counts,
    /// How many items moved.
    changed: Changed,
    /// The item.
    entry: Entry,
    /// What the caller may not expect: an item that was there already, a person without a reference.
    warnings: Vec<String>,
}

/// How many items the lists have.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Counts {
    /// In `TODO.md`.
    open_count: usize,
    /// In `TODO.DONE.md`.
    done_count: usize,
}

/// What a call changed.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Changed {
    /// Items that came into `TODO.md`.
    wip_added: usize,
    /// Items that left it.
    wip_removed: usize,
    /// Items that came into `TODO.DONE.md`.
    done_added: usize,
}

/// An item.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct Entry {
    /// As `2026-11-22 09:00`, in UTC.
    created_at: String,
    /// The same, once it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    done_at: Option<String>,
    /// Its text.
    content: String,
}

/// What a call found that named no single item.
#[derive(Debug, Serialize)]
struct Ambiguous {
    /// The texts of the items that fit.
    candidates: Vec<String>,
}

pub(crate) struct TodoUpdate {
    context: ToolContext,
    /// Held while the lists are changed, so that calls at the same time do not undo each other's work.
    changing: Mutex<()>,
}

impl TodoUpdate {
    pub(super) fn new(context: ToolContext) -> Self {
        Self { context, changing: Mutex::new(()) }
    }
}

impl Tool for TodoUpdate {
    type Arguments = TodoArguments;
    type Data = TodoData;
    const NAME: &'static str = "todo_update";
    const RISK: Risk = Risk::Medium;
    const ANNOTATIONS: Annotations = Annotations { destructive: false, ..Annotations::ACTS };
    const SLOT: Slot = Slot::File;

    fn example(&self) -> Value {
        json!({"action": "add", "content": "Call Anna about the report", "people": ["Anna"]})
    }

    fn is_offered(&self) -> bool {
        self.context.workspaces.whole().has_state()
    }

    fn touches(&self, arguments: &Value, scope: &Scope) -> Touches {
        let names = files::named(&arguments["action"]);
        let paths = names.iter().flat_map(|name| self.context.paths_touched(&state_files::path(name), scope));
        Touches { paths: paths.collect(), ..Touches::nothing() }
    }

    names_no_files!();

    fn misfit(&self, arguments: &Value) -> Option<String> {
        misfit(arguments)
    }

    fn run(&self, arguments: TodoArguments, call: &Call) -> Outcome<TodoData> {
        if !self.is_offered() {
            let error = ToolError::new(ErrorCode::ToolNotAllowed, "There is no `state` root for the lists.");
            return Err(error
                .with_hint(
                    "Ask the operator to add a directory called `state` to AUTONOUS_TOOL_ALLOWED_ROOTS.",
                )
                .into());
        }
        let roots = self.context.workspaces.of(&call.scope)?;
        let files = Files { context: &self.context, roots: &roots, call };
        let chat_id = arguments.chat_id.as_deref().map(checked_chat).transpose()?;
        let content = arguments.content.split_whitespace().collect::<Vec<_>>().join(" ");
        if content.is_empty() {
            return Err(invalid("content is required: what to do, or what is done.").into());
        }
        let _changing = locked(&self.changing);
        let data = match (arguments.action, arguments.people) {
            (Action::Add, None) => {
                return Err(invalid("people is required for add action")
                    .with_hint("Name those who say it, hear it, or are in it; [] for nobody.")
                    .into());
            }
            (Action::Add, Some(people)) => {
                add(&files, &content, &people, chat_id.or_else(|| chat_of(&call.scope)))?
            }
            (Action::Complete, _) => complete(&files, &content, chat_id.as_deref())?,
        };
        let verb = match (&data.action, data.changed.wip_added + data.changed.done_added) {
            (_, 0) => "Is on the list already",
            (Action::Add, _) => "Added",
            (Action::Complete, _) => "Completed",
        };
        let Counts { open_count, done_count } = data.updated_counts;
        let stdout = format!("{verb}: {}\n{open_count} open, {done_count} done.\n", data.entry.content);
        Ok(Success { stdout, notices: data.warnings.clone(), data, ..Success::default() })
    }
}

/// The contract's own words for arguments that do not fit.
fn misfit(arguments: &Value) -> Option<String> {
    let text = |name: &str| arguments[name].as_str().map(str::trim).unwrap_or_default();
    let is_missing =
        |name: &str| arguments[name].is_null() || arguments[name].as_str().is_some_and(str::is_empty);
    if is_missing("action") {
        return Some("action is required: `add` or `complete`.".to_owned());
    }
    if !["add", "complete"].contains(&text("action")) {
        let given = toolkit::arguments::elide(&arguments["action"].to_string(), 60);
        return Some(format!("invalid action: {given}; it is `add` or `complete`."));
    }
    if is_missing("content") {
        return Some("content is required: what to do, or what is done.".to_owned());
    }
    let is_texts = |people: &Vec<Value>| people.iter().all(Value::is_string);
    if !arguments["people"].is_null() && !arguments["people"].as_array().is_some_and(is_texts) {
        return Some("people must be an array of strings.".to_owned());
    }
    None
}

fn checked_chat(chat_id: &str) -> Result<String, ToolError> {
    let number = chat_id.strip_prefix("tg:").and_then(|number| number.parse::<i64>().ok());
    match number.filter(|number| *number != 0) {
        Some(number) => Ok(format!("tg:{number}")),
        None => Err(invalid(format!("`chat_id` is {chat_id:?}; it must be tg:<number>, and not tg:0."))),
    }
}

fn add(
    files: &Files<'_>,
    content: &str,
    people: &[String],
    chat_id: Option<String>,
) -> Result<TodoData, ToolError> {
    let (text, mut warnings) = with_references(files, content, people)?;
    for _ in 0..TRIES {
        let mut lists = files.read()?;
        let same = lists.open.items().map(|(_, item)| item).find(|item| item.says(&text));
        if let Some(same) = same {
            warnings.push(format!("duplicate_not_added: an open item says the same: {}", same.text));
            return Ok(data(Action::Add, &lists, Changed::default(), &same, warnings));
        }
        let (now, created_at) = now();
        let item = Item { created_at, done_at: None, chat_id: chat_id.clone(), text: text.clone() };
        lists.open.add(&item, &now);
        if files.write(&lists)? {
            let changed = Changed { wip_added: 1, ..Changed::default() };
            return Ok(data(Action::Add, &lists, changed, &item, warnings));
        }
    }
    Err(contended())
}

/// The text with a reference behind each person that one contact alone is, and a warning for each other.
fn with_references(
    files: &Files<'_>,
    content: &str,
    people: &[String],
) -> Result<(String, Vec<String>), ToolError> {
    let given = references(content);
    if people.is_empty() && given.is_empty() {
        return Ok((content.to_owned(), Vec::new()));
    }
    let contacts = state_files::contacts(files.roots, ACTIVE)?;
    for reference in given {
        if reference.trim().is_empty() {
            return Err(invalid("missing_reference_id: a name has empty parentheses.")
                .with_hint("Write the name alone, or a reference such as (tg:@anna) behind it."));
        }
        if !is_valid(reference) {
            return Err(invalid(format!("invalid reference id: {reference}")).with_hint(
                "References are tg:<number>, tg:@<username>, slack:<id>, discord:<id> and maep:<id>.",
            ));
        }
        if !people::is_reachable(&contacts, reference) {
            return Err(invalid(format!("reference id is not reachable: {reference}"))
                .with_hint("It is in no contact of contacts/ACTIVE.md; write the name alone."));
        }
    }
    Ok(people::with_references(content, people, &contacts))
}

fn complete(files: &Files<'_>, content: &str, chat_id: Option<&str>) -> Result<TodoData, Failure> {
    for _ in 0..TRIES {
        let mut lists = files.read()?;
        let of_chat = |item: &Item| chat_id.is_none_or(|chat| item.chat_id.as_deref() == Some(chat));
        let items: Vec<(usize, Item)> = lists.open.items().filter(|(_, item)| of_chat(item)).collect();
        let (index, item) = meant(content, &items)?.clone();
        let (now, done_at) = now();
        let done = Item { done_at: Some(done_at), ..item };
        lists.done.add(&done, &now);
        lists.open.remove(index, &now);
        if files.write(&lists)? {
            let changed = Changed { wip_added: 0, wip_removed: 1, done_added: 1 };
            return Ok(data(Action::Complete, &lists, changed, &done, Vec::new()));
        }
    }
    Err(contended().into())
}

/// The one item that a text names: by its whole text, else by a part of it.
fn meant<'a>(content: &str, items: &'a [(usize, Item)]) -> Result<&'a (usize, Item), Failure> {
    let mut found: Vec<_> = items.iter().filter(|(_, item)| item.says(content)).collect();
    if found.is_empty() {
        found = items.iter().filter(|(_, item)| item.has(content)).collect();
    }
    match found.as_slice() {
        [only] => Ok(only),
        [] => {
            let nearest = items.iter().map(|(_, item)| &item.text).min_by(|one, other| {
                let likeness =
                    |text: &str| strsim::jaro_winkler(&text.to_lowercase(), &content.to_lowercase());
                likeness(other).total_cmp(&likeness(one))
            });
            let hint = match nearest {
                Some(nearest) => format!("The nearest is {nearest:?}. Call again with an item's whole text."),
                None => "There is no open item.".to_owned(),
            };
            let message = format!("no matching todo item in {}", Kind::Open.file());
            Err(ToolError::new(ErrorCode::NoMatch, message).with_hint(hint).into())
        }
        several => {
            let candidates: Vec<String> =
                several.iter().take(MOST_NAMED).map(|(_, item)| item.text.clone()).collect();
            let message = format!("ambiguous todo item match: {}", candidates.join("; "));
            let hint = "Call again with the whole text of the one that is meant, or with `chat_id`.";
            let error = ToolError::new(ErrorCode::NotUnique, message).with_hint(hint);
            Err(Failure::with_data(error, &Ambiguous { candidates }))
        }
    }
}

fn contended() -> ToolError {
    let message = "Another program keeps changing the lists; nothing was changed.";
    ToolError { retryable: true, ..ToolError::new(ErrorCode::Conflict, message).with_hint("Call again.") }
}

fn data(action: Action, lists: &Lists, changed: Changed, item: &Item, warnings: Vec<String>) -> TodoData {
    let updated_counts = Counts { open_count: lists.open.count(), done_count: lists.done.count() };
    let Item { created_at, done_at, text, .. } = item.clone();
    TodoData {
        action,
        updated_counts,
        changed,
        entry: Entry { created_at, done_at, content: text },
        warnings,
    }
}

/// Now, as RFC 3339 and as items have it.
fn now() -> (String, String) {
    let now = Timestamp::now();
    (now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(), now.strftime("%Y-%m-%d %H:%M").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_do_not_fit_are_told_in_the_words_of_the_contract() {
        for (arguments, part) in [
            (json!({"content": "x"}), "action is required"),
            (json!({"action": "", "content": "x"}), "action is required"),
            (json!({"action": "drop", "content": "x"}), "invalid action: \"drop\""),
            (json!({"action": 3, "content": "x"}), "invalid action: 3"),
            (json!({"action": "add"}), "content is required"),
            (json!({"action": "add", "content": ""}), "content is required"),
            (
                json!({"action": "add", "content": "x", "people": "Anna"}),
                "people must be an array of strings",
            ),
            (json!({"action": "add", "content": "x", "people": [1]}), "people must be an array of strings"),
        ] {
            assert!(misfit(&arguments).unwrap_or_default().starts_with(part), "{arguments}");
        }
        assert_eq!(misfit(&json!({"action": "add", "content": "x", "people": []})), None);
    }

    #[test]
    fn a_chat_is_a_number_of_telegram() {
        for (session, expected) in [
            ("telegram:4711", Some("tg:4711")),
            ("telegram:-1001:12", Some("tg:-1001")),
            ("local:4711", None),
            ("telegram:x", None),
        ] {
            assert_eq!(chat_of(&session.parse().unwrap()).as_deref(), expected, "{session}");
        }
        assert_eq!(checked_chat("tg:-5").unwrap(), "tg:-5");
        for wrong in ["tg:0", "tg:", "5", "tg:abc", "slack:5"] {
            assert!(checked_chat(wrong).is_err(), "{wrong}");
        }
    }
}
