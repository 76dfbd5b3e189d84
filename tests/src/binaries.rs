//! Finds the binaries under test: next to the test program, in the same profile.

use std::path::PathBuf;
use std::process::Command;

use crate::project_copy::workspace;

/// The path of a binary; panics with what to do if it is not built. Tests run from `target/<profile>/deps`,
/// programs from `target/<profile>`, where the binaries are.
pub fn path_of(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a running program has a path");
    let found =
        own.ancestors().skip(1).take(2).map(|directory| directory.join(name)).find(|path| path.is_file());
    found.unwrap_or_else(|| {
        panic!("{name} is missing; build the binaries first: cargo build --workspace --bins")
    })
}

/// Cargo, in this workspace's directory.
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(workspace());
    cargo
}
