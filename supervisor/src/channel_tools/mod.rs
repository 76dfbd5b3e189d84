//! The tools of channels: calls that the supervisor itself runs, for workers and for people.
//!
//! They pass the same runner as the tool server's tools, with the operator's rules and what a skill allows,
//! and become the same events. A call acts by adding to the outbox, so what it sends survives this process.
//! No tool decides anything for the model.

mod recorder;
pub(crate) mod sending;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use protocol::hash::sha256;
use protocol::{Envelope, ErrorCode, ToolError};
use redaction::Redactor;
use tokio_util::sync::CancellationToken;
use toolkit::approvals::Approvals;
use toolkit::policy::Policy;
use toolkit::runner::{WorkingDirectory, refusal};
use toolkit::{Bounds, Registry, Request, Runner, RunnerSettings};

use crate::channel::ChannelName;
use crate::journal::Journal;
use crate::store::{Store, inbox, tool_calls};
use recorder::EventRecorder;

/// How long a call may take, unless its tool has a limit of its own. Nothing is sent meanwhile.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How often what has expired is forgotten.
const SWEEP_EVERY: Duration = Duration::from_secs(3600);

/// Stands for the token of all callers.
const OWN_CALLER: &[u8] = b"supervisor";

/// The tools of each channel.
#[derive(Clone)]
pub(crate) struct ChannelTools {
    /// By the channel's name.
    runners: Arc<[(ChannelName, Arc<Runner>)]>,
    store: Store,
    journal: Journal,
}

/// What calls need beside their tools.
pub(crate) struct Surroundings {
    pub(crate) store: Store,
    /// The tool server's, which knows what skills a task has read.
    pub(crate) journal: Journal,
    /// The operator's rules.
    pub(crate) policy: Arc<Policy>,
    /// The tools that are off.
    pub(crate) disabled: BTreeSet<String>,
    /// Where people are asked about calls.
    pub(crate) approvals: Arc<Approvals>,
    /// The address of the control port, where a person can send a call again.
    pub(crate) url: String,
    /// What outlives this process: the idempotency keys of calls.
    pub(crate) state_dir: PathBuf,
}

/// The approvals of these tools' calls, which outlive this process. A call waits as long as `timeout`.
pub(crate) fn approvals(state_dir: &Path, store: &Store, timeout: Duration) -> io::Result<Arc<Approvals>> {
    let recorder = Arc::new(EventRecorder(store.clone()));
    Approvals::open(&state_dir.join("approvals"), recorder, timeout).map(Arc::new)
}

impl ChannelTools {
    pub(crate) fn new(
        registries: impl IntoIterator<Item = (ChannelName, Registry)>,
        surroundings: Surroundings,
    ) -> io::Result<Self> {
        let Surroundings { store, journal, policy, disabled, approvals, url, state_dir } = surroundings;
        let settings = RunnerSettings {
            disabled,
            timeout: TIMEOUT,
            max_commands: settings::table::TOOL_MAX_COMMANDS.default_value(),
            bounds: Bounds::default(),
            cwd: WorkingDirectory::Shared(String::new()),
            policy,
            approvals: Some(approvals),
            url,
            token_variable: "AUTONOUS_CONTROL_TOKEN",
            state_dir: Some(state_dir),
        };
        let runner = |(name, registry)| {
            let recorder = Arc::new(EventRecorder(store.clone()));
            let runner = Runner::new(registry, settings.clone(), recorder, Arc::new(Redactor::new([])))?;
            Ok((name, Arc::new(runner)))
        };
        let runners = registries.into_iter().map(runner).collect::<io::Result<_>>()?;
        Ok(Self { runners, store, journal })
    }

    /// Forgets what has expired, at the start and every hour until `stop`.
    pub(crate) async fn sweep(self, stop: CancellationToken) {
        loop {
            let runners = Arc::clone(&self.runners);
            let sweep = move || runners.iter().try_for_each(|(_, runner)| runner.sweep());
            if let Ok(Err(error)) = tokio::task::spawn_blocking(sweep).await {
                tracing::error!(%error, "could not forget what has expired of the tools' calls");
            }
            if stop.run_until_cancelled(tokio::time::sleep(SWEEP_EVERY)).await.is_none() {
                return;
            }
        }
    }

    /// What a task of this channel gets.
    pub(crate) fn of(&self, channel: &ChannelName) -> protocol::ChannelTools {
        let mut tools = protocol::ChannelTools::default();
        for (name, runner) in &*self.runners {
            let all = runner.registry().specs();
            for spec in all {
                // A call of one that is not offered is refused with the reason.
                if name == channel && runner.is_offered(&spec.name) {
                    tools.offered.push(spec.clone());
                } else {
                    tools.withheld.push(spec.name.clone());
                }
            }
        }
        tools
    }

    /// Runs a call of the channel that its session belongs to.
    pub(crate) async fn call(&self, request: Request) -> Envelope {
        let session = request.session.as_str();
        let channel = session.split(':').next().unwrap_or_default();
        let has = |runner: &Runner| runner.registry().names().any(|name| name == request.tool);
        let own = self.runners.iter().find(|(name, runner)| name.as_str() == channel && has(runner));
        if let Some((_, runner)) = own {
            return match self.known_of_task(&request).await {
                Ok((allowed_tools, is_scheduled)) => {
                    // The caller has the control token, or a pipe that only our worker has.
                    let token_sha256 = Some(sha256(OWN_CALLER));
                    runner.run(Request { allowed_tools, is_scheduled, token_sha256, ..request }).await
                }
                Err(error) => refusal(&request.tool, error),
            };
        }
        let error = match self.runners.iter().find(|(_, runner)| has(runner)) {
            Some((other, _)) => {
                let message = format!(
                    "`{}` works in chats of {other} only, and this is the session {session}.",
                    request.tool
                );
                let hint = "Continue without it: the reply reaches the user in this chat.";
                ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint)
            }
            None if protocol::WORKER_TOOLS.contains(&request.tool.as_str()) => {
                let message =
                    format!("The tool `{}` is one of the worker, which runs it in tasks.", request.tool);
                ToolError::new(ErrorCode::UnknownTool, message).with_hint("Send a message that asks for it.")
            }
            None if protocol::TOOL_SERVER_TOOLS.contains(&request.tool.as_str()) => {
                let message = format!("The tool `{}` is one of the tool server.", request.tool);
                let hint = format!("Send it to POST /tools/{} of the tool server's port.", request.tool);
                ToolError::new(ErrorCode::UnknownTool, message).with_hint(hint)
            }
            None => ToolError::new(
                ErrorCode::UnknownTool,
                format!("The supervisor has no tool `{}`.", request.tool),
            ),
        };
        refusal(&request.tool, error)
    }
}

impl ChannelTools {
    /// What the skills allow that the task has read, as the tool server has recorded it until now, and
    /// whether a schedule began it.
    async fn known_of_task(&self, request: &Request) -> Result<(Option<Vec<String>>, bool), ToolError> {
        let Some(task) = request.task.clone() else { return Ok((None, request.is_scheduled)) };
        self.journal.drain().await;
        let known = self.store.write(move |tx| {
            let is_scheduled = inbox::origin(tx, &task)?.is_some_and(|origin| origin.scheduled.is_some());
            Ok((tool_calls::allowed_tools(tx, &task)?, is_scheduled))
        });
        let known = known.await;
        known.map_err(|error| {
            tracing::error!(%error, "could not read which tools a task may call");
            let message = "What the task may call could not be read, so the call was not run.";
            ToolError::new(ErrorCode::IoError, message)
        })
    }
}

impl fmt::Debug for ChannelTools {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.runners.iter().map(|(name, _)| name)).finish()
    }
}
