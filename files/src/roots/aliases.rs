//! Names that stand for a directory at the beginning of a path, so that callers need not know where it is.

use std::path::{Path, PathBuf};

use protocol::{ErrorCode, ToolError};
use rustix::fs::OFlags;
use rustix::io::Errno;
use settings::choices::STATE_ROOT;

use super::child::{make_child_directory, open_without_links};
use super::names;
use super::open::Roots;
use super::root::{Root, root_of};

/// The root whose directory has the name [`STATE_ROOT`].
pub const STATE_ALIAS: &str = "file_state_dir";
/// A directory of the first root for what can be made again.
pub const CACHE_ALIAS: &str = "file_cache_dir";

const CACHE: [&str; 2] = [".cache", "autonous"];

impl Roots {
    /// The root and the path below it, if a relative path begins with an alias. The directory for what can be
    /// made again is made when it is first named; if that fails, the call that opens it gets the error.
    pub(super) fn behind_alias(&self, path: &Path) -> Option<Result<(usize, PathBuf), ToolError>> {
        let beneath = |alias| path.strip_prefix(alias).ok();
        if let Some(rest) = beneath(STATE_ALIAS) {
            return Some(self.state.map(|root| (root, rest.to_owned())).ok_or_else(no_state_root));
        }
        let rest = beneath(CACHE_ALIAS)?;
        if !self.are_read_only
            && let Err(errno) = make(&self.roots[0])
        {
            tracing::warn!(%errno, "could not make the directory that {CACHE_ALIAS} stands for");
        }
        Some(Ok((0, CACHE.iter().collect::<PathBuf>().join(rest))))
    }

    /// A resolved path in words, as a caller would name it: from where relative paths start, or behind the
    /// alias.
    pub(crate) fn in_words(&self, path: &Path) -> String {
        let is_alias = |beneath: &Path| beneath.starts_with(STATE_ALIAS) || beneath.starts_with(CACHE_ALIAS);
        let named = match root_of(&self.roots, path) {
            Some((0, beneath)) if !beneath.as_os_str().is_empty() && !is_alias(&beneath) => beneath,
            Some((root, beneath)) if self.state == Some(root) => Path::new(STATE_ALIAS).join(beneath),
            _ => path.to_owned(),
        };
        names::path_to_text(&named)
    }

    /// The directory that an alias stands for.
    pub fn directory_of_alias(&self, alias: &str) -> Result<PathBuf, ToolError> {
        let (root, beneath) = self.place(alias)?;
        Ok(self.roots[root].path.join(beneath).components().collect())
    }
}

fn no_state_root() -> ToolError {
    let message = format!(
        "`{STATE_ALIAS}` stands for the root whose directory is called `{STATE_ROOT}`, and there is none."
    );
    ToolError::new(ErrorCode::NotFound, message)
        .with_hint("Use a path relative to the first root, or ask the operator to add such a root.")
}

/// Makes the directory for what can be made again, step by step and without following a link.
fn make(root: &Root) -> Result<(), Errno> {
    let mut directory = root.handle.try_clone().map_err(|_| Errno::MFILE)?;
    for name in CACHE {
        make_child_directory(&directory, name, 0o755)?;
        directory = open_without_links(&directory, name, OFlags::PATH | OFlags::DIRECTORY)?;
    }
    Ok(())
}
