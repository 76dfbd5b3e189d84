//! Copies this project's tracked files, so that a model can be asked about them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Copies every tracked file of this workspace to `target`, and returns their relative paths.
pub fn copy_to(target: &Path) -> Vec<PathBuf> {
    let workspace = workspace();
    let files = tracked_files(&workspace);
    for file in &files {
        let copy = target.join(file);
        fs::create_dir_all(copy.parent().expect("a joined path has a parent")).expect("it is writable");
        fs::copy(workspace.join(file), copy).expect("a tracked file can be copied");
    }
    files
}

pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is in the workspace").to_owned()
}

/// The tracked files that exist, relative to the workspace.
pub fn tracked_files(workspace: &Path) -> Vec<PathBuf> {
    let output = Command::new("git")
        // The tests may run as another user than the one who cloned the project.
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .current_dir(workspace)
        .output()
        .expect("git is needed to list this project's files");
    let names = String::from_utf8(output.stdout).expect("this project's names are UTF-8");
    let files: Vec<PathBuf> = names.split_terminator('\0').map(PathBuf::from).collect();
    assert!(files.len() > 20, "git lists this project's files: {}", String::from_utf8_lossy(&output.stderr));
    files.into_iter().filter(|file| workspace.join(file).is_file()).collect()
}
