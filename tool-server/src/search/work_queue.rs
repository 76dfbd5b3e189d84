//! The jobs that the threads of a walk share: last in, first out. So few directories are open at once, and
//! the walk stays close to the order of the result, so that a full page ends it early.

use std::sync::{Condvar, Mutex, PoisonError};

use toolkit::locked;

pub(super) struct WorkQueue<Job> {
    state: Mutex<State<Job>>,
    changed: Condvar,
}

struct State<Job> {
    jobs: Vec<Job>,
    /// Jobs that wait or are being done.
    unfinished: usize,
}

/// Counts its job as done when dropped, even by a panic, so that no thread waits for ever.
pub(super) struct JobGuard<'a, Job>(&'a WorkQueue<Job>);

impl<Job> WorkQueue<Job> {
    pub(super) fn new(first: Job) -> Self {
        let state = State { jobs: vec![first], unfinished: 1 };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Adds jobs; the last of them is taken first.
    pub(super) fn extend(&self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        let mut state = locked(&self.state);
        state.unfinished += jobs.len();
        state.jobs.extend(jobs);
        drop(state);
        self.changed.notify_all();
    }

    /// The next job; waits for one, and is `None` once all are done.
    pub(super) fn take(&self) -> Option<(Job, JobGuard<'_, Job>)> {
        let mut state = locked(&self.state);
        loop {
            if let Some(job) = state.jobs.pop() {
                return Some((job, JobGuard(self)));
            }
            if state.unfinished == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<Job> Drop for JobGuard<'_, Job> {
    fn drop(&mut self) {
        let mut state = locked(&self.0.state);
        state.unfinished -= 1;
        if state.unfinished == 0 {
            self.0.changed.notify_all();
        }
    }
}
