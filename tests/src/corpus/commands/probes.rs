//! Probe programs: system calls that no shell can make, written in C and built where a case names them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::TestDir;

/// Where a place has its probe programs: outside of the roots, shown to commands read-only.
pub(super) fn directory(dir: &TestDir) -> PathBuf {
    dir.path().join("probes")
}

/// Builds the programs that a command line takes from `{HELPERS}`.
pub(super) fn build(command_line: &str, directory: &Path) -> Result<(), String> {
    for rest in command_line.split("{HELPERS}/").skip(1) {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        compile(&rest[..end], directory)?;
    }
    Ok(())
}

fn compile(name: &str, directory: &Path) -> Result<(), String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("probes").join(name).with_extension("c");
    let output = Command::new("cc").arg("-o").arg(directory.join(name)).arg(source).output();
    let output = output.map_err(|error| format!("no C compiler for the probe {name}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(format!("the probe {name} does not compile: {said}")) }
}
