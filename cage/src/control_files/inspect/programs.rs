//! The files that allowed settings name as programs: they are guarded as hooks are.

use std::path::Path;

use super::super::command_words::{self, Word};
use super::super::hazard::{Hazard, What};
use super::super::tree::type_of;
use super::{Inspector, Place};
use files::roots::{Lead, lexically_clean, names};

impl Inspector<'_> {
    /// From each place where git may run them: its own directory, and each working tree.
    pub(super) fn programs(&mut self) {
        for (git, setting) in std::mem::take(&mut self.program_settings) {
            let Some(value) = &setting.value else { continue };
            let why = format!("git runs it, because `{}` names it", names::to_text(&setting.name()));
            let starts = self.starts(&git);
            for word in command_words::named(value) {
                for start in &starts {
                    self.program(start, &word, &why);
                }
            }
        }
    }

    fn program(&mut self, (root, from): &Place, word: &Word, why: &str) {
        self.program_link(*root, from, word, why);
        match self.tree.lead(*root, from, &word.path) {
            Lead::Inside(to, path) => {
                let Some(stat) = self.tree.stat(to, &path).filter(|stat| type_of(stat).is_file()) else {
                    return;
                };
                self.inspection.named.insert((to, path.clone()));
                self.add_whole(to, &path, &stat, why);
            }
            // Its author decides what runs.
            Lead::Missing => {
                self.name(*root, from, &word.path);
            }
            Lead::Outside => {}
        }
    }

    /// A link in place of the program, which could be led elsewhere.
    fn program_link(&mut self, root: usize, from: &Path, word: &Word, why: &str) {
        if word.path.is_absolute() {
            return;
        }
        let path = lexically_clean(&from.join(&word.path));
        if self.tree.stat(root, &path).is_some_and(|stat| type_of(&stat).is_symlink())
            && let Some(target) = self.tree.read_link(root, &path)
        {
            self.inspection.named.insert((root, path.clone()));
            self.insert(Hazard::new(root, &path, What::Link(target)), why);
        }
    }
}
