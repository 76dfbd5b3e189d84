//! The worker's own tools: those that need a model.
//!
//! They are tools like the tool server's: the same runner checks and records their calls, whose events hang
//! under the turn. A tool runs on a thread that may block and holds nothing of its task; what it needs of it
//! (an answer of the model, an event) it asks for over its [`TaskLink`], and the task's own future does that.
//! So a cancel or the wall time ends it like everything else, and no tool opens a file or a connection.

mod link;
mod plan_create;
mod plan_update;
mod question;
mod recorder;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use protocol::{Envelope, Plan, ToolSpec};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;
use toolkit::runner::WorkingDirectory;
use toolkit::{
    Bounds, DEFAULT_MAX_COMMANDS, Redactor, Registry, RegistryError, Request, Runner, RunnerSettings, Tool,
};

use crate::budget::TaskUsage;
use crate::model::ToolCall;
use crate::prompt::PromptForm;
use crate::tool_client::CallContext;
use link::TaskLink;
pub(crate) use link::{Prompt, Wish};
use plan_create::PlanCreate;
use plan_update::PlanUpdate;
use recorder::LinkRecorder;

/// How long a call may take: requests to the model are retried meanwhile. The task's own limit is shorter.
const TIMEOUT: Duration = Duration::from_secs(660);

/// The plan of a task, which its tools change and its conversation shows.
pub(crate) type SharedPlan = Arc<Mutex<Option<Plan>>>;

/// What of the tools is the same for all tasks of an agent.
#[derive(Debug)]
pub(crate) struct OwnTools {
    /// `AUTONOUS_TOOL_DISABLED`.
    disabled: BTreeSet<String>,
    /// Whether there is a model that could be asked.
    has_model: bool,
    offered: Vec<ToolSpec>,
}

/// The tools of one task.
pub(crate) struct TaskTools<'a> {
    own: &'a OwnTools,
    link: TaskLink,
    wishes: tokio::sync::Mutex<UnboundedReceiver<Wish>>,
    runner: OnceLock<Arc<Runner>>,
    plan: SharedPlan,
    /// Whether the catalogue was last asked for when there was a plan.
    was_planned: AtomicBool,
    /// What requests of tools took since it was last asked for.
    spent: Mutex<TaskUsage>,
}

impl OwnTools {
    /// A small model pays too much for each tool and plans badly, so it is offered none.
    pub(crate) fn new(
        disabled: BTreeSet<String>,
        has_model: bool,
        form: PromptForm,
    ) -> Result<Self, RegistryError> {
        let registry = registry(&TaskLink::dead(), &SharedPlan::default(), has_model)?;
        let is_on = |spec: &&ToolSpec| match form {
            PromptForm::Full => registry.is_offered(&spec.name) && !disabled.contains(&spec.name),
            PromptForm::Compact => false,
        };
        let offered = registry.specs().filter(is_on).cloned().collect();
        Ok(Self { disabled, has_model, offered })
    }

    /// Whether a tool is the worker's, on or off.
    pub(crate) fn has(name: &str) -> bool {
        protocol::WORKER_TOOLS.contains(&name)
    }
}

/// A tool that panicked holding it left a whole value: each change is one assignment.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The list of tools.
fn registry(link: &TaskLink, plan: &SharedPlan, has_model: bool) -> Result<Registry, RegistryError> {
    let link = || link.clone();
    Registry::new().with(PlanCreate { link: link(), plan: Arc::clone(plan), has_model })?.with(PlanUpdate {
        link: link(),
        plan: Arc::clone(plan),
        has_model,
    })
}

impl<'a> TaskTools<'a> {
    /// The tools of a task that may have a plan from an earlier attempt.
    pub(crate) fn new(own: &'a OwnTools, plan: Option<Plan>) -> Self {
        let (link, wishes) = TaskLink::new();
        let plan = Arc::new(Mutex::new(plan));
        let was_planned = AtomicBool::new(false);
        let (wishes, runner) = (wishes.into(), OnceLock::new());
        Self { own, link, wishes, runner, plan, was_planned, spent: Mutex::default() }
    }

    /// The tools that are on, sorted by name. Without a plan there is nothing to update, and most tasks have
    /// none.
    pub(crate) fn offered(&self) -> impl Iterator<Item = &'a ToolSpec> {
        let is_planned = locked(&self.plan).is_some();
        self.was_planned.store(is_planned, Ordering::Relaxed);
        self.own.offered.iter().filter(move |spec| is_planned || spec.name != PlanUpdate::NAME)
    }

    /// Whether other tools are on than were last offered.
    pub(crate) fn has_changed(&self) -> bool {
        locked(&self.plan).is_some() != self.was_planned.load(Ordering::Relaxed)
    }

    /// The task's plan, as it is now.
    pub(crate) fn plan(&self) -> Option<Plan> {
        locked(&self.plan).clone()
    }

    /// What requests of tools took since this was last asked.
    pub(crate) fn take_spent(&self) -> TaskUsage {
        std::mem::take(&mut *locked(&self.spent))
    }

    /// Runs a call. `fulfil` does for its tool what only the task can do, unless the call ends first, and
    /// says what that took.
    pub(crate) async fn call<F>(
        &self,
        call: &ToolCall,
        caller: CallContext<'_>,
        fulfil: impl Fn(Wish, CancellationToken) -> F,
    ) -> Envelope
    where
        F: Future<Output = Option<TaskUsage>>,
    {
        let runner = self.runner();
        let request = Request {
            session: caller.task.session_id.clone(),
            task: Some(caller.task.task_id.clone()),
            parent: Some(caller.turn_id.clone()),
            ..Request::new(call.name.as_str(), call.arguments.as_str())
        };
        let mut wishes = self.wishes.lock().await;
        // A call that was given up may still have wished for something.
        while wishes.try_recv().is_ok() {}
        let ended = CancellationToken::new();
        let running = async {
            let envelope = runner.run(request).await;
            ended.cancel();
            envelope
        };
        let serving = async {
            loop {
                tokio::select! {
                    biased;
                    Some(wish) = wishes.recv() => {
                        if let Some(spent) = fulfil(wish, ended.clone()).await {
                            *locked(&self.spent) += spent;
                        }
                    }
                    () = ended.cancelled() => return,
                }
            }
        };
        tokio::join!(running, serving).0
    }

    /// Most tasks need none.
    fn runner(&self) -> Arc<Runner> {
        Arc::clone(self.runner.get_or_init(|| self.new_runner()))
    }

    fn new_runner(&self) -> Arc<Runner> {
        let registry = registry(&self.link, &self.plan, self.own.has_model);
        let registry = registry.expect("the same list was a registry at the start");
        let settings = RunnerSettings {
            disabled: self.own.disabled.clone(),
            timeout: TIMEOUT,
            max_commands: DEFAULT_MAX_COMMANDS,
            bounds: Bounds::default(),
            cwd: WorkingDirectory::Shared(String::new()),
            policy: Arc::default(),
            approvals: None,
            token_variable: "",
            url: String::new(),
            state_dir: None,
        };
        let recorder = Arc::new(LinkRecorder(self.link.clone()));
        let runner = Runner::new(registry, settings, recorder, Arc::new(Redactor::new([])))
            .expect("only a state directory can fail, and there is none");
        Arc::new(runner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tools: &OwnTools, plan: Option<Plan>) -> Vec<&str> {
        TaskTools::new(tools, plan).offered().map(|spec| spec.name.as_str()).collect()
    }

    #[test]
    fn the_catalogue_has_the_tools_that_are_on_and_that_settings_may_name() {
        let tools = |disabled: &[&str], has_model, form| {
            let disabled = disabled.iter().map(|name| (*name).to_owned()).collect();
            OwnTools::new(disabled, has_model, form).unwrap()
        };
        let plan = || Some(Plan::default());
        let all = tools(&[], true, PromptForm::Full);
        assert_eq!(names(&all, plan()), protocol::WORKER_TOOLS);
        assert_eq!(names(&all, None), ["plan_create"]);
        let fewer = tools(&["plan_create", "bash"], true, PromptForm::Full);
        assert_eq!(names(&fewer, plan()), protocol::WORKER_TOOLS[1..]);
        for none in [tools(&[], false, PromptForm::Full), tools(&[], true, PromptForm::Compact)] {
            assert_eq!(names(&none, plan()), [""; 0]);
        }
    }
}
