//! Answers the calls of `plan_create` and `plan_update`, with an event below the turn for each change.

use protocol::{Envelope, ErrorCode, EventId, Plan, ToolError};
use toolkit::{Outcome, runner};

use crate::agent::TaskRun;
use crate::budget::TaskUsage;
use crate::model::ToolCall;
use crate::plans::{Asking, PlanCall};
use crate::question::Question;

/// Answers a call of the turn `turn_id`.
pub(crate) async fn answer(run: &TaskRun<'_>, call: &ToolCall, turn_id: &EventId) -> Envelope {
    runner::answer(&call.name, outcome(run, call, turn_id).await)
}

async fn outcome(run: &TaskRun<'_>, call: &ToolCall, turn_id: &EventId) -> Outcome<Plan> {
    let (plan, notices) = match run.plan.read(call)? {
        PlanCall::Create(plan, notices) => (plan, notices),
        PlanCall::Ask(asking) => ask(run, &asking, turn_id).await?,
        PlanCall::Update(arguments) => {
            let (success, updated) = run.plan.update(arguments)?;
            run.events.record(updated, turn_id).await;
            return Ok(success);
        }
    };
    let (success, created) = run.plan.create(plan, notices);
    run.events.record(created, turn_id).await;
    Ok(success)
}

/// The plan that another model writes.
async fn ask(
    run: &TaskRun<'_>,
    asking: &Asking,
    turn_id: &EventId,
) -> Result<(Plan, Vec<String>), ToolError> {
    let agent = run.agents.named(&asking.model).ok_or_else(|| no_such_model(run, &asking.model))?;
    let question = Question {
        run,
        agent,
        purpose: asking.purpose,
        turn_id,
        system: asking.system,
        text: &asking.text,
        schema: &asking.schema,
    };
    let mut spent = TaskUsage::default();
    let asked = question.ask(&mut spent, |written| asking.accept(written)).await;
    run.plan.spend(spent);
    asked
}

fn no_such_model(run: &TaskRun<'_>, name: &str) -> ToolError {
    let message = format!("`model` is {name:?}, and no such model is configured.");
    let names = run.agents.names().join(", ");
    ToolError::new(ErrorCode::InvalidArgument, message)
        .with_hint(format!("Give `steps` instead, or name one of: {names}."))
}
