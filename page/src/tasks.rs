//! The list of tasks, with what it is filtered by.

use maud::{Markup, html};
use store::queries::tasks::{Counts, STATES, Task};

use crate::frame::button;
use crate::table::cards;
use crate::time::{time, took};
use crate::words::{beginning, encoded, number, short, state, words};

/// What the list is filtered by, as it stands in the address.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub state: String,
    pub chat: String,
    pub tool: String,
    pub text: String,
    /// As `2026-01-31`, in UTC.
    pub day: String,
    /// How many newer ones are left out.
    pub offset: u32,
}

impl Asked {
    fn query(&self, offset: u32) -> String {
        let offset = if offset > 0 { offset.to_string() } else { String::new() };
        let all = [
            ("state", &self.state),
            ("chat", &self.chat),
            ("tool", &self.tool),
            ("text", &self.text),
            ("day", &self.day),
            ("offset", &offset),
        ];
        let given = all.iter().filter(|(_, value)| !value.is_empty());
        let pairs: Vec<String> = given.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        format!("/tasks?{}", pairs.join("&"))
    }
}

/// The tasks that match, newest first, at most `most` of them; one more says that there are older ones.
pub fn tasks(asked: &Asked, listed: &[Task], most: u32, counts: &Counts, now_ms: i64) -> Markup {
    let most_rows = usize::try_from(most).unwrap_or(usize::MAX);
    html! {
        (filter(asked, counts))
        @if listed.is_empty() {
            p.empty { "No task matches." }
        } @else {
            (table(&listed[..listed.len().min(most_rows)], now_ms))
        }
        nav.pages aria-label="Pages" {
            @if asked.offset > 0 {
                a href=(asked.query(asked.offset.saturating_sub(most))) rel="prev" { "Newer" }
            }
            @if listed.len() > most_rows {
                a href=(asked.query(asked.offset.saturating_add(most))) rel="next" { "Older" }
            }
        }
    }
}

fn filter(asked: &Asked, counts: &Counts) -> Markup {
    let count =
        |name: &str| counts.tasks.iter().find(|(state, _)| *state == name).map_or(0, |(_, count)| *count);
    html! {
        form.filter method="get" action="/tasks" role="search" {
            div {
                label for="state" { "State" }
                select id="state" name="state" {
                    option value="" { "any" }
                    @for name in STATES {
                        option value=(name) selected[asked.state == name] {
                            (name.replace('_', " ")) " (" (number(count(name))) ")"
                        }
                    }
                }
            }
            @for (name, label, value, kind) in [
                ("chat", "Chat", &asked.chat, "text"),
                ("tool", "Tool", &asked.tool, "text"),
                ("text", "Text", &asked.text, "search"),
                ("day", "Day (UTC)", &asked.day, "date"),
            ] {
                div { label for=(name) { (label) } input id=(name) name=(name) type=(kind) value=(value); }
            }
            button { "Filter" }
            a href="/tasks" { "All" }
        }
    }
}

fn table(listed: &[Task], now_ms: i64) -> Markup {
    let columns = ["Task", "State", "Chat", "Text", "Came", "Took", "Do"];
    cards("Tasks, newest first", &columns, &html! { @for task in listed { (row(task, now_ms)) } })
}

fn row(task: &Task, now_ms: i64) -> Markup {
    html! {
        tr {
            td { a href={ "/tasks/" (encoded(&task.id)) } { code { (short(&task.id)) } } }
            td {
                (task_state(task))
                @if task.attempt > 1 { small { " attempt " (task.attempt) } }
            }
            td { (words(&task.channel)) ":" (words(&task.chat_id)) }
            td.wide {
                (beginning(&task.text, 90))
                @if let Some(error) = &task.error { br; small { (beginning(error, 90)) } }
            }
            td { (time(task.created_at_ms)) }
            td { (took(task.created_at_ms, task.finished_at_ms, now_ms)) }
            td { (actions(task)) }
        }
    }
}

/// A task's state as a word; one that waits for a person is queued.
pub(crate) fn task_state(task: &Task) -> Markup {
    state(if task.waits_for_person { "waits" } else { &task.state })
}

/// What can be done with a task in its state.
pub(crate) fn actions(task: &Task) -> Markup {
    let action = |verb: &str| format!("/act/tasks/{}/{verb}", encoded(&task.id));
    html! {
        @match task.state.as_str() {
            "queued" | "in_progress" => (button(&action("cancel"), "Cancel", "plain", &[])),
            "dead" | "cancelled" => (button(&action("requeue"), "Run again", "plain", &[])),
            "skipped" if !task.text.is_empty() => (button(&action("requeue"), "Run", "plain", &[])),
            "done" => (button(&action("requeue"), "Run again", "plain", &[("force", "true")])),
            _ => {}
        }
    }
}
