//! Control files: files that make other programs run code, which no file tool writes
//! (`AUTONOUS_TOOL_PROTECTED`).
//!
//! A pattern is one or more names; it holds wherever they follow each other in a path, for what lies
//! beneath them too, whether the file exists or not. Case is ignored, because some file systems do.

use std::path::Path;

/// What is protected where the variable says nothing else.
pub const DEFAULT_PROTECTED: &str =
    ".git/hooks,.git/config,.envrc,.vscode,.idea,.mcp.json,.claude,.codex,.cursor";

/// The patterns, as lower-case names.
#[derive(Debug, Clone)]
pub struct ProtectedPaths {
    patterns: Vec<Vec<String>>,
}

impl ProtectedPaths {
    /// Patterns such as `.git/hooks`.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Self {
        let patterns = patterns
            .into_iter()
            .map(|pattern| {
                pattern.split('/').filter(|name| !name.is_empty()).map(str::to_lowercase).collect()
            })
            .filter(|names: &Vec<String>| !names.is_empty())
            .collect();
        Self { patterns }
    }

    /// Whether a path beneath a root is a control file, or lies beneath one.
    pub fn covers(&self, beneath: &Path) -> bool {
        let names: Vec<String> =
            beneath.components().map(|name| name.as_os_str().to_string_lossy().to_lowercase()).collect();
        self.patterns.iter().any(|pattern| names.windows(pattern.len()).any(|window| window == pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_files_are_known_at_any_depth_and_in_any_case() {
        let protected = ProtectedPaths::new(DEFAULT_PROTECTED.split(','));
        for path in
            [".git/hooks/pre-commit", "sub/.GIT/Hooks", ".git/config", "a/.envrc", ".Claude/settings.json"]
        {
            assert!(protected.covers(Path::new(path)), "{path}");
        }
        for path in [".git/HEAD", "git/hooks", ".git", "hooks/.gitkeep", ".envrc.example", ""] {
            assert!(!protected.covers(Path::new(path)), "{path}");
        }
    }
}
