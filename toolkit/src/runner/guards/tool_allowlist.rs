//! The task's tool allow-list: a task that has read a skill may call only the tools that the skill allows.
//!
//! The list only gets shorter: another skill removes more tools and gives none back. It is kept on disk for
//! a day, so a server that restarts in the middle of a task does not forget it.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::Mutex;
use std::time::SystemTime;
use std::{fs, io};

use protocol::hash::sha256;
use protocol::{Data, ErrorCode, TaskId, ToolError};
use serde::{Deserialize, Serialize};

use super::store::Store;
use super::{Check, Guard};
use crate::runner::call::{CallInfo, PendingCall};
use crate::{Success, locked};

pub(super) struct ToolAllowlist {
    /// None if nothing outlives the process.
    store: Option<Store>,
    tasks: Mutex<HashMap<TaskId, BTreeSet<String>>>,
}

/// The file of a task.
#[derive(Serialize, Deserialize)]
struct Stored {
    task_id: TaskId,
    allowed_tools: BTreeSet<String>,
}

impl Guard for ToolAllowlist {
    fn check<'a>(&'a self, call: &'a mut PendingCall) -> Check<'a> {
        if call.tool.as_ref().is_ok_and(|tool| !tool.is_bound_by_skill()) {
            return Check::Done(Ok(()));
        }
        let tool = &call.info.tool;
        self.admit(call.info.ids.task.as_ref(), tool).into()
    }

    fn succeeded(&self, call: &CallInfo, success: &Success<Data>) -> Result<(), ToolError> {
        let (Some(task), Some(tools)) = (&call.ids.task, &success.allowed_tools) else { return Ok(()) };
        self.narrow(task, tools).map_err(|error| {
            tracing::error!(%task, %error, "could not store the task's tool allow-list");
            let message = "Could not restrict the task to the skill's tools, so the skill is not shown.";
            ToolError::new(ErrorCode::IoError, message)
        })
    }

    fn sweep(&self, now: SystemTime) -> io::Result<()> {
        let Some(store) = &self.store else { return Ok(()) };
        let expired = store.sweep(now)?;
        locked(&self.tasks).retain(|task, _| !expired.contains(&file_name(task)));
        Ok(())
    }
}

impl ToolAllowlist {
    /// The lists that are kept in a directory, which is made when it is missing; or none yet.
    pub(super) fn open(directory: Option<&Path>) -> io::Result<Self> {
        let Some(directory) = directory else { return Ok(Self { store: None, tasks: Mutex::default() }) };
        let store = Store::open(directory)?;
        let mut tasks = HashMap::new();
        for entry in fs::read_dir(directory)? {
            let stored: Stored = serde_json::from_slice(&fs::read(entry?.path())?)?;
            tasks.insert(stored.task_id, stored.allowed_tools);
        }
        Ok(Self { store: Some(store), tasks: Mutex::new(tasks) })
    }

    fn admit(&self, task: Option<&TaskId>, tool: &str) -> Result<(), ToolError> {
        let tasks = locked(&self.tasks);
        let Some(allowed) = task.and_then(|task| tasks.get(task)) else { return Ok(()) };
        admitted(allowed.iter(), tool)
    }

    /// Restricts a task to these tools from now on.
    fn narrow(&self, task: &TaskId, tools: &[String]) -> io::Result<()> {
        let mut tasks = locked(&self.tasks);
        let mut allowed_tools: BTreeSet<String> = tools.iter().cloned().collect();
        if let Some(before) = tasks.get(task) {
            allowed_tools.retain(|tool| before.contains(tool));
        }
        if let Some(store) = &self.store {
            let stored = Stored { task_id: task.clone(), allowed_tools: allowed_tools.clone() };
            store.replace(&file_name(task), &stored)?;
        }
        tasks.insert(task.clone(), allowed_tools);
        Ok(())
    }
}

fn admitted<'a>(mut allowed: impl Iterator<Item = &'a String> + Clone, tool: &str) -> Result<(), ToolError> {
    if allowed.clone().any(|name| name == tool) {
        return Ok(());
    }
    let first = allowed.next().map_or("nothing", String::as_str);
    let names = allowed.fold(first.to_owned(), |names, name| format!("{names}, {name}"));
    let message = format!("The skill that this task has read does not allow `{tool}`.");
    Err(ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(format!("It allows: {names}.")))
}

fn file_name(task: &TaskId) -> String {
    sha256(task.as_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::store::KEEP;
    use super::*;

    #[test]
    fn a_list_gets_shorter_is_kept_and_never_grows() {
        let directory = tempfile::tempdir().unwrap();
        let (task, other) = (TaskId::new(), TaskId::new());
        let tools = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let allowlist = ToolAllowlist::open(Some(directory.path())).unwrap();
        assert!(allowlist.admit(Some(&task), "bash").is_ok());
        allowlist.narrow(&task, &tools(&["read", "skill"])).unwrap();
        let allowlist = ToolAllowlist::open(Some(directory.path())).unwrap();
        let error = allowlist.admit(Some(&task), "bash").unwrap_err();
        assert_eq!((error.code, error.hint.as_str()), (ErrorCode::ToolNotAllowed, "It allows: read, skill."));
        allowlist.narrow(&task, &tools(&["read", "bash"])).unwrap();
        assert!(allowlist.admit(Some(&task), "read").is_ok());
        assert!(allowlist.admit(Some(&task), "bash").is_err());
        assert!(allowlist.admit(Some(&other), "bash").is_ok() && allowlist.admit(None, "bash").is_ok());
        allowlist.sweep(SystemTime::now() + KEEP + Duration::from_secs(60)).unwrap();
        assert!(allowlist.admit(Some(&task), "bash").is_ok());
    }
}
