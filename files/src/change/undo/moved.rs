//! What was kept before its data directory was moved: the roots in that directory moved along, so a change is
//! found at its new place. Pure, over paths.

use std::path::{Path, PathBuf};

use super::record::ChangeRecord;
use crate::roots::names;

/// Corrects the path of a record that was kept when the store was elsewhere, if it lies in none of the roots
/// and lies in one after the move. The store is then taken as its place from now on.
pub(super) fn follow(record: &mut ChangeRecord, directory: &Path, roots: &[&Path]) {
    let here = names::path_to_text(directory);
    let before = record.kept_in.replace(here);
    let (Some(before), Some(path)) = (before.as_deref().and_then(path_of), path_of(&record.path)) else {
        return;
    };
    let is_within = |path: &Path| roots.iter().any(|root| path.starts_with(root));
    if is_within(&path) {
        return;
    }
    let moves = before.ancestors().zip(directory.ancestors()).skip(1);
    let candidates = moves.filter_map(|(old, new)| Some(new.join(path.strip_prefix(old).ok()?)));
    if let Some(found) = candidates.into_iter().find(|path| is_within(path)) {
        record.path = names::path_to_text(&found);
    }
}

fn path_of(text: &str) -> Option<PathBuf> {
    names::from_text(text).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use protocol::{EventId, SessionId};

    use super::super::record::Change;
    use super::*;

    #[test]
    fn a_path_follows_the_store_into_a_root_and_nowhere_else() {
        const OLD: &str = "/old/data/output/undo";
        for (path, kept_in, directory, root, expected) in [
            ("/old/data/workspace/a", Some(OLD), "/new/output/undo", "/new/workspace", "/new/workspace/a"),
            (
                "/old/data/workspace/a",
                Some(OLD),
                "/n/data/output/undo",
                "/n/data/state",
                "/old/data/workspace/a",
            ),
            ("/old/work/a", Some(OLD), "/new/data/output/undo", "/new/work", "/new/work/a"),
            ("/old/work/a", Some(OLD), "/old/d/output/undo", "/old/work", "/old/work/a"),
            ("/old/data/workspace/a", None, "/new/output/undo", "/new/workspace", "/old/data/workspace/a"),
            ("/old/data/workspace/a", Some(OLD), OLD, "/old/data/workspace", "/old/data/workspace/a"),
        ] {
            let mut record = ChangeRecord {
                call_id: EventId::new(),
                session_id: SessionId::default_session(),
                token_sha256: None,
                time_ms: 0,
                path: path.to_owned(),
                kept_in: kept_in.map(str::to_owned),
                change: Change::DirectoryCreated,
            };
            follow(&mut record, Path::new(directory), &[Path::new(root)]);
            assert_eq!(record.path, expected, "{path} {directory}");
            assert_eq!(record.kept_in.as_deref(), Some(directory));
        }
    }
}
