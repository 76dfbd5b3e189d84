//! What a held command costs: `/bin/true` 200 times, plain and held, in turns so that both meet the same
//! noise. Run it with `--landlock` (and not as root) for tier B.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use sandbox::{CommandSpec, ControlFiles, Limits, Mode, Root, SandboxError, Spawner, SpawnerSettings};

const ROUNDS: usize = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    let (root, scratch) = (directory.path().join("root"), directory.path().join("scratch"));
    std::fs::create_dir(&root)?;
    std::fs::create_dir(&scratch)?;
    let landlock = std::env::args().any(|word| word == "--landlock");
    let spawner = Spawner::start(&SpawnerSettings {
        roots: vec![Root { path: root.clone(), handle: OwnedFd::from(File::open(&root)?) }],
        readonly_roots: Vec::new(),
        is_denied: Box::new(|_| false),
        control_files: ControlFiles::default(),
        mode: if landlock { Mode::Landlock } else { Mode::Full },
        network: false,
        scratch,
    })?;
    let (mut plain, mut held) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let began = Instant::now();
        Command::new("/bin/true").env_clear().status()?;
        plain.push(began.elapsed());
        let began = Instant::now();
        run_held(&spawner, &root)?;
        held.push(began.elapsed());
    }
    println!("tier {}", spawner.tier());
    println!("{}", line("plain", &mut plain));
    println!("{}", line("held", &mut held));
    println!("{}", memory_of(spawner.process_id())?);
    Ok(())
}

fn run_held(spawner: &Spawner, root: &std::path::Path) -> Result<(), SandboxError> {
    let running = spawner.run(&CommandSpec {
        program: PathBuf::from("/bin/true"),
        arguments: Vec::new(),
        environment: Vec::new(),
        workdir: root.to_owned(),
        limits: Limits::for_timeout(Duration::from_secs(5)),
    })?;
    running.exit.wait().map(drop)
}

fn line(name: &str, times: &mut [Duration]) -> String {
    times.sort_unstable();
    let milliseconds = |index: usize| times[index].as_secs_f64() * 1000.0;
    format!(
        "{name}: min {:.2} ms, p50 {:.2} ms, p90 {:.2} ms",
        milliseconds(0),
        milliseconds(ROUNDS / 2),
        milliseconds(ROUNDS * 9 / 10)
    )
}

fn memory_of(process: i32) -> std::io::Result<String> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line =
        |name| status.lines().find(|line: &&str| line.starts_with(name)).unwrap_or_default().to_owned();
    Ok(format!("spawner: {} {}", line("VmRSS"), line("RssAnon")))
}
