//! Plans: what a task is to do, step by step.
//!
//! `plan_create` and `plan_update` change only the conversation. So they are functions of the worker and no
//! tools: their arguments are checked against their schemas, each change is an event below its turn, and
//! nothing else guards them.

pub(crate) mod create;
mod update;

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use protocol::event::{PlanCreated, PlanUpdated};
use protocol::{ErrorCode, Plan, Task, ToolError, ToolSpec};
use toolkit::function::{Function, FunctionError};
use toolkit::{Success, locked, runner};

use crate::budget::TaskUsage;
use crate::model::ToolCall;
use create::CreateArguments;
use update::UpdateArguments;

/// What of the functions is the same for all tasks of an agent.
pub(crate) struct PlanFunctions {
    create: Function<CreateArguments>,
    update: Function<UpdateArguments>,
    /// `AUTONOUS_TOOL_DISABLED`.
    disabled: BTreeSet<String>,
    is_offered: bool,
}

/// The plan of one task.
pub(crate) struct TaskPlan<'a> {
    functions: &'a PlanFunctions,
    plan: Mutex<Option<Plan>>,
    /// Whether the functions were last offered when there was a plan.
    was_planned: AtomicBool,
    /// What requests of `plan_create` took since it was last asked for.
    spent: Mutex<TaskUsage>,
}

impl PlanFunctions {
    /// The functions, which `is_offered` puts into the catalogue of tasks.
    pub(crate) fn new(disabled: BTreeSet<String>, is_offered: bool) -> Result<Self, FunctionError> {
        let create = Function::new::<Plan>(create::ABOUT, None)?;
        let update = Function::new::<Plan>(update::ABOUT, None)?;
        Ok(Self { create, update, disabled, is_offered })
    }

    /// Whether a call of this name is one of a function, on or off.
    pub(crate) fn has(name: &str) -> bool {
        toolkit::WORKER_FUNCTIONS.contains(&name)
    }
}

impl<'a> TaskPlan<'a> {
    /// The plan of a task, which may have one from an earlier attempt.
    pub(crate) fn new(functions: &'a PlanFunctions, task: &Task) -> Self {
        let plan = Mutex::new(task.earlier.plan.clone());
        Self { functions, plan, was_planned: AtomicBool::new(false), spent: Mutex::default() }
    }

    /// The functions that are on, sorted by name. Without a plan there is nothing to update.
    pub(crate) fn offered(&self) -> impl Iterator<Item = &'a ToolSpec> {
        let functions = self.functions;
        let is_planned = locked(&self.plan).is_some();
        self.was_planned.store(is_planned, Ordering::Relaxed);
        let all = [(functions.create.spec(), true), (functions.update.spec(), is_planned)];
        let on = all.into_iter().filter(|(spec, is_useful)| {
            *is_useful && functions.is_offered && !functions.disabled.contains(&spec.name)
        });
        on.map(|(spec, _)| spec)
    }

    /// Whether other functions are on than were last offered.
    pub(crate) fn has_changed(&self) -> bool {
        locked(&self.plan).is_some() != self.was_planned.load(Ordering::Relaxed)
    }

    /// The plan, as it is now.
    pub(crate) fn plan(&self) -> Option<Plan> {
        locked(&self.plan).clone()
    }

    /// What requests of `plan_create` took since this was last asked.
    pub(crate) fn take_spent(&self) -> TaskUsage {
        std::mem::take(&mut *locked(&self.spent))
    }

    /// Adds what a request of `plan_create` took.
    pub(crate) fn spend(&self, spent: TaskUsage) {
        *locked(&self.spent) += spent;
    }

    /// What a call asks for.
    pub(crate) fn read(&self, call: &ToolCall) -> Result<PlanCall, ToolError> {
        let (functions, name) = (self.functions, call.name.as_str());
        if functions.disabled.contains(name) {
            return Err(runner::disabled(name));
        }
        let arguments = call.arguments.as_bytes();
        if name != create::NAME {
            return functions.update.parse(arguments).map(PlanCall::Update);
        }
        let arguments = functions.create.parse(arguments)?;
        Ok(match arguments.plan()? {
            Some((plan, notices)) => PlanCall::Create(plan, notices),
            None => PlanCall::Ask(arguments),
        })
    }

    /// Gives the task a plan.
    pub(crate) fn create(&self, plan: Plan, notices: Vec<String>) -> (Success<Plan>, PlanCreated) {
        *locked(&self.plan) = Some(plan.clone());
        let stdout = format!("{plan}\nCall `plan_update` whenever a step is done.\n");
        let created = PlanCreated { plan: plan.clone() };
        (Success { stdout, data: plan, notices, ..Success::default() }, created)
    }

    /// Sets the status of a step of the plan.
    pub(crate) fn update(
        &self,
        arguments: UpdateArguments,
    ) -> Result<(Success<Plan>, PlanUpdated), ToolError> {
        let mut plan = locked(&self.plan);
        let plan = plan.as_mut().ok_or_else(|| {
            ToolError::new(ErrorCode::NotFound, "This task has no plan.")
                .with_hint("Make one with `plan_create` first, or continue without.")
        })?;
        let (notices, updated) = arguments.apply(plan)?;
        let stdout = format!("{}\n", plan.recap());
        Ok((Success { stdout, data: plan.clone(), notices, ..Success::default() }, updated))
    }
}

/// What a call asks for.
pub(crate) enum PlanCall {
    /// A plan, and what of it was not taken as it was written.
    Create(Plan, Vec<String>),
    /// A plan that another model writes.
    Ask(CreateArguments),
    /// Another status of a step.
    Update(UpdateArguments),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_is_described_as_all_tools_of_all_programs_are() {
        let functions = PlanFunctions::new(BTreeSet::new(), true).unwrap();
        let specs = [functions.create.spec(), functions.update.spec()];
        let found: Vec<String> = specs.into_iter().flat_map(toolkit::catalogue_rules::breaches).collect();
        assert_eq!(found, Vec::<String>::new());
    }
}
