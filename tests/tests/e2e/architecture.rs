//! The arrows between the crates, and the opening of every file: the design's promises about the source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use harness::project_copy;

/// Which crates of this workspace each crate may import; those of the tests and of the measurements may
/// import any.
const ALLOWED: [(&str, &[&str]); 7] = [
    ("protocol", &[]),
    ("process", &["protocol"]),
    ("sandbox", &["protocol", "process"]),
    ("toolkit", &["protocol", "process"]),
    ("tool-server", &["protocol", "process", "toolkit", "sandbox"]),
    ("agent-worker", &["protocol", "process", "toolkit"]),
    ("supervisor", &["protocol", "process", "toolkit"]),
];

/// How a program reads its environment or its current directory.
const READING: [&str; 5] = ["env::var(", "env::vars(", "env::var_os(", "env::vars_os(", "env::current_dir("];

/// Each crate of the workspace with the crates of the workspace that it imports, tests and build included.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("cargo lists packages");
    let names: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut imports = BTreeMap::new();
    for package in packages {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let ours = dependencies.filter_map(|d| d["name"].as_str()).filter(|name| names.contains(name));
        let name = package["name"].as_str().unwrap_or_default().to_owned();
        imports.insert(name, ours.map(str::to_owned).collect());
    }
    imports
}

fn metadata() -> serde_json::Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = std::process::Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(project_copy::workspace())
        .output()
        .expect("cargo runs this test, so it is there");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn crates_import_only_what_their_power_needs() {
    let imports = imports();
    for (name, found) in &imports {
        if name == "e2e" || name == "bench" {
            continue;
        }
        let allowed = ALLOWED.iter().find(|(known, _)| known == name);
        let (_, allowed) = allowed.unwrap_or_else(|| panic!("{name} is new: say here what it may import"));
        for import in found.iter().filter(|import| *import != name) {
            assert!(allowed.contains(&import.as_str()), "{name} must not import {import}");
        }
    }
    for (name, _) in ALLOWED {
        assert!(imports.contains_key(name), "{name} is not in the workspace any more");
    }
}

#[test]
fn every_source_file_opens_with_what_it_is() {
    let files = source_files();
    assert!(files.len() > 50, "the workspace has source files: {}", files.len());
    let silent: Vec<&PathBuf> = files
        .iter()
        .filter(|file| !fs::read_to_string(file).is_ok_and(|text| text.starts_with("//! ")))
        .collect();
    assert!(silent.is_empty(), "these files do not open with `//! `: {silent:#?}");
}

#[test]
fn nothing_but_main_and_configuration_reads_the_environment() {
    let workspace = project_copy::workspace();
    for file in source_files() {
        let path = file.strip_prefix(&workspace).unwrap().display().to_string();
        let may_read = path.starts_with("process/") || path.ends_with("main.rs") || path.contains("/config");
        if may_read || !path.contains("/src/") || path.starts_with("tests/") {
            continue;
        }
        let text = fs::read_to_string(&file).unwrap();
        let read = READING.iter().find(|call| text.contains(*call));
        assert!(read.is_none(), "{path} reads the environment: {read:?}");
    }
}

/// All Rust files of the workspace, whether under version control yet or not.
fn source_files() -> Vec<PathBuf> {
    let workspace = project_copy::workspace();
    let crates = ALLOWED.iter().map(|(name, _)| *name).chain(["tests", "bench"]);
    let mut files = Vec::new();
    let mut directories: Vec<PathBuf> = crates.map(|name| workspace.join(name)).collect();
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).expect("a crate's directory is readable").flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}
