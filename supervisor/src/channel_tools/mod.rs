//! The tools of channels: calls that the supervisor itself runs, for workers and for people.
//!
//! They pass the same runner as the tool server's tools and become the same events. A call acts by adding to
//! the outbox, so what it sends survives this process. No tool decides anything for the model.

mod recorder;
pub(crate) mod sending;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use protocol::{Envelope, ErrorCode, ToolError};
use toolkit::runner::{WorkingDirectory, refusal};
use toolkit::{Bounds, DEFAULT_MAX_COMMANDS, Redactor, Registry, Request, Runner, RunnerSettings};

use crate::channel::ChannelName;
use crate::store::Store;
use recorder::EventRecorder;

/// How long a call may take, unless its tool has a limit of its own. Nothing is sent meanwhile.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The tools of each channel, by the channel's name.
#[derive(Clone)]
pub(crate) struct ChannelTools(Arc<[(ChannelName, Arc<Runner>)]>);

impl ChannelTools {
    /// `state_dir` keeps what outlives this process: the idempotency keys of calls.
    pub(crate) fn new(
        registries: impl IntoIterator<Item = (ChannelName, Registry)>,
        store: &Store,
        state_dir: PathBuf,
    ) -> io::Result<Self> {
        let settings = RunnerSettings {
            disabled: BTreeSet::new(),
            timeout: TIMEOUT,
            max_commands: DEFAULT_MAX_COMMANDS,
            bounds: Bounds::default(),
            cwd: WorkingDirectory::Shared(String::new()),
            policy: Arc::default(),
            approvals: None,
            url: String::new(),
            state_dir: Some(state_dir),
        };
        let runner = |(name, registry)| {
            let recorder = Arc::new(EventRecorder(store.clone()));
            let runner = Runner::new(registry, settings.clone(), recorder, Arc::new(Redactor::new([])))?;
            Ok((name, Arc::new(runner)))
        };
        Ok(Self(registries.into_iter().map(runner).collect::<io::Result<_>>()?))
    }

    /// What a task of this channel gets.
    pub(crate) fn of(&self, channel: &ChannelName) -> protocol::ChannelTools {
        let mut tools = protocol::ChannelTools::default();
        for (name, runner) in &*self.0 {
            let specs = runner.specs().into_iter();
            if name == channel {
                tools.offered.extend(specs.cloned());
            } else {
                tools.withheld.extend(specs.map(|spec| spec.name.clone()));
            }
        }
        tools
    }

    /// Runs a call of the channel that its session belongs to.
    pub(crate) async fn call(&self, request: Request) -> Envelope {
        let session = request.session.as_str();
        let channel = session.split(':').next().unwrap_or_default();
        let has = |runner: &Runner| runner.specs().iter().any(|spec| spec.name == request.tool);
        let own = self.0.iter().find(|(name, runner)| name.as_str() == channel && has(runner));
        if let Some((_, runner)) = own {
            return runner.run(request).await;
        }
        let error = match self.0.iter().find(|(_, runner)| has(runner)) {
            Some((other, _)) => {
                let message = format!(
                    "`{}` works in chats of {other} only, and this is the session {session}.",
                    request.tool
                );
                let hint = "Continue without it: the reply reaches the user in this chat.";
                ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint)
            }
            None => ToolError::new(
                ErrorCode::UnknownTool,
                format!("The supervisor has no tool `{}`.", request.tool),
            ),
        };
        refusal(&request.tool, error)
    }
}

impl fmt::Debug for ChannelTools {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
