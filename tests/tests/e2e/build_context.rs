//! What `.dockerignore` lets into the images' build is all that the build needs.

use std::fs;
use std::process::Output;

use harness::binaries::cargo;
use harness::project_copy::{tracked_files, workspace};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use tempfile::TempDir;

/// Docker's patterns are Git's, but each begins at the root.
fn docker_ignore(text: &str) -> Gitignore {
    let mut patterns = GitignoreBuilder::new("");
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let pattern = line.strip_prefix('!').map_or_else(|| format!("/{line}"), |path| format!("!/{path}"));
        patterns.add_line(None, &pattern).unwrap();
    }
    patterns.build().unwrap()
}

fn dockerignore() -> String {
    fs::read_to_string(workspace().join(".dockerignore")).unwrap()
}

/// A copy of the build context of this project, with this text as `.dockerignore`.
fn context_with(text: &str) -> TempDir {
    let ignored = docker_ignore(text);
    let (workspace, target) = (workspace(), tempfile::tempdir().unwrap());
    for file in tracked_files(&workspace) {
        if ignored.matched_path_or_any_parents(&file, false).is_ignore() {
            continue;
        }
        let copy = target.path().join(&file);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(workspace.join(&file), copy).unwrap();
    }
    target
}

/// Loads the workspace, as each build does first.
fn load(context: &TempDir) -> Output {
    let mut cargo = cargo();
    cargo.args(["metadata", "--locked", "--offline", "--no-deps", "--format-version", "1"]);
    cargo.current_dir(context.path()).output().unwrap()
}

#[test]
fn every_member_of_the_workspace_is_in_the_build_context() {
    let output = load(&context_with(&dockerignore()));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let without = load(&context_with(&dockerignore().replace("!sandbox\n", "")));
    assert!(!without.status.success(), "a member that is missing stops the build");
}

#[test]
fn the_directories_that_programs_embed_are_in_the_build_context() {
    let context = context_with(&dockerignore());
    let mut found = 0;
    let files = tracked_files(&workspace());
    for source in files.iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
        let Ok(code) = fs::read_to_string(context.path().join(source)) else { continue };
        for path in code.split("include_dir!(\"$CARGO_MANIFEST_DIR/").skip(1) {
            let crate_directory = source.iter().next().unwrap();
            let embedded = context.path().join(crate_directory).join(path.split('"').next().unwrap());
            assert!(embedded.is_dir(), "{source:?} embeds {embedded:?}, which .dockerignore leaves out");
            found += 1;
        }
    }
    assert!(found >= 2, "the migrations and the skills are embedded, but {found} directories were found");
}
