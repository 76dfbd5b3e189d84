//! Where the binaries under test are: beside the test that runs, in the same profile.

use std::path::PathBuf;

/// The path of the binary `name`; panics with the remedy when it was not built.
pub fn path_of(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a path");
    let profile = test.ancestors().nth(2).expect("a test lies in target/<profile>/deps");
    let binary = profile.join(name);
    assert!(
        binary.is_file(),
        "{} is missing: build the binaries first: cargo build --workspace --bins",
        binary.display()
    );
    binary
}
