//! Runs one program in the sandbox, by hand and for the tests: `sandboxed --root /work -- /bin/bash -c 'ls'`.
//!
//! It does what the tool server does, in the same order: open the roots, fork the spawner, run the
//! self-check, put Landlock on itself, run the command. `--plain` runs the program without the sandbox, so
//! that a test can show the difference; `--hide`, `--protect` and `--pin` cover a path, and `--replace`
//! replaces a file right before; `--own` divides the roots and names the part of the first that the program
//! sees; `--without` disables a layer by a system call filter around everything;
//! `--each-line` runs the program once for each line of stdin; `--unprepared` prepares no sandbox before.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use process::confinement::{Powers, confine};
use process::seccomp::{Verdict, always, assemble, install};
use sandbox::{
    Capabilities, CommandSpec, Cover, CoverKind, Depth, Limits, Mode, Network, OwnDirectory, Root, Running,
    SandboxError, Spawner, SpawnerSettings,
};

/// How much of the output is shown.
const SHOWN_BYTES: usize = 1 << 20;

const END_OF_RUN: &str = "end of run";

/// The variables that are passed to the program.
const VARIABLES: [&str; 6] = ["PATH", "TERM", "LANG", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];

#[derive(Default)]
struct Options {
    roots: Vec<PathBuf>,
    readonly: Vec<PathBuf>,
    covers: Vec<(CoverKind, PathBuf)>,
    replace: Option<PathBuf>,
    own: Option<PathBuf>,
    scratch: PathBuf,
    mode: Mode,
    network: Network,
    plain: bool,
    each_line: bool,
    unprepared: bool,
    check: Option<Depth>,
    without: Option<String>,
    timeout: Duration,
    memory_bytes: u64,
    program: Vec<String>,
}

fn main() -> ExitCode {
    let options = options();
    if let Some(layer) = &options.without {
        disable(layer);
    }
    if options.plain {
        let mut command = Command::new(&options.program[0]);
        command.args(&options.program[1..]).stdin(Stdio::null()).current_dir(&options.roots[0]);
        return exit_code(command.status().expect("the program exists").code());
    }
    sandboxed(&options).unwrap_or_else(|error| {
        println!("error {}", Capabilities::without_commands(&error).reason.unwrap_or_default());
        ExitCode::from(3)
    })
}

fn options() -> Options {
    let mut options = Options {
        scratch: "/tmp".into(),
        timeout: Duration::from_secs(30),
        memory_bytes: 4 << 30,
        ..Options::default()
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("this option has a value");
        match word.as_str() {
            "--root" => options.roots.push(value().into()),
            "--readonly" => options.readonly.push(value().into()),
            "--hide" => options.covers.push((CoverKind::Hide, value().into())),
            "--protect" => options.covers.push((CoverKind::ReadOnly, value().into())),
            "--pin" => options.covers.push((CoverKind::Pin, value().into())),
            "--replace" => options.replace = Some(value().into()),
            "--own" => options.own = Some(value().into()),
            "--scratch" => options.scratch = value().into(),
            "--full" => options.mode = Mode::Full,
            "--landlock" => options.mode = Mode::Landlock,
            "--network" => options.network = Network::All,
            "--public-network" => options.network = Network::Public,
            "--plain" => options.plain = true,
            "--unprepared" => options.unprepared = true,
            "--each-line" => options.each_line = true,
            "--check" => options.check = Some(Depth::Quick),
            "--check-full" => options.check = Some(Depth::Full),
            "--without" => options.without = Some(value()),
            "--memory-mib" => {
                options.memory_bytes = value().parse::<u64>().expect("a number of mebibytes") << 20;
            }
            "--timeout-ms" => {
                options.timeout = Duration::from_millis(value().parse().expect("a number of milliseconds"));
            }
            "--" => break,
            other => panic!("no such option: {other}"),
        }
    }
    options.program = words.collect();
    options
}

fn sandboxed(options: &Options) -> Result<ExitCode, SandboxError> {
    let spawner = Spawner::start(&settings(options))?;
    println!("tier {}", spawner.tier());
    if let Some(depth) = options.check {
        show(&spawner.self_check(depth)?);
    }
    if options.program.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    if !options.unprepared {
        spawner.prepare();
    }
    let read_write = options.roots.iter().cloned().chain([options.scratch.clone()]).collect();
    confine(&Powers { read_write, ..Powers::default() }).expect("the server can confine itself");
    if options.each_line {
        return run_for_each_line(&spawner, options);
    }
    run(&spawner, options)
}

/// Runs the program once for each line of stdin, so that a test can do something in between.
fn run_for_each_line(spawner: &Spawner, options: &Options) -> Result<ExitCode, SandboxError> {
    println!("{END_OF_RUN}");
    for _ in std::io::stdin().lines() {
        if let Err(error) = run(spawner, options) {
            println!("error {error}");
        }
        println!("\n{END_OF_RUN}");
    }
    Ok(ExitCode::SUCCESS)
}

fn settings(options: &Options) -> SpawnerSettings {
    let open = |path: &PathBuf| Root {
        path: path.clone(),
        handle: OwnedFd::from(File::open(path).expect("the root can be opened")),
    };
    SpawnerSettings {
        roots: options.roots.iter().map(open).collect(),
        divided: options.own.is_some(),
        readonly_roots: options.readonly.iter().map(open).collect(),
        home_files: Vec::new(),
        mode: options.mode,
        network: options.network,
        scratch: options.scratch.clone(),
    }
}

fn show(capabilities: &Capabilities) {
    for layer in &capabilities.layers {
        println!("layer {} {}: {}", layer.name, if layer.in_force { "on" } else { "off" }, layer.meaning);
    }
    for finding in &capabilities.findings {
        println!("finding {:?} {}: {}", finding.verdict, finding.attempt, finding.detail);
    }
    for loss in &capabilities.losses {
        println!("loss {loss}");
    }
    if let Some(reason) = &capabilities.reason {
        println!("reason {reason}");
    }
    println!("escape {}", capabilities.escape().is_some());
}

fn start(spawner: &Spawner, options: &Options) -> Result<Running, SandboxError> {
    let variable = |name: &&str| Some(((*name).into(), std::env::var_os(name)?));
    spawner.run(&CommandSpec {
        program: options.program[0].clone().into(),
        arguments: options.program[1..].iter().map(Into::into).collect(),
        environment: VARIABLES.iter().filter_map(variable).collect(),
        has_input: false,
        has_terminal: false,
        keeps_state: false,
        workdir: options.own.as_ref().unwrap_or(&options.roots[0]).clone(),
        limits: Limits { memory_bytes: options.memory_bytes, ..Limits::for_timeout(options.timeout) },
        covers: covers(options),
        network: None,
        proxy_variables: Vec::new(),
        is_offline: false,
        own_directories: options.own.as_deref().map(|own| vec![own_directory(own)]),
    })
}

fn own_directory(path: &Path) -> OwnDirectory {
    let found = path.symlink_metadata().expect("the own directory exists");
    OwnDirectory { path: path.to_owned(), device: found.dev(), inode: found.ino(), read_only: false }
}

/// The covers as they are now, after which another file takes the place of the one in `--replace`.
fn covers(options: &Options) -> Vec<Cover> {
    let cover = |(kind, path): &(CoverKind, PathBuf)| {
        let found = path.symlink_metadata().expect("what is covered exists");
        Cover { path: path.clone(), device: found.dev(), inode: found.ino(), kind: *kind }
    };
    let covers = options.covers.iter().map(cover).collect();
    if let Some(path) = &options.replace {
        std::fs::rename(path, path.with_extension("old")).expect("it can be renamed");
        std::fs::write(path, "replaced\n").expect("another can be written");
    }
    covers
}

fn run(spawner: &Spawner, options: &Options) -> Result<ExitCode, SandboxError> {
    let started = Instant::now();
    let Running { stdout, stderr, lifeline, exit, .. } = start(spawner, options)?;
    let readers = [stdout, stderr].map(|pipe| thread::spawn(move || read_all(pipe)));
    let (sender, ended) = std::sync::mpsc::channel();
    thread::spawn(move || sender.send((exit.wait(), Instant::now())));
    let (exit, ended) = match ended.recv_timeout(options.timeout) {
        Ok(exit) => {
            drop(lifeline);
            exit
        }
        Err(_) => {
            let killed = Instant::now();
            lifeline.kill();
            let exit = ended.recv().expect("the thread sends once");
            println!("kill_us {}", killed.elapsed().as_micros());
            exit
        }
    };
    let [stdout, stderr] = readers.map(|reader| reader.join().expect("a reader ends"));
    let (exit, closed) = (exit?, Instant::now());
    println!("closed_after_us {}", closed.saturating_duration_since(ended).as_micros());
    println!("run_us {}", started.elapsed().as_micros());
    println!("exit {:?} signal {:?} killed {}", exit.code, exit.signal, exit.killed);
    println!("memory exceeded {}", exit.memory_exceeded);
    println!("cpu_us {} peak_kib {}", exit.cpu_time.as_micros(), exit.peak_memory_bytes / 1024);
    println!("bytes {}", stdout.1);
    println!("output");
    let _ = std::io::stdout().write_all(&stdout.0);
    let _ = std::io::stderr().write_all(&stderr.0);
    Ok(exit_code(exit.code))
}

fn exit_code(code: Option<i32>) -> ExitCode {
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(124))
}

/// Reads to the end; returns the first [`SHOWN_BYTES`] and the number of all bytes.
fn read_all(pipe: OwnedFd) -> (Vec<u8>, usize) {
    let (mut kept, mut total) = (Vec::new(), 0);
    let mut chunk = vec![0; 64 * 1024];
    let mut file = File::from(pipe);
    while let Ok(length @ 1..) = file.read(&mut chunk) {
        total += length;
        let room = SHOWN_BYTES - kept.len();
        kept.extend_from_slice(&chunk[..length.min(room)]);
    }
    (kept, total)
}

/// Denies what a container engine or an old kernel denies, for this process and its descendants.
fn disable(layer: &str) {
    let (calls, errno): (&[i64], i32) = match layer {
        "namespaces" => (
            &[libc::SYS_unshare, libc::SYS_setns, libc::SYS_mount, libc::SYS_move_mount, libc::SYS_open_tree],
            libc::EPERM,
        ),
        "mounts" => {
            (&[libc::SYS_mount, libc::SYS_move_mount, libc::SYS_open_tree, libc::SYS_fsopen], libc::EPERM)
        }
        "landlock" => (
            &[
                libc::SYS_landlock_create_ruleset,
                libc::SYS_landlock_add_rule,
                libc::SYS_landlock_restrict_self,
            ],
            libc::ENOSYS,
        ),
        "seccomp" => (&[libc::SYS_seccomp], libc::EPERM),
        other => panic!("no such layer: {other}"),
    };
    let filter = assemble(&always(calls, Verdict::Errno(errno))).expect("a filter of few calls");
    rustix::thread::set_no_new_privs(true).expect("privileges can be given up");
    install(&filter).expect("the filter can be installed");
}
