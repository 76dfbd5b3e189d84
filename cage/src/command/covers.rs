//! What the sandbox mounts over parts of the roots, from what the index found there.

use std::cmp::Reverse;
use std::path::PathBuf;

use sandbox::{Cover, CoverKind};

use crate::watch::{Entry, EntryKind, Snapshot};

/// What to hide from a command and to pin for that.
pub(super) fn hidden(snapshot: &Snapshot) -> Vec<Cover> {
    snapshot.entries.iter().filter_map(|entry| cover(snapshot, entry)).collect()
}

/// The same with what makes other programs execute something: a directory before its entries, and each path
/// once, since a second mount would find the first instead of the file.
pub(super) fn with_protection(mut covers: Vec<Cover>, kept: Vec<Cover>) -> Vec<Cover> {
    covers.extend(kept);
    covers.sort_by(|a, b| (&a.path, Reverse(strength(a.kind))).cmp(&(&b.path, Reverse(strength(b.kind)))));
    covers.dedup_by(|later, earlier| later.path == earlier.path);
    let mut hidden: Option<PathBuf> = None;
    covers.retain(|cover| {
        if hidden.as_ref().is_some_and(|hidden| cover.path.starts_with(hidden)) {
            return false;
        }
        if cover.kind == CoverKind::Hide {
            hidden = Some(cover.path.clone());
        }
        true
    });
    covers
}

fn cover(snapshot: &Snapshot, entry: &Entry) -> Option<Cover> {
    // A link has no content to hide.
    if entry.file_type.is_symlink() {
        return None;
    }
    let kind = match entry.kind {
        EntryKind::Denied | EntryKind::Unreadable | EntryKind::TooDeep | EntryKind::Socket => CoverKind::Hide,
        // Under another name, the next command would see its content.
        EntryKind::NamesDenied => CoverKind::Pin,
        EntryKind::Control | EntryKind::DotGit | EntryKind::GitDirectory => return None,
    };
    let Entry { device, inode, .. } = *entry;
    Some(Cover { path: snapshot.absolute(entry), device, inode, kind })
}

fn strength(kind: CoverKind) -> u8 {
    match kind {
        CoverKind::Pin => 0,
        CoverKind::ReadOnly => 1,
        CoverKind::Hide => 2,
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::FileType;

    use super::*;

    #[test]
    fn each_path_is_covered_once_and_nothing_below_a_hidden_one() {
        let entry = |root: usize, path: &str, kind| Entry {
            root,
            path: path.into(),
            kind,
            device: 1,
            inode: 2,
            file_type: FileType::Directory,
            seen: 0,
        };
        let entries = vec![
            entry(0, "a", EntryKind::Unreadable),
            entry(0, "a-b", EntryKind::NamesDenied),
            entry(0, "a/b/.env", EntryKind::Denied),
            entry(0, "sub/.env", EntryKind::Denied),
            entry(1, ".env", EntryKind::Denied),
            Entry { file_type: FileType::Symlink, ..entry(1, "x/.env", EntryKind::Denied) },
        ];
        let roots = vec![PathBuf::from("/r"), PathBuf::from("/r/sub")];
        let keep = |kind| Cover { path: "/r/.git".into(), device: 1, inode: 2, kind };
        let hidden = hidden(&Snapshot { entries, roots });
        let covers = with_protection(hidden, vec![keep(CoverKind::Pin), keep(CoverKind::ReadOnly)]);
        let found: Vec<_> = covers.iter().map(|cover| (cover.path.to_str().unwrap(), cover.kind)).collect();
        let expected = [
            ("/r/.git", CoverKind::ReadOnly),
            ("/r/a", CoverKind::Hide),
            ("/r/a-b", CoverKind::Pin),
            ("/r/sub/.env", CoverKind::Hide),
        ];
        assert_eq!(found, expected);
    }
}
