//! Where the binaries under test are: beside the program that tests them, in the same profile.

use std::path::PathBuf;

/// The path of the binary `name`; panics with the remedy when it was not built.
///
/// A test lies in `target/<profile>/deps` and a program in `target/<profile>`, where the binaries are too.
pub fn path_of(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a running program has a path");
    let found =
        own.ancestors().skip(1).take(2).map(|directory| directory.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| {
        panic!("{name} is missing: build the binaries first: cargo build --workspace --bins")
    })
}
