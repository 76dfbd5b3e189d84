//! Runs one program held, by hand and for the tests: `held --root /work -- /bin/bash -c 'ls -la'`.
//!
//! It plays the tool server's part in the same order: roots opened, spawner forked, self-check, Landlock on
//! itself, command. `--plain` runs the program as it is, so that a test can show what the sandbox changes;
//! `--without` takes a layer away by a system call filter around everything.
#![expect(unsafe_code, reason = "a layer can be taken away only by a filter, which has no safe form")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sandbox::{
    Capabilities, CommandSpec, ControlFiles, Depth, Limits, Mode, Reach, Root, Running, SandboxError,
    Spawner, SpawnerSettings,
};

/// How much of the output is shown.
const SHOWN_BYTES: usize = 1 << 20;

#[derive(Default)]
struct Options {
    roots: Vec<PathBuf>,
    readonly: Vec<PathBuf>,
    denied: Vec<String>,
    scratch: PathBuf,
    mode: Mode,
    network: bool,
    plain: bool,
    check: Option<Depth>,
    without: Option<String>,
    timeout: Duration,
    program: Vec<String>,
}

fn main() -> ExitCode {
    let options = options();
    if let Some(layer) = &options.without {
        take_away(layer);
    }
    if options.plain {
        return plain(&options);
    }
    match held(&options) {
        Ok(code) => code,
        Err(error) => {
            let capabilities = Capabilities::without_commands(&error);
            println!("error {}", capabilities.reason.unwrap_or_default());
            ExitCode::from(3)
        }
    }
}

fn options() -> Options {
    let mut options =
        Options { scratch: "/tmp".into(), timeout: Duration::from_secs(30), ..Options::default() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("this option has a value");
        match word.as_str() {
            "--root" => options.roots.push(value().into()),
            "--readonly" => options.readonly.push(value().into()),
            "--deny" => options.denied.push(value()),
            "--scratch" => options.scratch = value().into(),
            "--full" => options.mode = Mode::Full,
            "--landlock" => options.mode = Mode::Landlock,
            "--network" => options.network = true,
            "--plain" => options.plain = true,
            "--check" => options.check = Some(Depth::Quick),
            "--check-full" => options.check = Some(Depth::Full),
            "--without" => options.without = Some(value()),
            "--timeout-ms" => {
                options.timeout = Duration::from_millis(value().parse().expect("a number of milliseconds"));
            }
            "--" => break,
            other => panic!("{other} is no option"),
        }
    }
    options.program = words.collect();
    options
}

fn plain(options: &Options) -> ExitCode {
    let mut command = Command::new(&options.program[0]);
    command.args(&options.program[1..]).stdin(Stdio::null()).current_dir(&options.roots[0]);
    let status = command.status().expect("the program is there");
    ExitCode::from(u8::try_from(status.code().unwrap_or(255)).unwrap_or(255))
}

fn held(options: &Options) -> Result<ExitCode, SandboxError> {
    let open = |path: &PathBuf| Root {
        path: path.clone(),
        handle: OwnedFd::from(File::open(path).expect("the root can be opened")),
    };
    let denied = options.denied.clone();
    let settings = SpawnerSettings {
        roots: options.roots.iter().map(open).collect(),
        readonly_roots: options.readonly.iter().map(open).collect(),
        is_denied: Box::new(move |path| denied.iter().any(|name| path.ends_with(name))),
        control_files: ControlFiles::new(CONTROL_FILES),
        mode: options.mode,
        network: options.network,
        scratch: options.scratch.clone(),
    };
    let began = Instant::now();
    let spawner = Spawner::start(&settings)?;
    println!("start_us {}", began.elapsed().as_micros());
    println!("tier {}", spawner.tier());
    if let Some(depth) = options.check {
        let began = Instant::now();
        let capabilities = spawner.self_check(depth)?;
        println!("check_us {}", began.elapsed().as_micros());
        show(&capabilities);
    }
    if options.program.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let read_write = options.roots.iter().cloned().chain([options.scratch.clone()]).collect();
    let reach = Reach { read_write, read_only: Vec::new() };
    sandbox::confine_this_thread(&reach).expect("the server can confine itself");
    println!("spawner {}", spawner.process_id());
    run(&spawner, options)
}

const CONTROL_FILES: [&str; 9] =
    [".git/hooks", ".git/config", ".envrc", ".vscode", ".idea", ".mcp.json", ".claude", ".codex", ".cursor"];

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

fn run(spawner: &Spawner, options: &Options) -> Result<ExitCode, SandboxError> {
    let variables = ["PATH", "TERM", "LANG", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];
    let began = Instant::now();
    let running = spawner.run(&CommandSpec {
        program: options.program[0].clone().into(),
        arguments: options.program[1..].iter().map(Into::into).collect(),
        environment: variables
            .iter()
            .filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)))
            .collect(),
        workdir: options.roots[0].clone(),
        limits: Limits::for_timeout(options.timeout),
    })?;
    let Running { stdout, stderr, lifeline, exit } = running;
    let readers = [stdout, stderr].map(|pipe| thread::spawn(move || drain(pipe)));
    let (told, ended) = std::sync::mpsc::channel();
    thread::spawn(move || told.send((exit.wait(), Instant::now())));
    let exit = match ended.recv_timeout(options.timeout) {
        Ok(exit) => {
            drop(lifeline);
            exit
        }
        Err(_) => {
            let let_go = Instant::now();
            lifeline.kill();
            let exit = ended.recv().expect("the thread sends once");
            println!("kill_us {}", let_go.elapsed().as_micros());
            exit
        }
    };
    let ([stdout, stderr], closed) =
        (readers.map(|reader| reader.join().expect("a reader ends")), Instant::now());
    let (exit, ended) = (exit.0?, exit.1);
    println!("closed_after_us {}", closed.saturating_duration_since(ended).as_micros());
    println!("run_us {}", began.elapsed().as_micros());
    println!("exit {:?} signal {:?} killed {}", exit.code, exit.signal, exit.killed);
    println!("cpu_us {} peak_kib {}", exit.cpu_time.as_micros(), exit.peak_memory_bytes / 1024);
    for path in &exit.created_control_files {
        println!("control {}", path.display());
    }
    println!("bytes {}", stdout.1);
    println!("output");
    let _ = std::io::stdout().write_all(&stdout.0);
    let _ = std::io::stderr().write_all(&stderr.0);
    Ok(ExitCode::from(u8::try_from(exit.code.unwrap_or(124)).unwrap_or(124)))
}

/// Reads to the end and keeps the beginning; also says how much there was.
fn drain(pipe: OwnedFd) -> (Vec<u8>, usize) {
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

/// Denies what a container engine or an old kernel denies, for this process and all that come from it.
fn take_away(layer: &str) {
    let (calls, errno): (&[libc::c_long], i32) = match layer {
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
        other => panic!("{other} is no layer"),
    };
    let instruction = |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter {
        code: u16::try_from(code).expect("codes have 16 bits"),
        jt,
        jf,
        k,
    };
    let mut filter = vec![instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0)];
    for call in calls {
        let number = u32::try_from(*call).expect("numbers of calls are positive");
        filter.push(instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, number, 0, 1));
        filter.push(instruction(libc::BPF_RET, libc::SECCOMP_RET_ERRNO | errno.cast_unsigned(), 0, 0));
    }
    filter.push(instruction(libc::BPF_RET, libc::SECCOMP_RET_ALLOW, 0, 0));
    let length = u16::try_from(filter.len()).expect("the filter is short");
    let program = libc::sock_fprog { len: length, filter: filter.as_mut_ptr() };
    // SAFETY: no memory is involved in the first call; `program` describes `filter` in the second.
    let installed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program)
    };
    assert_eq!(installed, 0, "the layer is taken away");
}
