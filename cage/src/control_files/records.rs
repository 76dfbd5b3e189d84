//! What the guard keeps on the disk, so that a server that was killed can do the check at its next start:
//! the hazards that were there before the running commands, and the calls of these.
//!
//! Both are written before a command starts and survive a killed server in the page cache, as the journal
//! does; the hazards are written only when they changed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use files::roots::names;
use serde::{Deserialize, Serialize};

use super::git_config::Setting;
use super::hazard::{Hazard, What};
use super::running::{GuardedCall, RunningCalls};
use super::tree::Tree;

#[derive(Debug)]
pub(super) struct Records {
    known: PathBuf,
    running: RunningCalls,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredHazard {
    root: String,
    path: String,
    what: StoredWhat,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredWhat {
    Directory,
    File(String),
    Link(String),
    Setting { section: String, subsection: Option<String>, key: String, value: Option<String> },
    UnreadableConfig(String),
    RebaseCommands(String),
    ForbiddenPaths(String),
    ForbiddenRefs(String),
    Special,
    Unseen,
}

impl Records {
    pub(super) fn open(output: &Path) -> io::Result<Self> {
        let directory = output.join("control-files");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let running = RunningCalls::open(&directory.join("running-calls"))?;
        Ok(Self { known: directory.join("known.json"), running })
    }

    pub(super) fn save_known(&self, tree: &Tree, hazards: &BTreeSet<Hazard>) -> io::Result<()> {
        let stored: Vec<StoredHazard> = hazards.iter().map(|hazard| store(tree, hazard)).collect();
        let temporary = self.known.with_extension("new");
        fs::write(&temporary, serde_json::to_vec(&stored)?)?;
        fs::rename(temporary, &self.known)
    }

    /// Hazards of roots that are no roots any more are left out.
    pub(super) fn load_known(&self, tree: &Tree) -> io::Result<BTreeSet<Hazard>> {
        let stored: Vec<StoredHazard> = serde_json::from_slice(&fs::read(&self.known)?)?;
        Ok(stored.into_iter().filter_map(|hazard| restore(tree, hazard)).collect())
    }

    pub(super) fn begin(&self, call: &GuardedCall) -> io::Result<()> {
        self.running.begin(call)
    }

    pub(super) fn end(&self, call: &GuardedCall) {
        if let Err(error) = self.running.end(call) {
            tracing::error!(call_id = %call.call_id, %error, "could not note that a command was checked");
        }
    }

    /// The commands whose check did not happen.
    pub(super) fn unchecked(&self) -> BTreeSet<GuardedCall> {
        self.running.all()
    }
}

fn store(tree: &Tree, hazard: &Hazard) -> StoredHazard {
    let what = match &hazard.what {
        What::Directory => StoredWhat::Directory,
        What::File(digest) => StoredWhat::File(digest.clone()),
        What::Link(target) => StoredWhat::Link(names::path_to_text(target)),
        What::Setting(setting) => StoredWhat::Setting {
            section: setting.section.clone(),
            subsection: setting.subsection.as_deref().map(names::to_text),
            key: setting.key.clone(),
            value: setting.value.as_deref().map(names::to_text),
        },
        What::UnreadableConfig(digest) => StoredWhat::UnreadableConfig(digest.clone()),
        What::RebaseCommands(digest) => StoredWhat::RebaseCommands(digest.clone()),
        What::ForbiddenPaths(digest) => StoredWhat::ForbiddenPaths(digest.clone()),
        What::ForbiddenRefs(digest) => StoredWhat::ForbiddenRefs(digest.clone()),
        What::Special => StoredWhat::Special,
        What::Unseen => StoredWhat::Unseen,
    };
    let root = names::path_to_text(tree.root_path(hazard.root));
    StoredHazard { root, path: names::path_to_text(&hazard.path), what }
}

fn restore(tree: &Tree, stored: StoredHazard) -> Option<Hazard> {
    let bytes = |text: &str| names::from_text(text).ok();
    let path = |text: &str| bytes(text).map(PathBuf::from);
    let what = match stored.what {
        StoredWhat::Directory => What::Directory,
        StoredWhat::File(digest) => What::File(digest),
        StoredWhat::Link(target) => What::Link(path(&target)?),
        StoredWhat::Setting { section, subsection, key, value } => {
            let raw = |text: String| bytes(&text).map(|text: OsString| text.as_bytes().to_vec());
            let subsection = subsection.map(|text| raw(text).ok_or(())).transpose().ok()?;
            let value = value.map(|text| raw(text).ok_or(())).transpose().ok()?;
            What::Setting(Setting { section, subsection, key, value })
        }
        StoredWhat::UnreadableConfig(digest) => What::UnreadableConfig(digest),
        StoredWhat::RebaseCommands(digest) => What::RebaseCommands(digest),
        StoredWhat::ForbiddenPaths(digest) => What::ForbiddenPaths(digest),
        StoredWhat::ForbiddenRefs(digest) => What::ForbiddenRefs(digest),
        StoredWhat::Special => What::Special,
        StoredWhat::Unseen => What::Unseen,
    };
    let root = tree.root_at(&path(&stored.root)?)?;
    Some(Hazard { root, path: path(&stored.path)?, what })
}
