//! From the start of a program until it is ready, and its resident memory when it is idle.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use anyhow::Context as _;
use harness::leftovers::{Process, processes_of};
use harness::{System, binaries, free_address};

use crate::http::Connection;
use crate::measure::Durations;
use crate::program::{Program, proportional_mib, resident_mib};
use crate::table::Table;

const STARTS: usize = 15;

/// How long a program may take to be ready, and how long to wait between two tries.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_micros(200);

/// The most that each program may have, in MiB.
const TARGETS: [(&str, f64); 5] = [
    ("tool-server", 20.0),
    ("fetcher", 5.0),
    ("agent-worker", 20.0),
    ("launcher", 20.0),
    ("supervisor", 40.0),
];

/// The most that the whole system may have, with four workers, the spawner and the sandboxes that wait. Pages
/// that several share count once.
const ALL: f64 = 80.0;

/// Each time in a fresh directory.
pub(crate) fn starts(table: &mut Table) -> anyhow::Result<()> {
    let programs = [
        ("tool server", ["tool-server", "serve"], "AUTONOUS_TOOL_LISTEN", 100.0),
        ("whole system", ["supervisor", "run"], "AUTONOUS_CONTROL_LISTEN", 500.0),
    ];
    for (name, program, listen, most) in programs {
        let starts = (0..STARTS).map(|_| start(program, listen)).collect::<Result<Vec<_>, _>>()?;
        let durations = Durations::new(starts);
        table.within(&format!("{name}, p50 of {STARTS} starts"), durations.p50(), most);
        table.within(&format!("{name}, slowest of {STARTS} starts"), durations.percentile(100), most);
    }
    Ok(())
}

/// Until `GET /readyz` answers 200.
fn start([name, argument]: [&str; 2], listen: &str) -> anyhow::Result<Duration> {
    let place = tempfile::tempdir()?;
    let [root, data] = ["root", "data"].map(|name| place.path().join(name));
    fs::create_dir(&root)?;
    let (address, other) = (free_address(), free_address());
    let mut command = Command::new(binaries::path_of(name));
    command.arg(argument).env_clear().env("PATH", "/usr/bin:/bin").env("AUTONOUS_DATA_DIR", data);
    command.env("AUTONOUS_TOOL_ALLOWED_ROOTS", root).env("AUTONOUS_TOOL_LISTEN", other.to_string());
    command.env(listen, address.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let began = Instant::now();
    let _program = Program::spawn(&mut command)?;
    while !Connection::open(address, ("GET", "/readyz"), &[], "").is_ok_and(|mut ask| ask.call().is_ok()) {
        anyhow::ensure!(began.elapsed() < PATIENCE, "{name} is not ready after {PATIENCE:?}");
        thread::sleep(PAUSE);
    }
    Ok(began.elapsed())
}

/// The whole system, idle after its first message.
pub(crate) fn memory(table: &mut Table) -> anyhow::Result<()> {
    let system = System::start();
    system.run_task("ls path=.");
    let family = processes_of(system.dir());
    for (name, most) in TARGETS {
        let is_it = |process: &&Process| {
            fs::read_to_string(format!("/proc/{}/comm", process.pid))
                .is_ok_and(|comm| comm.trim_end() == name)
        };
        let found = family.iter().find(is_it).with_context(|| format!("there is no {name}"))?;
        table.bound(name, resident_mib(found.pid)?, most, "MiB");
    }
    let what = "all processes together, with 4 workers";
    match family.iter().map(|process| proportional_mib(process.pid)).sum::<io::Result<f64>>() {
        Ok(all) => table.bound(what, all, ALL, "MiB"),
        Err(_) => table.note(what, "only root can read it"),
    }
    Ok(())
}
