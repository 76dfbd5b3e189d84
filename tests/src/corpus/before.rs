//! States that must not change, recorded before a call and compared after it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::Value;

use super::Case;
use super::placeholders::Placeholders;

/// The checks that compare, each with what it compares of a path; none if there is no such thing.
const COMPARISONS: [(&str, StateOf); 2] = [("file_unchanged", content), ("metadata_unchanged", metadata)];

type StateOf = fn(&str) -> Option<Vec<u8>>;

#[derive(Debug)]
pub(super) struct Before(BTreeMap<(String, String), Vec<u8>>);

impl Before {
    pub(super) fn remember(case: &Case, placeholders: &Placeholders) -> Result<Self, String> {
        let mut states = BTreeMap::new();
        for (check, state_of) in COMPARISONS {
            let Some(paths) = case.check.get(check) else { continue };
            for path in texts(&placeholders.fill_value(paths)?)? {
                let state = state_of(path).ok_or_else(|| format!("{check}: nothing at {path} before"))?;
                states.insert((check.to_owned(), path.to_owned()), state);
            }
        }
        Ok(Self(states))
    }

    /// Whether the state of a path is unchanged.
    pub(super) fn is_same(&self, check: &str, path: &str) -> bool {
        let now =
            COMPARISONS.iter().find(|(name, _)| *name == check).and_then(|(_, state_of)| state_of(path));
        now.is_some() && now.as_ref() == self.0.get(&(check.to_owned(), path.to_owned()))
    }
}

fn content(path: &str) -> Option<Vec<u8>> {
    fs::read(path).ok()
}

/// All metadata that a process could change, except the time of the last read.
fn metadata(path: &str) -> Option<Vec<u8>> {
    let stat = fs::symlink_metadata(path).ok()?;
    let owner = (stat.mode(), stat.uid(), stat.gid(), stat.nlink(), stat.ino());
    let times = (stat.mtime(), stat.mtime_nsec(), stat.ctime(), stat.ctime_nsec());
    Some(format!("{owner:?}{times:?}").into_bytes())
}

pub(super) fn texts(value: &Value) -> Result<Vec<&str>, String> {
    let items = value.as_array().ok_or("a list is needed")?;
    items.iter().map(|item| item.as_str().ok_or_else(|| "a text is needed".to_owned())).collect()
}
