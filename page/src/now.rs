//! What runs, what waits for a person, and how the parts of the service are.

use maud::{Markup, html};
use protocol::{Event, Plan};
use store::activity::Activity;
use store::nodes::Node;
use store::queries::figures::Figures;
use store::queries::tasks::Task;
use toolkit::approvals::Approval;

use crate::approval::waiting_cards;
use crate::health::{Health, health};
use crate::nodes::nodes;
use crate::task::{facts, plan_list};
use crate::tasks::actions;
use crate::time::{clock, lasting};
use crate::words::{beginning, number, state, task_link, words};

/// A task that has begun and not ended.
#[derive(Debug)]
pub struct Running {
    pub task: Task,
    pub activity: Activity,
    pub plan: Option<Plan>,
    /// Its newest events, oldest first.
    pub events: Vec<Event>,
}

/// What is shown.
#[derive(Debug)]
pub struct Now {
    pub is_ready: bool,
    pub parts: Vec<Health>,
    /// The machines that share the database; none where it is a file.
    pub nodes: Vec<Node>,
    pub running: Vec<Running>,
    /// The calls that wait; none if the tool server gave no answer.
    pub waiting: Option<Vec<Approval>>,
    pub figures: Figures,
    pub now_ms: i64,
}

/// The whole view.
pub fn now(now: &Now) -> Markup {
    html! { @for (id, part) in parts(now) { section id=(id) { (part) } } }
}

/// The parts that change, by the IDs of their elements.
pub fn parts(now: &Now) -> Vec<(&'static str, Markup)> {
    vec![
        ("part-figures", figures(now)),
        ("part-waiting", waits(now)),
        ("part-running", running(now)),
        ("part-health", html! { h2 { "Health" } (health(&now.parts)) }),
        ("part-nodes", html! { @if now.nodes.len() > 1 { h2 { "Nodes" } (nodes(&now.nodes)) } }),
    ]
}

fn figures(now: &Now) -> Markup {
    let Figures { queued, in_progress, waiting, dead, replies, dead_replies, .. } = now.figures;
    let asked = now.waiting.as_ref().and_then(|waiting| i64::try_from(waiting.len()).ok());
    let asked = asked.unwrap_or(waiting.count);
    html! {
        p.summary {
            @if now.is_ready { (state("ok")) " Messages get answered." }
            @else { (state("failed")) " Something that a message needs does not work; see Health." }
        }
        ul.figures {
            @for (count, label, address) in [
                (in_progress.count, "run", "/tasks?state=in_progress"),
                (queued.count, "wait for a worker", "/tasks?state=queued"),
                (asked, "wait for a person", "/approvals"),
                (replies.count, "messages to send", "/tasks"),
                (dead.count, "tasks given up", "/tasks?state=dead"),
                (dead_replies.count, "messages given up", "/tasks?state=done"),
            ] {
                li { a href=(address) { strong { (number(count)) } " " (label) } }
            }
        }
    }
}

fn waits(now: &Now) -> Markup {
    html! {
        h2 { "Waits for you" }
        @match &now.waiting {
            Some(waiting) => (waiting_cards(waiting, now.now_ms)),
            None => p.notice.bad { "The tool server gives no answer about the calls that wait." },
        }
    }
}

fn running(now: &Now) -> Markup {
    html! {
        h2 { "Runs" }
        @if now.running.is_empty() { p.empty { "No task runs." } }
        @for one in &now.running { (running_card(one, now.now_ms)) }
    }
}

fn running_card(one: &Running, now_ms: i64) -> Markup {
    let Running { task, activity, plan, events } = one;
    let doing = match (activity.is_stopping, activity.waits_for_person) {
        (true, _) => "cancelled",
        (false, true) => "waits",
        (false, false) => "in_progress",
    };
    html! {
        article.card {
            h3 {
                (task_link(&task.id)) " " (state(doing)) " "
                small { (words(&task.channel)) ":" (words(&task.chat_id)) }
            }
            p.said { (beginning(&task.text, 200)) }
            p {
                (lasting(activity.since_ms, now_ms)) " · turn " (activity.turn) " · "
                (number(activity.tokens)) " tokens"
                @if task.attempt > 1 { " · attempt " (task.attempt) }
                " " (actions(task))
            }
            @if let Some((tool, arguments)) = &activity.call {
                p { "At work: " code { (words(tool)) " " (beginning(arguments, 160)) } }
            }
            @if let Some(plan) = plan { (plan_list(plan)) }
            ol.tree {
                @for event in events {
                    li {
                        (clock(event.time_ms)) " " span.event { (event.body.event_type()) }
                        " " span.facts { (facts(&event.body.payload())) }
                    }
                }
            }
        }
    }
}
