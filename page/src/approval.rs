//! A call that waits for a person, with everything that a decision needs.

use maud::{Markup, html};
use protocol::approval::{ApprovalDecision, ApprovalScope};
use redaction::HIDDEN;
use toolkit::approvals::{Approval, ApprovalState, Decided};

use crate::call::arguments;
use crate::diff::{diff_or_text, is_diff};
use crate::formatted::markdown;
use crate::table::cards;
use crate::time::{lasting, span, time};
use crate::words::{encoded, short, state, task_link, words};

/// The list of what waits, and of what was decided.
pub fn approvals(waiting: &[Approval], decided: &[Approval], now_ms: i64) -> Markup {
    html! {
        section id="part-waiting" aria-label="Waiting calls" { (waiting_cards(waiting, now_ms)) }
        section aria-labelledby="decided" {
            h2 id="decided" { "Decided" }
            @if decided.is_empty() {
                p.empty {
                    "No decision is known to the tool server. Older ones are in the tree of their task."
                }
            } @else {
                (cards("Decided calls", &["When", "Call", "Decision", "By", "Reason"], &html! {
                    @for one in decided { (decided_row(one)) }
                }))
            }
        }
    }
}

/// The calls that wait, or that none does.
pub fn waiting_cards(waiting: &[Approval], now_ms: i64) -> Markup {
    html! {
        @if waiting.is_empty() { p.empty { "No call waits for you." } }
        @for one in waiting { (approval_card(one, now_ms)) }
    }
}

fn decided_row(approval: &Approval) -> Markup {
    let decided = approval.decision.as_ref();
    html! {
        tr {
            td { (time(decided.map_or(approval.expires_at_ms, |decided| decided.decided_at_ms))) }
            td {
                a href={ "/approvals/" (encoded(approval.id.as_str())) } { (words(&approval.tool)) }
                @if let Some(task) = &approval.task_id {
                    " " a href={ "/tasks/" (encoded(task.as_str())) } { "task " (short(task.as_str())) }
                }
            }
            td { (state(state_name(approval))) " " (decided.map(scope).unwrap_or_default()) }
            td { (words(decided.and_then(|decided| decided.by.as_deref()).unwrap_or("—"))) }
            td { (words(decided.and_then(|decided| decided.reason.as_deref()).unwrap_or(""))) }
        }
    }
}

fn scope(decided: &Decided) -> &'static str {
    match (decided.decision, decided.scope) {
        (ApprovalDecision::Grant, ApprovalScope::Task) => "for the task",
        (ApprovalDecision::Grant, ApprovalScope::Chat) => "for the chat",
        (ApprovalDecision::Grant, ApprovalScope::Call) | (ApprovalDecision::Deny, _) => "",
    }
}

fn state_name(approval: &Approval) -> &'static str {
    match (approval.state, approval.decision.as_ref().map(|decided| decided.decision)) {
        (ApprovalState::Pending, _) => "waits",
        (_, Some(ApprovalDecision::Grant)) => "granted",
        (_, Some(ApprovalDecision::Deny)) => "denied",
        (_, None) => "expired",
    }
}

/// One call, with the form that decides about it while it waits.
pub fn approval_card(approval: &Approval, now_ms: i64) -> Markup {
    let address = format!("/approvals/{}", encoded(approval.id.as_str()));
    html! {
        article.card.waits id={ "approval-" (approval.id) } {
            h3 {
                a href=(address) { code { (words(&approval.tool)) } }
                " " span class={ "risk " (approval.risk.name()) } { (approval.risk.name()) " risk" }
                " " (state(state_name(approval)))
            }
            p {
                (words(&approval.reason)) " "
                small { "Rule: " (words(&approval.rule)) }
            }
            (facts(approval, now_ms))
            @match &approval.question {
                Some(question) => p.question { (words(&question.text)) },
                None => (call(approval)),
            }
            @if approval.state == ApprovalState::Pending { (decision(approval)) }
        }
    }
}

fn facts(approval: &Approval, now_ms: i64) -> Markup {
    html! {
        dl.facts {
            dt { "Chat" } dd { (words(approval.session.as_str())) }
            @if let Some(task) = &approval.task_id {
                dt { "Task" } dd { (task_link(task.as_str())) }
            }
            dt { "Asked" }
            dd { (time(approval.created_at_ms)) " (" (lasting(approval.created_at_ms, now_ms)) ")" }
            @if approval.state == ApprovalState::Pending {
                dt { "Ends" } dd { "in " (span(approval.expires_at_ms - now_ms)) }
            }
            @if !approval.hosts.is_empty() {
                dt { "Reaches" } dd { (words(&approval.hosts.join(", "))) }
            }
            @for circumstance in &approval.circumstances {
                dt { "Note" } dd { (words(circumstance)) }
            }
            @if approval.is_scheduled { dt { "Note" } dd { "A schedule began this task." } }
            @if let Some(covers) = &approval.covers {
                dt { "A yes for more covers" } dd { (markdown(covers)) }
            }
        }
    }
}

fn call(approval: &Approval) -> Markup {
    let arguments_text = serde_json::to_string(&approval.arguments).unwrap_or_default();
    let hides = [&approval.preview, &arguments_text].iter().any(|text| text.contains(HIDDEN));
    html! {
        @if !approval.preview.is_empty() { (diff_or_text(&approval.preview)) }
        @if is_diff(&approval.preview) {
            details { summary { "All arguments" } (arguments(&approval.arguments)) }
        } @else {
            h4 { "Arguments" }
            (arguments(&approval.arguments))
        }
        @if hides {
            p {
                a href={ "/approvals/" (encoded(approval.id.as_str())) "?reveal=true" } { "Show the secrets" }
            }
        }
    }
}

fn decision(approval: &Approval) -> Markup {
    let reason = format!("reason-{}", approval.id);
    html! {
        form.decision method="post" action={ "/act/approvals/" (encoded(approval.id.as_str())) } {
            @if let Some(question) = &approval.question {
                @for option in &question.options {
                    button.good name="option" value=(option) { (words(option)) }
                }
                @if question.takes_text {
                    label for=(reason) { "Your answer" }
                    input id=(reason) name="answer" maxlength="4096" autocomplete="off";
                    button.good name="choice" value="answer" { "Answer" }
                }
            } @else {
                button.good name="choice" value="once" { "Allow once" }
                @if approval.covers.is_some() && approval.task_id.is_some() {
                    button name="choice" value="task" { "Allow for the task" }
                }
                @if approval.covers.is_some() { button name="choice" value="chat" { "Allow for the chat" } }
                label for=(reason) { "Reason" }
                input id=(reason) name="reason" maxlength="500" autocomplete="off"
                    placeholder="the model reads it";
            }
            button.bad name="choice" value="deny" { "Refuse" }
        }
    }
}
