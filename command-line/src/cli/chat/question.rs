//! The question about a call: put to the person who holds the conversation, or how to answer it from another
//! terminal.

use protocol::question::Question;
use protocol::{EventId, visible};
use serde_json::{Value, json};
use store::queries::short_id::shown;
use texts::Language;
use tokio::runtime::Runtime;
use toolkit::approvals::{Approval, ApprovalState};

use super::super::control_client::ControlClient;
use super::super::error::CommandError;
use super::super::{print, print_error};
use super::lines::Lines;
use supervisor::approvals::words::{self, Choice};

const WHO: &str = "the terminal";

/// Shows the whole call, reads the answer and passes it on. Without an answer, others can decide.
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
    if approval.state != ApprovalState::Pending {
        return Ok(());
    }
    print(&visible::escaped(&words::described(&approval)));
    let decision = match &approval.question {
        Some(question) => answered(lines, question)?,
        None => decided(lines, &approval)?,
    };
    let Some(decision) = decision else {
        print_error(&how_later(id, &approval));
        return Ok(());
    };
    match runtime.block_on(client.send::<Approval>(client.post(&path).json(&decision))) {
        Ok(decided) => print(&words::outcome(&decided, Language::English)),
        Err(CommandError::Refused(why)) => print_error(&why),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// How to decide about a call from another terminal, for a command that does not ask itself. `others` is
/// whether somebody was asked in a chat.
pub(super) async fn how_to_answer(client: &ControlClient, id: &EventId, others: Option<bool>) -> String {
    let approval = client.send::<Approval>(client.get(&format!("/approvals/{id}"))).await;
    let call = approval.as_ref().map_or("a call", |approval| approval.tool.as_str());
    let reason = approval.as_ref().map_or("", |approval| approval.reason.trim());
    let reason = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
    let short = shown(id.as_str());
    if let Ok(Approval { question: Some(_), .. }) = &approval {
        let question = approval.as_ref().map(words::described).unwrap_or_default();
        let text = format!("{question}\nAnswer with `supervisor answer {short} ANSWER`.");
        return visible::escaped(&text).into_owned();
    }
    let asked = match others {
        Some(true) => " The approvers were asked in their chats.",
        Some(false) => " Nobody was asked: no chat has an approver, and this is no conversation.",
        None => "",
    };
    let text = format!(
        "`{call}` waits for a person's decision{reason}.{asked}\n\
         Allow it with `supervisor approve {short}`, or refuse it with `supervisor deny {short}`."
    );
    visible::escaped(&text).into_owned()
}

/// That a call was refused because no person allowed it, and how to be asked.
pub(super) fn refused(why: &str) -> String {
    let text = format!(
        "{why}\nTo be asked, run `supervisor chat` on a terminal, or pair an approver's chat; to allow such \
         calls without a question, write a rule in policy.toml."
    );
    visible::escaped(&text).into_owned()
}

/// What somebody reads who leaves the decision to later.
fn how_later(id: &EventId, approval: &Approval) -> String {
    let short = shown(id.as_str());
    match approval.question {
        Some(_) => format!("It waits: `supervisor answer {short} ANSWER`."),
        None => format!("It waits: `supervisor approve {short}`, or deny {short}."),
    }
}

/// The answer to a question as the control port takes it; none if somebody does not want to answer.
fn answered(lines: &mut Lines<'_>, question: &Question) -> Result<Option<Value>, CommandError> {
    let prompt = match (question.options.is_empty(), question.takes_text) {
        (true, _) => "Your answer: ",
        (false, true) => "A number, or another answer: ",
        (false, false) => "A number: ",
    };
    loop {
        let Some(given) = lines.ask(prompt)? else { return Ok(None) };
        match question.answer_of(&given) {
            Some(answer) => return Ok(Some(json!({"decision": "grant", "answer": answer, "by": WHO}))),
            None => print_error("Answer with one of the numbers. Ctrl-D leaves the question for later."),
        }
    }
}

/// The decision as the control port takes it; none if somebody does not want to decide.
fn decided(lines: &mut Lines<'_>, approval: &Approval) -> Result<Option<Value>, CommandError> {
    let named = |choice: Choice| match choice {
        Choice::Once => "[o]nce",
        Choice::Task => "this [t]ask",
        Choice::Chat => "this [c]hat",
        Choice::Deny => "[d]eny",
    };
    let offered: Vec<Choice> = words::offered(approval).map(|(choice, _)| choice).collect();
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
