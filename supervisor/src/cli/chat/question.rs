//! The question about a call, put to whoever holds the conversation.

use protocol::{EventId, visible};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::super::control_client::ControlClient;
use super::super::error::CommandError;
use super::super::{print, print_error};
use super::conversation::Lines;
use crate::approvals::Approval;
use crate::approvals::words::{self, Choice};

const WHO: &str = "the terminal";

/// Shows the whole call, reads the answer and passes it on. Whoever gives none leaves it to others.
pub(super) fn put(
    runtime: &Runtime,
    client: &ControlClient,
    lines: &mut Lines<'_>,
    id: &EventId,
) -> Result<(), CommandError> {
    let path = format!("/approvals/{id}");
    let approval: Approval = match runtime.block_on(client.send(client.get(&path))) {
        Ok(approval) => approval,
        // It was forgotten meanwhile.
        Err(CommandError::Refused(_)) => return Ok(()),
        Err(error) => return Err(error),
    };
    if !approval.is_pending() {
        return Ok(());
    }
    print(&visible::escaped(&words::described(&approval)));
    let Some(decision) = answer(lines, &approval)? else {
        let short = &id.as_str()[id.as_str().len().saturating_sub(8)..];
        print_error(&format!("It waits: `supervisor approve {short}`, or deny {short}."));
        return Ok(());
    };
    match runtime.block_on(client.send::<Approval>(client.post(&path).json(&decision))) {
        Ok(decided) => print(&words::outcome(&decided)),
        Err(CommandError::Refused(why)) => print_error(&why),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// The decision as the control port takes it; none if somebody does not want to decide.
fn answer(lines: &mut Lines<'_>, approval: &Approval) -> Result<Option<Value>, CommandError> {
    let named = |choice: Choice| match choice {
        Choice::Once => "[o]nce",
        Choice::Task => "this [t]ask",
        Choice::Chat => "this [c]hat",
        Choice::Deny => "[d]eny",
    };
    let offered: Vec<Choice> = Choice::offered(approval).map(|(choice, _)| choice).collect();
    let choices: Vec<&str> = offered.iter().copied().map(named).collect();
    let prompt = format!("Allow {}? {}: ", visible::escaped(&approval.tool), choices.join(", "));
    loop {
        let Some(given) = lines.ask(&prompt)? else { return Ok(None) };
        let letter: String = given.trim().to_ascii_lowercase().chars().take(1).collect();
        let choice = Choice::of_letter(&letter).filter(|choice| offered.contains(choice));
        let Some(choice) = choice else {
            print_error("Answer with one of the letters in brackets. Ctrl-D leaves the decision to others.");
            continue;
        };
        let (decision, scope) = choice.decision();
        let mut decision = json!({"decision": decision, "scope": scope, "by": WHO});
        if choice == Choice::Deny {
            let Some(reason) = lines.ask("Why? (Enter: no reason) ")? else { return Ok(None) };
            if !reason.trim().is_empty() {
                decision["reason"] = reason.trim().into();
            }
        }
        return Ok(Some(decision));
    }
}
