//! The globs of all rules together: each path, host or session of a call is looked up once, whatever the
//! number of rules.

use globset::{Candidate, Glob, GlobSet, GlobSetBuilder};

use super::TouchedPath;

/// Globs, each with the number of its rule.
#[derive(Debug, Default)]
pub(super) struct Globs {
    sets: Vec<(GlobSet, Vec<usize>)>,
}

impl Globs {
    /// The globs of rules, in the order of the rules.
    pub(super) fn of<'r>(globs_of_rules: impl Iterator<Item = &'r [Glob]>) -> Self {
        let owned: Vec<(usize, &Glob)> = (0..)
            .zip(globs_of_rules)
            .flat_map(|(rule, globs)| globs.iter().map(move |glob| (rule, glob)))
            .collect();
        let sets = match set(&owned) {
            Some(all) => vec![all],
            // Together they are too large for one automaton; each alone was tried when its rule was read.
            None => owned.chunks(1).filter_map(set).collect(),
        };
        Self { sets }
    }

    /// The numbers of the rules with a glob that matches a path, written in either way.
    pub(super) fn of_path(&self, TouchedPath { path, beneath }: &TouchedPath) -> Vec<usize> {
        self.matching(&[Candidate::new(beneath), Candidate::new(path)])
    }

    /// The numbers of the rules with a glob that matches one of these, in order.
    pub(super) fn matching(&self, texts: &[Candidate<'_>]) -> Vec<usize> {
        let mut rules = Vec::new();
        for (set, owners) in &self.sets {
            for text in texts {
                rules.extend(set.matches_candidate(text).into_iter().map(|glob| owners[glob]));
            }
        }
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}

fn set(owned: &[(usize, &Glob)]) -> Option<(GlobSet, Vec<usize>)> {
    let mut set = GlobSetBuilder::new();
    for (_, glob) in owned {
        set.add((*glob).clone());
    }
    Some((set.build().ok()?, owned.iter().map(|(rule, _)| *rule).collect()))
}
