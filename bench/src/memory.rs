//! Resident memory of the whole system, idle after its first message.

use std::process::{Command, Stdio};

use anyhow::Context as _;

use crate::program::{Program, children_of, path_of, proportional_mib, resident_mib, until_ready};
use crate::table::Table;

/// The most that each program may have, in MiB.
const TARGETS: [(&str, f64); 4] =
    [("tool-server", 20.0), ("agent-worker", 20.0), ("launcher", 20.0), ("supervisor", 40.0)];

/// The most that the whole system may have, with four workers, the spawner and the sandboxes that wait. Pages
/// that several share count once.
const ALL: f64 = 80.0;

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
    let all = descendants_of(supervisor.pid())?.into_iter().map(proportional_mib);
    let what = "all processes together, with 4 workers";
    match all.sum::<std::io::Result<f64>>() {
        Ok(all) => table.bound(what, all, ALL, "MiB"),
        Err(_) => table.note(what, "only root can read it"),
    }
    Ok(())
}

pub(crate) fn descendants_of(pid: u32) -> anyhow::Result<Vec<u32>> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(children_of(parent)?.into_iter().map(|(child, _)| child));
        next += 1;
    }
    Ok(found)
}
