//! Resident memory of the whole system, idle after its first message.

use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::program::{Program, children_of, path_of, resident_mib, until_ready};
use crate::table::Table;

/// The most that each program may have, in MiB.
const TARGETS: [(&str, f64); 4] =
    [("tool-server", 20.0), ("agent-worker", 20.0), ("launcher", 20.0), ("supervisor", 40.0)];

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let data = place.path().join("data");
    let (supervisor, control) = Program::system(&data)?;
    until_ready(control)?;
    let said = Command::new(path_of("supervisor")?)
        .arg("--data-dir")
        .arg(&data)
        .args(["chat", "ls path=."])
        .stdout(Stdio::null())
        .status()?;
    anyhow::ensure!(said.success(), "the system did not answer");
    let mut processes = children_of(supervisor.pid())?;
    for (child, _) in processes.clone() {
        processes.extend(children_of(child)?);
    }
    processes.push((supervisor.pid(), "supervisor".to_owned()));
    for (name, most) in TARGETS {
        let (pid, _) = processes
            .iter()
            .find(|(_, found)| found == name)
            .with_context(|| format!("the supervisor has no child {name}"))?;
        table.bound(name, resident_mib(*pid)?, most, "MiB");
    }
    Ok(())
}
