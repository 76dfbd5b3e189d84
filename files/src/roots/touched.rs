//! What a path of a call leads to, for the operator's rules. Nothing is opened for reading or made.

use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use toolkit::policy::TouchedPath;

use super::open::Roots;
use super::resolve;

impl Roots {
    /// What a path names, a link itself and what it leads to; nothing where it leads out of the roots. What
    /// does not exist yet lies where it would be made.
    pub fn touched(&self, path: &str) -> Vec<TouchedPath> {
        let Ok((root, beneath)) = self.place(path) else { return Vec::new() };
        let found: Vec<TouchedPath> =
            [self.named(root, &beneath), self.led_to(root, &beneath)].into_iter().flatten().collect();
        if found.len() == 2 && found[0] == found[1] { found[..1].to_vec() } else { found }
    }

    fn led_to(&self, root: usize, beneath: &Path) -> Option<TouchedPath> {
        match resolve::open_beneath(&self.roots, root, beneath, OFlags::PATH | OFlags::CLOEXEC) {
            Ok(handle) => {
                let opened = self.identify(handle)?;
                let beneath = self.path_in_rules(&opened).into_owned();
                Some(TouchedPath { path: opened.path, beneath })
            }
            Err(Errno::NOENT) => {
                let (existing, rest) = self.deepest_directory(root, beneath).ok()?;
                self.below(existing, &rest)
            }
            Err(_) => None,
        }
    }

    /// The entry itself, in its resolved directory.
    fn named(&self, root: usize, beneath: &Path) -> Option<TouchedPath> {
        let Some(Component::Normal(name)) = beneath.components().next_back() else { return None };
        let parent = beneath.parent().unwrap_or(Path::new(""));
        let (existing, rest) = self.deepest_directory(root, parent).ok()?;
        self.below(existing, &rest.join(name))
    }

    fn below(&self, directory: std::os::fd::OwnedFd, rest: &Path) -> Option<TouchedPath> {
        let opened = self.identify(directory)?;
        let join = |start: PathBuf| start.join(rest).components().collect();
        let beneath = self.path_in_rules(&opened).into_owned();
        Some(TouchedPath { path: join(opened.path), beneath: join(beneath) })
    }
}
