//! Keeps the cost of hiding within bounds: where too much is to be hidden, whole directories are hidden.
//!
//! Each cover costs every command some 15 µs, and the kernel allows 100,000 of them. So the directories in
//! which most of the hidden names lie are hidden as wholes, as few and as deep ones as suffice.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use sandbox::{Cover, CoverKind};

/// The most covers before directories are hidden as wholes.
pub(super) const MOST_COVERS: usize = 4096;

/// The most covers where no directory can stand for many of them, because they lie directly in a root.
const MOST_APART: usize = 16_384;

/// The most directories that are hidden whole.
const MOST_WHOLE: usize = 64;

/// More is to be hidden than can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Crowd {
    pub(super) count: usize,
    /// The directory that has most of it.
    pub(super) place: PathBuf,
}

/// The covers, with whole directories in place of many. `tops` are the directories that cannot be hidden.
pub(super) fn grouped(covers: Vec<Cover>, tops: &[PathBuf]) -> Result<Vec<Cover>, Crowd> {
    grouped_within(covers, tops, MOST_COVERS, MOST_APART)
}

fn grouped_within(
    covers: Vec<Cover>,
    tops: &[PathBuf],
    most: usize,
    most_apart: usize,
) -> Result<Vec<Cover>, Crowd> {
    if covers.len() <= most {
        return Ok(covers);
    }
    let mut places = Places::of(&covers, tops);
    let mut whole: Vec<Cover> = Vec::new();
    for _ in 0..MOST_WHOLE {
        let Some(directory) = places.take(most) else { break };
        let Ok(facts) = std::fs::symlink_metadata(&directory) else { continue };
        whole.retain(|cover| !cover.path.starts_with(&directory));
        let (device, inode) = (facts.dev(), facts.ino());
        whole.push(Cover { path: directory, device, inode, kind: CoverKind::Hide });
    }
    let is_apart = |cover: &Cover| !whole.iter().any(|whole| cover.path.starts_with(&whole.path));
    let mut left: Vec<Cover> = covers.iter().filter(|cover| is_apart(cover)).cloned().collect();
    if left.len() > most_apart {
        return Err(Crowd { count: covers.len(), place: crowded(&left) });
    }
    left.extend(whole);
    Ok(left)
}

/// Where most of this lies directly: of `/r/a/.env` and `/r/b/.env` it is `/r`.
fn crowded(covers: &[Cover]) -> PathBuf {
    let mut counts: BTreeMap<&Path, usize> = BTreeMap::new();
    for cover in covers {
        for above in cover.path.ancestors().skip(1).take(2) {
            *counts.entry(above).or_default() += 1;
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map_or_else(PathBuf::new, |(path, _)| path.to_owned())
}

/// How much there is to hide in each directory.
struct Places<'a> {
    counts: BTreeMap<&'a Path, usize>,
    left: usize,
}

impl<'a> Places<'a> {
    fn of(covers: &'a [Cover], tops: &[PathBuf]) -> Self {
        let mut counts = BTreeMap::new();
        for cover in covers {
            let is_below_top = |path: &&Path| tops.iter().any(|top| path.starts_with(top) && *path != top);
            for directory in cover.path.ancestors().skip(1).take_while(is_below_top) {
                *counts.entry(directory).or_default() += 1;
            }
        }
        Self { counts, left: covers.len() }
    }

    /// The next directory to hide, if there is more than `most`: the smallest that is enough, else the one
    /// with most; the deepest of equals.
    fn take(&mut self, most: usize) -> Option<PathBuf> {
        let needed = self.left.checked_sub(most).filter(|needed| *needed > 0)?;
        let depth = |path: &Path| path.as_os_str().len();
        let many = || self.counts.iter().filter(|(_, count)| **count > 1);
        let enough = many()
            .filter(|(_, count)| **count > needed)
            .min_by_key(|(path, count)| (**count, std::cmp::Reverse(depth(path))));
        let (directory, count) =
            enough.or_else(|| many().max_by_key(|(path, count)| (**count, depth(path))))?;
        let (directory, count) = (directory.to_path_buf(), *count);
        self.counts.retain(|path, _| !path.starts_with(&directory));
        for above in directory.ancestors().skip(1) {
            if let Some(others) = self.counts.get_mut(above) {
                *others = others.saturating_sub(count - 1);
            }
        }
        self.left = self.left.saturating_sub(count - 1);
        Some(directory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: impl IntoIterator<Item = String>, expected: Result<&[&str], &str>) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().to_owned();
        let covers: Vec<Cover> = files
            .into_iter()
            .map(|path| Cover { path: root.join(path), device: 1, inode: 2, kind: CoverKind::Hide })
            .collect();
        for cover in &covers {
            std::fs::create_dir_all(cover.path.parent().unwrap()).unwrap();
        }
        let paths: Vec<PathBuf> = covers.iter().map(|cover| cover.path.clone()).collect();
        let whole = grouped_within(covers, std::slice::from_ref(&root), 40, 160).map(|grouped| {
            let whole = grouped.into_iter().filter(|cover| !paths.contains(&cover.path));
            whole
                .map(|cover| cover.path.strip_prefix(&root).unwrap().display().to_string())
                .collect::<Vec<_>>()
        });
        let whole = whole.map_err(|crowd| crowd.place.strip_prefix(&root).unwrap().display().to_string());
        let expected = expected.map(|paths| paths.iter().map(ToString::to_string).collect());
        assert_eq!(whole, expected.map_err(str::to_owned));
    }

    #[test]
    fn the_directory_that_has_most_is_hidden_whole_and_no_root() {
        let flood = |place: &'static str, count: usize| (0..count).map(move |n| format!("{place}{n}/.env"));
        let own = || ["web/.env", "a/.env", "a/b/.env"].map(str::to_owned);
        check(flood("a/x/", 40), Ok(&[]));
        check(flood("a/x/", 50).chain(own()), Ok(&["a/x"]));
        check(flood("", 50), Ok(&[]));
        check(flood("", 170).chain(own()), Err(""));
        check(flood("a/x/", 200).chain(flood("b/", 10)).chain(own()), Ok(&["a/x"]));
        check((0..60).map(|n| format!("keys/{n}.pem")).chain(own()), Ok(&["keys"]));
        // However many pairs there are, the search for directories ends.
        check((0..200).flat_map(|n| [format!("p{n}/.env"), format!("p{n}/.env.x")]), Err(""));
    }
}
