//! What lies below a path: a rule for all that a directory has holds for the directory, too, and a search of
//! a directory above leaves out what a rule denies.

use std::path::Path;

use globset::Glob;

use super::lists::{empty, glob};
use super::{Decision, Facts, Policy, Subject, TouchedPath};

const KEY: &str = "paths";

/// What makes a part of a glob more than a name.
const META: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// The globs of a rule's paths.
#[derive(Debug)]
pub(super) struct PathGlobs {
    pub(super) all: Vec<Glob>,
    /// Those that hold for everything below what they match.
    pub(super) trees: Vec<Glob>,
}

impl PathGlobs {
    pub(super) fn new(patterns: &[String]) -> Result<Self, String> {
        if patterns.is_empty() {
            return Err(empty(KEY));
        }
        let mut globs = Self { all: Vec::new(), trees: Vec::new() };
        patterns.iter().try_for_each(|pattern| globs.add(pattern))?;
        Ok(globs)
    }

    fn add(&mut self, pattern: &str) -> Result<(), String> {
        let pattern = as_resolved(pattern)?;
        let tree = pattern.strip_suffix("**/*").or_else(|| pattern.strip_suffix("**"));
        let Some(directory) = tree.filter(|start| start.is_empty() || start.ends_with('/')) else {
            self.all.push(glob(&pattern, KEY)?);
            return Ok(());
        };
        // `a/**` is about `a`, too: a call that may not have its content may not search it.
        let directory = directory.trim_end_matches('/');
        let own = if directory.is_empty() { None } else { Some(glob(directory, KEY)?) };
        for glob in [glob(&pattern, KEY)?].into_iter().chain(own) {
            self.all.push(glob.clone());
            self.trees.push(glob);
        }
        Ok(())
    }
}

/// A glob as a resolved path could match it: no path begins with `./`, ends with a slash or has `..`.
fn as_resolved(pattern: &str) -> Result<String, String> {
    if pattern.split('/').any(|part| part == "..") {
        return Err(format!(
            "`{KEY}` has {pattern:?}, which never matches, because `..` is resolved first: leave it out"
        ));
    }
    let parts: Vec<&str> = pattern.split('/').collect();
    let last = parts.len() - 1;
    let kept = |(at, part): &(usize, &&str)| **part != "." && (!part.is_empty() || *at == 0 || *at == last);
    let mut kept: Vec<&str> = parts.iter().enumerate().filter(kept).map(|(_, part)| *part).collect();
    match kept.last() {
        // `.` is the root with all that it has, and `a/` the directory.
        None => return Ok("**".to_owned()),
        Some(&"") if kept.len() > 1 => kept[..].last_mut().into_iter().for_each(|last| *last = "**"),
        Some(_) => {}
    }
    Ok(kept.join("/"))
}

/// Whether a glob could match something below a directory: their names are the same as far as both have
/// plain ones.
pub(super) fn may_match_below(glob: &str, directory: &TouchedPath) -> bool {
    let path: &Path = if glob.starts_with('/') { &directory.path } else { &directory.beneath };
    let text = path.to_string_lossy();
    let names = |text: &'_ str| {
        text.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let plain = names(glob).into_iter().take_while(|part| !part.contains(META));
    plain.zip(names(&text)).all(|(wanted, name)| wanted == name)
}

/// The rules that decide about what a call finds below its paths.
#[derive(Debug, Clone)]
pub(crate) struct Below(Vec<usize>);

impl Below {
    /// Whether the rules deny a path that the call came upon.
    pub(crate) fn hides(&self, policy: &Policy, path: &TouchedPath) -> bool {
        let matching = policy.paths.of_path(path);
        let is_about =
            |number: &&usize| !policy.rules[**number].has_paths() || matching.binary_search(number).is_ok();
        let first = self.0.iter().find(is_about);
        first.is_some_and(|number| policy.rules[*number].decision() == Decision::Deny)
    }
}

impl Policy {
    /// The rules about what a call finds below its paths; none if it may have all of that.
    pub(crate) fn below(&self, subject: &Subject<'_>) -> Option<Below> {
        let facts = Facts::of(self, subject);
        let mut rules = Vec::new();
        for (number, rule) in self.rules.iter().enumerate() {
            if rule.matches_beside_paths(number, &facts) {
                rules.push(number);
                if !rule.has_paths() {
                    break;
                }
            }
        }
        let denies = rules.iter().any(|number| self.rules[*number].decision() == Decision::Deny);
        denies.then_some(Below(rules))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_is_read_as_a_resolved_path_could_match_it() {
        for (written, read) in [
            ("never/**", "never/**"),
            ("./never/**", "never/**"),
            ("never/", "never/**"),
            ("never//x", "never/x"),
            ("/w/never/", "/w/never/**"),
            (".", "**"),
            ("*.md", "*.md"),
        ] {
            assert_eq!(as_resolved(written).as_deref(), Ok(read), "{written}");
        }
        assert!(as_resolved("a/../b").unwrap_err().contains("`..`"));
    }

    #[test]
    fn a_search_may_come_upon_what_has_the_same_names_above() {
        let at = |beneath: &str| TouchedPath { path: Path::new("/w").join(beneath), beneath: beneath.into() };
        for (glob, directory, may) in [
            ("never/**", "", true),
            ("never/**", "never", true),
            ("never/**", "never/deep", true),
            ("never/**", "other", false),
            ("a/never/x", "a", true),
            ("a/never/x", "b", false),
            ("**/*.key", "any", true),
            ("a/*/x", "a/b", true),
            ("a/*/x", "b", false),
            ("/w/never/**", "", true),
            ("/v/never/**", "", false),
        ] {
            assert_eq!(may_match_below(glob, &at(directory)), may, "{glob} below {directory:?}");
        }
    }
}
