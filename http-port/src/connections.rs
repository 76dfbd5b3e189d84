//! The open connections, at most so many: for a new one, the one that waits for its client goes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::Id;

use crate::limits::TimeLimits;
use crate::progress::{Awaited, Progress, Waiting};

pub(crate) struct Connections {
    most: usize,
    open: HashMap<Id, Arc<Progress>>,
}

impl Connections {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, open: HashMap::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    pub(crate) fn add(&mut self, id: Id, progress: Arc<Progress>) {
        self.open.insert(id, progress);
    }

    pub(crate) fn remove(&mut self, id: Id) {
        self.open.remove(&id);
    }

    /// Whether one more fits, after one was closed for it if need be.
    pub(crate) fn make_room(&mut self) -> bool {
        self.open.len() < self.most || self.close_one()
    }

    /// Closes an idle connection, else one that waits for a head, a body or a reader: of each kind the one
    /// that has waited longest. A connection whose call is running is never closed.
    pub(crate) fn close_one(&mut self) -> bool {
        while let Some((id, waiting)) = self.first_to_go() {
            if self.open.get(&id).is_some_and(|progress| progress.close(&waiting)) {
                self.open.remove(&id);
                return true;
            }
        }
        false
    }

    fn first_to_go(&self) -> Option<(Id, Waiting)> {
        let waiting = self.open.iter().filter_map(|(id, progress)| Some((*id, progress.waiting()?)));
        waiting.min_by_key(|(_, waiting)| (waiting.awaited != Awaited::Request, waiting.since))
    }

    /// Closes connections whose clients have taken too long.
    pub(crate) fn close_overdue(&mut self, limits: &TimeLimits) {
        let now = Instant::now();
        self.open.retain(|_, progress| {
            let Some(waiting) = progress.waiting() else { return true };
            let overdue = limits.of(waiting.awaited).is_some_and(|limit| now > waiting.since + limit);
            !(overdue && progress.close(&waiting))
        });
    }

    /// Closes what waits for its client; the others end with their running request.
    pub(crate) fn finish(&self) {
        self.open.values().for_each(|progress| progress.finish());
    }
}
