//! What people say while a task runs. It waits here until the loop puts it into the conversation, before a
//! turn: never between a call and its result, and not after the last turn.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use protocol::{Addition, TaskId};
use toolkit::locked;

/// The additions of a task, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Additions(Arc<Mutex<VecDeque<Addition>>>);

impl Additions {
    /// Begins with what earlier attempts had.
    pub(crate) fn new(earlier: &[Addition]) -> Self {
        Self(Arc::new(Mutex::new(earlier.iter().cloned().collect())))
    }

    pub(crate) fn push(&self, addition: Addition) {
        self.lock().push_back(addition);
    }

    /// Leaves out what the conversation has already.
    pub(crate) fn without(&self, known: impl Fn(&TaskId) -> bool) {
        self.lock().retain(|addition| !known(&addition.message));
    }

    /// The next one.
    pub(crate) fn next(&self) -> Option<Addition> {
        self.lock().pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Addition>> {
        locked(&self.0)
    }
}
