//! Keeps outputs in the output store, each under the name that only its own session may open.

use std::io;
use std::sync::Arc;

use toolkit::OutputKeeper;
use toolkit::runner::CallIds;

use crate::output_store::OutputStore;
use crate::roots::Workspaces;

/// The output store, for the runner.
#[derive(Debug)]
pub struct KeptOutputs {
    store: Arc<OutputStore>,
    workspaces: Arc<Workspaces>,
}

impl KeptOutputs {
    /// In this store, with names that these workspaces give.
    pub fn new(store: Arc<OutputStore>, workspaces: Arc<Workspaces>) -> Self {
        Self { store, workspaces }
    }

    fn name(&self, ids: &CallIds) -> String {
        self.workspaces.output_name(&ids.session, ids.token.as_deref(), &ids.call)
    }
}

impl OutputKeeper for KeptOutputs {
    fn name_of(&self, ids: &CallIds) -> String {
        OutputStore::file_name(&self.name(ids))
    }

    fn keep(&self, ids: &CallIds, output: &str) -> io::Result<()> {
        self.store.keep(&self.name(ids), output)
    }
}
