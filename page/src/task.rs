//! One task: its message and answer, what it took, its work in time, and its events as a tree.

use maud::{Markup, html};
use protocol::{Event, Plan, StepStatus};
use serde_json::Value;
use store::changes::ChangedFile;
use store::queries::page::Sent;
use store::queries::tasks::Task;

use crate::formatted::{markdown, message};
use crate::frame::button;
use crate::table::{heads, numbers, table};
use crate::tasks::{actions, task_state};
use crate::time::{clock, span, time, took};
use crate::waterfall::waterfall;
use crate::words::{beginning, bytes, encoded, money, number, short, words};
use crate::work::{Attempt, Turn, Work};

/// Events of a page of the tree.
pub const EVENTS_ON_A_PAGE: usize = 50;

/// The channel whose chats get Markdown as it is written.
const TERMINAL: &str = "local";

/// More attempts would not fit beside each other; the newest ones are shown.
const MOST_ATTEMPTS: usize = 8;
const MOST_TURNS: usize = 100;
/// The most that a row of the tree says of its event.
const MOST_FACTS: usize = 160;

/// An event and how deep it lies in the tree.
#[derive(Debug)]
pub struct Leaf {
    pub depth: usize,
    pub event: Event,
}

/// What is shown of a task.
#[derive(Debug)]
pub struct TaskView {
    pub task: Task,
    pub work: Work,
    pub replies: Vec<Sent>,
    pub changes: Vec<ChangedFile>,
    /// A page of the tree, in its order.
    pub leaves: Vec<Leaf>,
    /// Which page, from 1.
    pub page: usize,
    /// How many events there are.
    pub events: usize,
    pub now_ms: i64,
}

/// The whole view.
pub fn task(view: &TaskView) -> Markup {
    html! {
        section id="part-head" aria-label="State" { (head(view)) }
        section id="part-answer" aria-labelledby="answer" { (answer(view)) }
        section id="part-work" aria-label="Work" { (work(view)) }
        section id="part-tree" aria-labelledby="tree" { (tree(view)) }
    }
}

/// The parts that change while the task runs, by the IDs of their elements.
pub fn parts(view: &TaskView) -> Vec<(&'static str, Markup)> {
    vec![
        ("part-head", head(view)),
        ("part-answer", answer(view)),
        ("part-work", work(view)),
        ("part-tree", tree(view)),
    ]
}

fn head(view: &TaskView) -> Markup {
    let TaskView { task, work, now_ms, .. } = view;
    html! {
        p.said { (words(&task.text)) }
        dl.facts {
            dt { "State" }
            dd { (task_state(task)) " " (actions(task)) }
            dt { "Chat" }
            dd {
                a href={ "/tasks?chat=" (encoded(&task.chat_id)) } {
                    (words(&task.channel)) ":" (words(&task.chat_id))
                }
            }
            @if let Some(node) = &task.node { dt { "Node" } dd { (words(node)) } }
            dt { "Came" } dd { (time(task.created_at_ms)) }
            dt { "Took" } dd { (took(task.created_at_ms, task.finished_at_ms, *now_ms)) }
            dt { "Attempts" } dd { (task.attempt) }
            dt { "Tokens" }
            dd { (number(work.input_tokens())) " in, " (number(work.output_tokens())) " out" }
            @if let Some(cost) = work.cost_micros() { dt { "Cost" } dd { (money(Some(cost))) } }
            dt { "ID" } dd { code { (task.id) } }
        }
        @if let Some(error) = &task.error { p.notice.bad { (words(error)) } }
        @if let Some(plan) = &work.plan { (plan_list(plan)) }
    }
}

/// A plan as a list; each step says how far it is.
pub(crate) fn plan_list(plan: &Plan) -> Markup {
    html! {
        div.plan {
            p { (words(&plan.summary)) }
            ol {
                @for step in &plan.steps {
                    @let (class, said) = match step.status {
                        StepStatus::Completed => ("completed", "done: "),
                        StepStatus::InProgress => ("busy", "now: "),
                        StepStatus::Pending => ("pending", ""),
                    };
                    li class=(class) { span.unseen { (said) } (words(&step.step)) }
                }
            }
        }
    }
}

fn answer(view: &TaskView) -> Markup {
    html! {
        h2 id="answer" { "Answer" }
        @if view.replies.is_empty() { p.empty { "There is no answer yet." } }
        @let is_markdown = view.task.channel == TERMINAL && view.task.state == "done";
        @for reply in &view.replies { (sent(reply, is_markdown)) }
    }
}

/// A message that left, or will; `is_markdown` if it left as it was written.
pub(crate) fn sent(reply: &Sent, is_markdown: bool) -> Markup {
    html! {
        div.bubble.theirs {
            @if let Some(name) = &reply.file_name { (file(name, reply.file_id.as_deref(), None)) }
            @if is_markdown { (markdown(&reply.text)) } @else { (message(&reply.text, &reply.entities)) }
            @match reply.state.as_str() {
                "queued" => small { "waits to be sent" },
                "dead" => {
                    p.notice.bad {
                        "Not delivered: " (words(reply.error.as_deref().unwrap_or("")))
                    }
                    @let id = reply.outbox_id.to_string();
                    (button("/act/resend", "Send again", "plain", &[("outbox_id", &id)]))
                }
                _ => {}
            }
        }
    }
}

/// A file of a message, to download where the page has it.
pub(crate) fn file(name: &str, id: Option<&str>, size: Option<u64>) -> Markup {
    html! {
        p.file {
            @match id {
                Some(id) => a href={ "/page-files/" (encoded(id)) } download { (words(name)) },
                None => (words(name)),
            }
            @if let Some(size) = size { " " small { (bytes(size)) } }
        }
    }
}

fn work(view: &TaskView) -> Markup {
    let TaskView { work, changes, task, now_ms, .. } = view;
    let turns: Vec<(&Attempt, &Turn)> = work
        .attempts
        .iter()
        .flat_map(|attempt| attempt.turns.iter().map(move |turn| (attempt, turn)))
        .collect();
    let turns = turns.get(turns.len().saturating_sub(MOST_TURNS)..).unwrap_or_default();
    html! {
        @if !changes.is_empty() {
            h2 { "Changed files" }
            (changed_files(changes))
            (button("/act/undo", "Undo all of it", "bad", &[("id", &task.id)]))
        }
        @if !work.attempts.is_empty() {
            h2 { "Time" }
            (waterfall(work, *now_ms))
            h2 { "Attempts" }
            (attempts(&work.attempts, *now_ms))
        }
        @if !turns.is_empty() {
            h2 { "Turns" }
            (turn_table(turns))
        }
    }
}

/// Files that calls changed, with what undoes each.
pub(crate) fn changed_files(changes: &[ChangedFile]) -> Markup {
    html! {
        ul.changes {
            @for change in changes {
                li {
                    a href={ "/calls/" (encoded(change.call_id.as_str())) } { code { (words(&change.path)) } }
                    " " (button("/act/undo", "Undo", "plain", &[("id", change.call_id.as_str())]))
                }
            }
        }
    }
}

fn attempts(all: &[Attempt], now_ms: i64) -> Markup {
    let shown = &all[all.len().saturating_sub(MOST_ATTEMPTS)..];
    let row = |name: &str, cell: &dyn Fn(&Attempt) -> Markup| {
        html! { tr { th scope="row" { (name) } @for one in shown { td { (cell(one)) } } } }
    };
    let tokens = |one: &Attempt| {
        let count = |of: fn(&Turn) -> i64| number(one.turns.iter().map(of).sum());
        html! { (count(|turn| turn.input_tokens)) " in, " (count(|turn| turn.output_tokens)) " out" }
    };
    let columns = html! { (heads(&["Attempt"])) @for one in shown { th scope="col" { (one.number) } } };
    let rows = html! {
        (row("Model", &|one| html! { (words(&one.model)) }))
        (row("Began", &|one| time(one.began_ms)))
        (row("Took", &|one| took(one.began_ms, one.ended_ms, now_ms)))
        (row("Turns", &|one| html! { (one.turns.len()) }))
        (row("Calls", &|one| html! { (one.calls.len()) }))
        (row("Tokens", &tokens))
        (row("End", &|one| html! { (words(&one.end)) }))
    };
    table("Attempts beside each other", &columns, &rows)
}

fn turn_table(turns: &[(&Attempt, &Turn)]) -> Markup {
    let columns = html! {
        (heads(&["Turn", "Model", "Model took"]))
        (numbers(&["Input", "of it cached", "Output", "Calls", "Cost"]))
    };
    let rows = html! {
        @for (attempt, turn) in turns {
            tr {
                th scope="row" { @if attempt.number > 1 { (attempt.number) "." } (turn.number) }
                td { (words(&turn.model)) }
                td { (turn.model_ms.map_or_else(|| "thinking".to_owned(), span)) }
                td.number { (number(turn.input_tokens)) }
                td.number { (number(turn.cached_input_tokens)) }
                td.number { (number(turn.output_tokens)) }
                td.number { (turn.tool_calls) }
                td.number { (money(turn.cost_micros)) }
            }
        }
    };
    table("Tokens and money of each turn", &columns, &rows)
}

fn tree(view: &TaskView) -> Markup {
    let pages = view.events.div_ceil(EVENTS_ON_A_PAGE).max(1);
    let address = |page: usize| format!("/tasks/{}?page={page}#tree", encoded(&view.task.id));
    html! {
        h2 id="tree" { "Events" }
        ol.tree { @for leaf in &view.leaves { (leaf_row(leaf)) } }
        @if pages > 1 {
            nav.pages aria-label="Pages of events" {
                @if view.page > 1 { a href=(address(view.page - 1)) rel="prev" { "Earlier" } }
                span { "Page " (view.page) " of " (pages) }
                @if view.page < pages { a href=(address(view.page + 1)) rel="next" { "Later" } }
            }
        }
    }
}

fn leaf_row(leaf: &Leaf) -> Markup {
    let event = &leaf.event;
    let kind = event.body.event_type();
    let payload = event.body.payload();
    let depth = leaf.depth.min(8);
    let tone = match kind.rsplit('.').next() {
        Some("failed" | "dead" | "denied" | "exhausted" | "interrupted") => "bad",
        Some("completed" | "done" | "sent" | "granted") => "good",
        _ => "quiet",
    };
    html! {
        li class={ "depth-" (depth) } {
            (clock(event.time_ms)) " "
            @if kind == "tool_call.started" {
                a href={ "/calls/" (encoded(event.id.as_str())) } class={ "event " (tone) } { (kind) }
            } @else {
                span class={ "event " (tone) } { (kind) }
            }
            " " span.facts { (facts(&payload)) }
        }
    }
}

/// What a line says of an event.
pub(crate) fn facts(payload: &Value) -> String {
    const FIRST: [&str; 9] =
        ["tool_name", "arguments", "error", "reason", "text", "output_text", "model_name", "attempt", "turn"];
    let Some(fields) = payload.as_object() else { return String::new() };
    let named = |name: &&str| fields.get(*name).filter(|value| !value.is_null());
    let shown = FIRST.iter().filter_map(|name| Some((name, named(name)?)));
    let parts: Vec<String> = shown
        .map(|(name, value)| match (*name, value) {
            ("tool_name", Value::String(tool)) => tool.clone(),
            (_, Value::String(text)) => beginning(text, MOST_FACTS),
            ("arguments", value) => beginning(&value.to_string(), MOST_FACTS),
            (name, value) => format!("{name} {value}"),
        })
        .collect();
    beginning(&parts.join(" · "), MOST_FACTS)
}

/// The name of a task in a title.
pub fn title(task: &Task) -> String {
    format!("Task {}", short(&task.id))
}
