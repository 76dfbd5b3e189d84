//! Bindings: a task that has read a skill may call only the tools which that skill allows.
//!
//! A binding only ever narrows: another skill takes away more and gives nothing back. It is kept on the
//! disk for a day, so a server that was restarted in the middle of a task does not forget it.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use protocol::{ErrorCode, TaskId, ToolError};
use serde::{Deserialize, Serialize};

/// How long a task is remembered.
const KEEP: Duration = Duration::from_secs(24 * 3600);

/// The tasks that are bound.
#[derive(Debug)]
pub(super) struct Bindings {
    directory: PathBuf,
    tasks: Mutex<HashMap<TaskId, BTreeSet<String>>>,
}

/// The file of a binding.
#[derive(Serialize, Deserialize)]
struct Stored {
    task_id: TaskId,
    allowed_tools: BTreeSet<String>,
}

impl Bindings {
    /// The bindings that are kept in a directory, which is made when it is missing.
    pub(super) fn open(directory: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let bindings = Self { directory: directory.to_owned(), tasks: Mutex::default() };
        bindings.sweep(SystemTime::now())?;
        for entry in fs::read_dir(directory)? {
            let stored: Stored = serde_json::from_slice(&fs::read(entry?.path())?)?;
            bindings.tasks().insert(stored.task_id, stored.allowed_tools);
        }
        Ok(bindings)
    }

    /// Forgets what is older than a day.
    pub(super) fn sweep(&self, now: SystemTime) -> io::Result<()> {
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            if now.duration_since(entry.metadata()?.modified()?).unwrap_or_default() > KEEP {
                let stored: Option<Stored> = serde_json::from_slice(&fs::read(entry.path())?).ok();
                fs::remove_file(entry.path())?;
                stored.and_then(|stored| self.tasks().remove(&stored.task_id));
            }
        }
        Ok(())
    }

    /// Whether a task may call a tool.
    pub(super) fn admit(&self, task: Option<&TaskId>, tool: &str) -> Result<(), ToolError> {
        let tasks = self.tasks();
        let Some(allowed) = task.and_then(|task| tasks.get(task)) else { return Ok(()) };
        if allowed.contains(tool) {
            return Ok(());
        }
        let allowed = allowed.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        let message = format!("The skill that this task has read does not allow `{tool}`.");
        Err(ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(format!("It allows: {allowed}.")))
    }

    /// Narrows a task to tools, from now on.
    pub(super) fn bind(&self, task: &TaskId, tools: Vec<String>) -> io::Result<()> {
        let mut tasks = self.tasks();
        let mut allowed_tools: BTreeSet<String> = tools.into_iter().collect();
        if let Some(before) = tasks.get(task) {
            allowed_tools.retain(|tool| before.contains(tool));
        }
        let stored = Stored { task_id: task.clone(), allowed_tools: allowed_tools.clone() };
        let path = self.directory.join(protocol::hash::sha256(task.as_str().as_bytes()));
        let temporary = path.with_extension("new");
        fs::write(&temporary, serde_json::to_vec(&stored)?)?;
        fs::rename(temporary, path)?;
        tasks.insert(task.clone(), allowed_tools);
        Ok(())
    }

    fn tasks(&self) -> MutexGuard<'_, HashMap<TaskId, BTreeSet<String>>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_narrows_is_kept_and_never_widens() {
        let directory = std::env::temp_dir().join(format!("bindings-{}", TaskId::new()));
        let (task, other) = (TaskId::new(), TaskId::new());
        let tools = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let bindings = Bindings::open(&directory).unwrap();
        assert!(bindings.admit(Some(&task), "bash").is_ok());
        bindings.bind(&task, tools(&["read", "skill"])).unwrap();
        let bindings = Bindings::open(&directory).unwrap();
        let error = bindings.admit(Some(&task), "bash").unwrap_err();
        assert_eq!((error.code, error.hint.as_str()), (ErrorCode::ToolNotAllowed, "It allows: read, skill."));
        bindings.bind(&task, tools(&["read", "bash"])).unwrap();
        assert!(bindings.admit(Some(&task), "read").is_ok());
        assert!(bindings.admit(Some(&task), "bash").is_err());
        assert!(bindings.admit(Some(&other), "bash").is_ok() && bindings.admit(None, "bash").is_ok());
        bindings.sweep(SystemTime::now() + KEEP + Duration::from_secs(60)).unwrap();
        assert!(bindings.admit(Some(&task), "bash").is_ok());
        fs::remove_dir_all(directory).unwrap();
    }
}
