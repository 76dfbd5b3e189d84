//! The facts about git beyond names: what settings name, and which files with such names changes are about.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, RwLock};

/// The facts about git beyond names.
#[derive(Debug, Default)]
pub(super) struct GitRules {
    /// What settings of git directories name; not to be written.
    pub(super) named: RwLock<Vec<PathBuf>>,
    /// One change at a time has a name that git knows.
    pub(super) changing: Mutex<()>,
    /// The files with such a name that file tools wrote.
    pub(super) written: Mutex<BTreeSet<PathBuf>>,
}

/// While it is held, no other change of such a name is made.
pub type GitChange<'a> = Option<MutexGuard<'a, ()>>;
