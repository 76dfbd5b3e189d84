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
mod todo;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use protocol::{Envelope, ErrorCode, Plan, Task, ToolError, ToolSpec};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_util::sync::CancellationToken;
use toolkit::policy::Policy;
use toolkit::runner::WorkingDirectory;
use toolkit::{
    Bounds, DEFAULT_MAX_COMMANDS, Redactor, Registry, RegistryError, Request, Runner, RunnerSettings, Tool,
};

use crate::budget::TaskUsage;
use crate::model::{Model, ToolCall};
use crate::prompt::PromptForm;
use crate::tool_client::CallContext;
use link::TaskLink;
pub(crate) use link::{Prompt, Wish};
use plan_create::PlanCreate;
use plan_update::PlanUpdate;
use recorder::LinkRecorder;
use todo::TodoUpdate;

/// The tool server's tool that shows skills.
const SKILL: &str = "skill";

/// How long a call may take: requests to the model are retried meanwhile. The task's own limit is shorter.
const TIMEOUT: Duration = Duration::from_secs(660);

/// Whether there is a model that could be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ModelState {
    Ready,
    /// A message is a command.
    NoClient,
    /// It has no name.
    NoModel,
}

impl ModelState {
    pub(crate) fn of(model: &dyn Model) -> Self {
        match (model.is_language_model(), model.name().trim().is_empty()) {
            (false, _) => Self::NoClient,
            (true, true) => Self::NoModel,
            (true, false) => Self::Ready,
        }
    }

    /// Why a tool that asks a model cannot work.
    fn check(self, tool: &str) -> Result<(), ToolError> {
        let missing = match self {
            Self::Ready => return Ok(()),
            Self::NoClient => "llm client",
            Self::NoModel => "llm model",
        };
        let message = format!("{tool} unavailable (missing {missing})");
        Err(ToolError::new(ErrorCode::ToolNotAllowed, message)
            .with_hint("It needs a language model: set AUTONOUS_MODEL_PROVIDER, its key and its model."))
    }
}

/// The plan of a task, which its tools change and its conversation shows.
pub(crate) type SharedPlan = Arc<Mutex<Option<Plan>>>;

/// What of the tools is the same for all tasks of an agent.
#[derive(Debug)]
pub(crate) struct OwnTools {
    /// `AUTONOUS_TOOL_DISABLED`.
    disabled: BTreeSet<String>,
    /// The operator's rules.
    policy: Arc<Policy>,
    model: ModelState,
    offered: Vec<ToolSpec>,
}

/// The tools of one task.
pub(crate) struct TaskTools<'a> {
    own: &'a OwnTools,
    link: TaskLink,
    wishes: tokio::sync::Mutex<UnboundedReceiver<Wish>>,
    runner: OnceLock<Arc<Runner>>,
    plan: SharedPlan,
    /// The `state` root, where the task has one.
    state_root: Option<String>,
    /// Whether the catalogue was last asked for when there was a plan.
    was_planned: AtomicBool,
    /// What the skills allow that the task has read; none if none says.
    allowed: Mutex<Option<Vec<String>>>,
    /// What requests of tools took since it was last asked for.
    spent: Mutex<TaskUsage>,
}

impl OwnTools {
    /// A small model pays too much for each tool and plans badly, so it is offered none.
    pub(crate) fn new(
        disabled: BTreeSet<String>,
        policy: Arc<Policy>,
        model: ModelState,
        form: PromptForm,
    ) -> Result<Self, RegistryError> {
        let registry = registry(&TaskLink::dead(), &SharedPlan::default(), model, None)?;
        let is_on = |spec: &&ToolSpec| match form {
            PromptForm::Full => registry.is_offered(&spec.name) && !disabled.contains(&spec.name),
            PromptForm::Compact | PromptForm::Small => false,
        };
        let offered = registry.specs().filter(is_on).cloned().collect();
        Ok(Self { disabled, policy, model, offered })
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
fn registry(
    link: &TaskLink,
    plan: &SharedPlan,
    model: ModelState,
    state_root: Option<String>,
) -> Result<Registry, RegistryError> {
    let (plans, updates, todos) = (link.clone(), link.clone(), link.clone());
    Registry::new()
        .with(PlanCreate { link: plans, plan: Arc::clone(plan), model })?
        .with(PlanUpdate { link: updates, plan: Arc::clone(plan), model })?
        .with(TodoUpdate { link: todos, model, state_root })
}

impl<'a> TaskTools<'a> {
    /// The tools of a task, which may have a plan from an earlier attempt.
    pub(crate) fn new(own: &'a OwnTools, task: &Task) -> Self {
        let (link, wishes) = TaskLink::new();
        Self {
            own,
            link,
            wishes: wishes.into(),
            runner: OnceLock::new(),
            plan: Arc::new(Mutex::new(task.earlier.plan.clone())),
            state_root: todo::state_root(task),
            was_planned: AtomicBool::new(false),
            allowed: Mutex::new(task.earlier.allowed_tools.clone()),
            spent: Mutex::default(),
        }
    }

    /// The tools that are on, sorted by name. Without a plan there is nothing to update, and most tasks have
    /// none; without a `state` root there are no to-do lists.
    pub(crate) fn offered(&self) -> impl Iterator<Item = &'a ToolSpec> {
        let is_planned = locked(&self.plan).is_some();
        self.was_planned.store(is_planned, Ordering::Relaxed);
        let has_lists = self.state_root.is_some();
        self.own.offered.iter().filter(move |spec| match spec.name.as_str() {
            PlanUpdate::NAME => is_planned,
            TodoUpdate::NAME => has_lists,
            _ => true,
        })
    }

    /// Whether other tools are on than were last offered.
    pub(crate) fn has_changed(&self) -> bool {
        locked(&self.plan).is_some() != self.was_planned.load(Ordering::Relaxed)
    }

    /// The task's plan, as it is now.
    pub(crate) fn plan(&self) -> Option<Plan> {
        locked(&self.plan).clone()
    }

    /// Takes note of what a skill allows that the tool server has shown: the list only gets shorter.
    pub(crate) fn heed(&self, answer: &Envelope) {
        let names = answer.meta.data["allowed_tools"].as_array();
        let Some(names) = names.filter(|_| answer.ok && answer.meta.tool == SKILL) else { return };
        let is_listed = |name: &String| names.iter().any(|listed| listed == name);
        let mut allowed = locked(&self.allowed);
        *allowed = Some(match allowed.take() {
            Some(before) => before.into_iter().filter(is_listed).collect(),
            None => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        });
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
            allowed_tools: locked(&self.allowed).clone(),
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
        let registry = registry(&self.link, &self.plan, self.own.model, self.state_root.clone());
        let registry = registry.expect("the same list was a registry at the start");
        let settings = RunnerSettings {
            disabled: self.own.disabled.clone(),
            timeout: TIMEOUT,
            max_commands: DEFAULT_MAX_COMMANDS,
            bounds: Bounds::default(),
            cwd: WorkingDirectory::Shared(String::new()),
            policy: Arc::clone(&self.own.policy),
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
    use toolkit::policy::Caller;

    use super::*;

    fn names(tools: &OwnTools, plan: Option<Plan>, roots: &[&str]) -> Vec<String> {
        let mut task = Task::new("x");
        task.roots = roots.iter().map(|root| (*root).to_owned()).collect();
        task.earlier.plan = plan;
        TaskTools::new(tools, &task).offered().map(|spec| spec.name.clone()).collect()
    }

    #[test]
    fn the_catalogue_has_the_tools_that_are_on_and_that_settings_may_name() {
        let tools = |disabled: &[&str], model, form| {
            let disabled = disabled.iter().map(|name| (*name).to_owned()).collect();
            OwnTools::new(disabled, Arc::default(), model, form).unwrap()
        };
        let (plan, roots) = (|| Some(Plan::default()), ["/d/workspace", "/d/state"]);
        let all = tools(&[], ModelState::Ready, PromptForm::Full);
        assert_eq!(names(&all, plan(), &roots), protocol::WORKER_TOOLS);
        assert_eq!(names(&all, None, &roots), ["plan_create", "todo_update"]);
        assert_eq!(names(&all, None, &roots[..1]), ["plan_create"]);
        let fewer = tools(&["plan_create", "bash"], ModelState::Ready, PromptForm::Full);
        assert_eq!(names(&fewer, plan(), &roots), protocol::WORKER_TOOLS[1..]);
        for none in [
            tools(&[], ModelState::NoClient, PromptForm::Full),
            tools(&[], ModelState::Ready, PromptForm::Compact),
        ] {
            assert_eq!(names(&none, plan(), &roots), [""; 0]);
        }
    }

    #[test]
    fn every_tool_is_as_all_tools_of_all_programs_are_and_its_example_fits() {
        let registry = registry(&TaskLink::dead(), &SharedPlan::default(), ModelState::Ready, None).unwrap();
        let found: Vec<String> = registry.specs().flat_map(toolkit::catalogue_rules::breaches).collect();
        assert_eq!(found, Vec::<String>::new());
        let session = protocol::SessionId::default_session();
        for (name, example) in [
            (
                PlanCreate::NAME,
                PlanCreate { link: TaskLink::dead(), plan: Arc::default(), model: ModelState::Ready }
                    .example(),
            ),
            (
                PlanUpdate::NAME,
                PlanUpdate { link: TaskLink::dead(), plan: Arc::default(), model: ModelState::Ready }
                    .example(),
            ),
            (
                TodoUpdate::NAME,
                TodoUpdate { link: TaskLink::dead(), model: ModelState::Ready, state_root: None }.example(),
            ),
        ] {
            let body = example.to_string();
            let verdict =
                registry.verdict(&Policy::default(), (name, body.as_bytes()), &session, Caller::Anonymous);
            assert!(verdict.is_ok(), "{name}: {verdict:?}");
        }
    }

    #[test]
    fn a_tool_without_a_model_says_what_is_missing() {
        for (state, expected) in [
            (ModelState::NoClient, "todo_update unavailable (missing llm client)"),
            (ModelState::NoModel, "todo_update unavailable (missing llm model)"),
        ] {
            assert_eq!(state.check("todo_update").unwrap_err().message, expected);
        }
    }

    #[test]
    fn the_state_root_is_known_where_each_chat_has_its_own() {
        let mut task = Task { session_id: "telegram:4711".parse().unwrap(), ..Task::new("x") };
        for (roots, expected) in [
            (vec!["/d/workspace", "/d/state"], Some("/d/state")),
            (vec!["/d/workspace/telegram-4711", "/d/state/telegram-4711"], Some("/d/state/telegram-4711")),
            (vec!["/d/state/telegram-4712", "/d/estate"], None),
            (vec![], None),
        ] {
            task.roots = roots.into_iter().map(str::to_owned).collect();
            assert_eq!(todo::state_root(&task).as_deref(), expected);
        }
    }
}
