//! The tools: what was called, how it ended and how long it took; and a form to try one.

use maud::{Markup, html};
use serde_json::Value;
use store::queries::page::ToolFigures;

use crate::form;
use crate::formatted::markdown;
use crate::table::{heads, numbers, table};
use crate::time::span;
use crate::words::{beginning, encoded, number, words};

/// The upper ends of the histogram's columns, in milliseconds.
pub use store::queries::page::BUCKETS_MS;

/// A tool of the catalogue.
#[derive(Debug, Clone)]
pub struct Tool {
    pub name: String,
    pub description: String,
    pub risk: String,
    pub input_schema: Value,
}

/// All tools, with the figures of so many days.
pub fn tools(catalogue: Option<&[Tool]>, figures: &[ToolFigures], days: i64) -> Markup {
    let listed = catalogue.unwrap_or_default();
    let unlisted = figures.iter().filter(|one| !listed.iter().any(|tool| tool.name == one.tool));
    let of = |name: &str| figures.iter().find(|one| one.tool == name);
    let columns = html! {
        (heads(&["Tool", "Risk"])) (numbers(&["Calls", "Failed", "Refused", "Median"]))
        (heads(&["Latency", "Description"]))
    };
    html! {
        @if catalogue.is_none() { p.notice.bad { "The tool server gives no answer; its list is missing." } }
        p { "Calls of the last " (days) " days." }
        (table("Tools with their calls", &columns, &html! {
            @for tool in listed { (row(&tool.name, Some(tool), of(&tool.name))) }
            @for one in unlisted { (row(&one.tool, None, Some(one))) }
        }))
    }
}

fn row(name: &str, tool: Option<&Tool>, figures: Option<&ToolFigures>) -> Markup {
    let count = |of: fn(&ToolFigures) -> i64| figures.map_or(0, of);
    html! {
        tr {
            th scope="row" {
                @if tool.is_some() { a href={ "/tools/" (encoded(name)) } { code { (words(name)) } } }
                @else { code { (words(name)) } }
            }
            td { @if let Some(tool) = tool { span class={ "risk " (tool.risk) } { (tool.risk) } } }
            td.number {
                a href={ "/tasks?tool=" (encoded(name)) } { (number(count(|one| one.calls))) }
            }
            td.number { (number(count(|one| one.failed))) }
            td.number { (number(count(|one| one.refused))) }
            td.number { @if let Some(figures) = figures { (median(figures)) } }
            td { @if let Some(figures) = figures { (histogram(name, figures)) } }
            td.wide { @if let Some(tool) = tool { (beginning(&tool.description, 70)) } }
        }
    }
}

/// The column that the call in the middle is in.
fn median(figures: &ToolFigures) -> String {
    let ended: i64 = figures.histogram.iter().sum();
    let mut seen = 0;
    let middle = figures.histogram.iter().position(|count| {
        seen += count;
        seen * 2 >= ended && ended > 0
    });
    match middle {
        Some(at) => BUCKETS_MS.get(at).map_or_else(|| "longer".to_owned(), |ms| format!("≤ {}", span(*ms))),
        None => String::new(),
    }
}

fn histogram(name: &str, figures: &ToolFigures) -> Markup {
    const STEP: i64 = 12;
    const HEIGHT: i64 = 28;
    let most = figures.histogram.iter().copied().max().unwrap_or(0).max(1);
    let width = STEP * i64::try_from(figures.histogram.len()).unwrap_or(1);
    let label = |at: usize| {
        BUCKETS_MS.get(at).map_or_else(|| "longer".to_owned(), |ms| format!("at most {}", span(*ms)))
    };
    let said: Vec<String> = figures
        .histogram
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0)
        .map(|(at, count)| format!("{}: {count}", label(at)))
        .collect();
    html! {
        svg.histogram viewBox={ "0 0 " (width) " " (HEIGHT) } role="img"
            aria-label={ "Latency of " (words(name)) ": " (said.join(", ")) } {
            @for ((at, count), x) in figures.histogram.iter().enumerate().zip((0..).step_by(12)) {
                @let height = (count * (HEIGHT - 2) / most).max(i64::from(*count > 0) * 2);
                g {
                    title { (label(at)) ": " (count) }
                    rect.bar.call x=(x + 1) y=(HEIGHT - height) width=(STEP - 2) height=(height) {}
                }
            }
        }
    }
}

/// What a call that was tried led to.
#[derive(Debug)]
pub struct Tried {
    pub ok: bool,
    /// The text form that a model reads.
    pub text: String,
    /// The whole envelope.
    pub envelope: String,
    pub call_id: Option<String>,
}

/// One tool, with a form to try it, filled with what was `given` last.
pub fn tool(tool: &Tool, given: &[(String, String)], session: &str, tried: Option<&Tried>) -> Markup {
    html! {
        p { span class={ "risk " (tool.risk) } { (tool.risk) " risk" } }
        (markdown(&tool.description))
        @if let Some(tried) = tried { (result(tried)) }
        h2 { "Try it" }
        p {
            "The call is real: it passes the guards, waits for a decision where the rules ask, and stands in "
            "the journal."
        }
        form method="post" action={ "/tools/" (encoded(&tool.name)) "/try" } {
            (form::fields(&tool.input_schema, given))
            div.field {
                label for="field-session" { "Session" }
                input id="field-session" name="~session" value=(session) required;
                small { "Whose directories and locks the call uses, such as " code { "page:main" } }
            }
            button.good { "Call " (words(&tool.name)) }
        }
        details {
            summary { "Schema of the arguments" }
            pre tabindex="0" { (words(&format!("{:#}", tool.input_schema))) }
        }
    }
}

fn result(tried: &Tried) -> Markup {
    html! {
        section.card aria-labelledby="result" {
            h2 id="result" { "Result" }
            @if tried.ok { p.notice role="status" { "The call succeeded." } }
            @else { p.notice.bad role="alert" { "The call did not succeed." } }
            pre tabindex="0" { (words(&tried.text)) }
            @if let Some(id) = &tried.call_id {
                p { a href={ "/calls/" (encoded(id)) } { "The call in the events" } }
            }
            details { summary { "Envelope" } pre tabindex="0" { (words(&tried.envelope)) } }
        }
    }
}
