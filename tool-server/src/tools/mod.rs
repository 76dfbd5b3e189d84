//! The tools: one file and one line each.

mod ls;

use std::sync::Arc;

use toolkit::{Registry, RegistryError};

use crate::roots::Roots;

/// All tools of this server.
pub fn registry(roots: &Arc<Roots>) -> Result<Registry, RegistryError> {
    Registry::new().with(ls::Ls::new(Arc::clone(roots)))
}
