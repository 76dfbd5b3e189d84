//! What must stay as it is, noted before a call and compared after it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use super::Case;
use super::check::texts;
use super::placeholders::Placeholders;

#[derive(Debug, Default)]
pub struct Before {
    contents: BTreeMap<String, Vec<u8>>,
    metadata: BTreeMap<String, Vec<i64>>,
    directories: BTreeMap<String, (u64, u64)>,
}

impl Before {
    pub fn remember(case: &Case, placeholders: &Placeholders) -> Result<Self, String> {
        let mut before = Self::default();
        for path in paths(case, "file_unchanged", placeholders)? {
            let content = fs::read(&path).map_err(|error| format!("{path} before: {error}"))?;
            before.contents.insert(path, content);
        }
        for path in paths(case, "metadata_unchanged", placeholders)? {
            let facts = facts(&path).ok_or_else(|| format!("{path} has no metadata before"))?;
            before.metadata.insert(path, facts);
        }
        for path in paths(case, "dir_kept", placeholders)? {
            let directory = directory(&path).ok_or_else(|| format!("{path} is no directory before"))?;
            before.directories.insert(path, directory);
        }
        Ok(before)
    }

    pub fn has_content_of(&self, path: &str) -> bool {
        fs::read(path).ok().as_ref() == self.contents.get(path)
    }

    /// Whether owner, mode, links and times of a file are what they were.
    pub fn has_metadata_of(&self, path: &str) -> bool {
        facts(path).as_ref() == self.metadata.get(path)
    }

    pub fn has_directory(&self, path: &str) -> bool {
        directory(path).is_some_and(|now| self.directories.get(path) == Some(&now))
    }
}

fn paths(case: &Case, check: &str, placeholders: &Placeholders) -> Result<Vec<String>, String> {
    let Some(paths) = case.check.get(check) else { return Ok(Vec::new()) };
    texts(paths)?.into_iter().map(|path| placeholders.fill(path)).collect()
}

fn directory(path: &str) -> Option<(u64, u64)> {
    let stat = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir)?;
    Some((stat.dev(), stat.ino()))
}

/// Everything that a process could change of a file without its content, but not when it was last read.
fn facts(path: &str) -> Option<Vec<i64>> {
    let stat = fs::symlink_metadata(path).ok()?;
    let counts =
        [u64::from(stat.mode()), u64::from(stat.uid()), u64::from(stat.gid()), stat.nlink(), stat.ino()];
    let counts = counts.into_iter().map(|count| i64::try_from(count).unwrap_or(i64::MAX));
    Some(counts.chain([stat.mtime(), stat.mtime_nsec(), stat.ctime(), stat.ctime_nsec()]).collect())
}
