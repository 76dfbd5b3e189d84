//! `bash` with `true` over HTTP: beside the bare command, beside bubblewrap, eight at once, and in unchanged
//! roots of many files beside an empty one.
//!
//! Bubblewrap gets the same namespaces and mounts, but has neither a system call filter nor Landlock inside,
//! nor HTTP, journal and redaction around it.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context as _;
use harness::leftovers::processes_named;
use protocol::Envelope;

use crate::http::{Connection, rates_in_turns};
use crate::measure::{Durations, Work};
use crate::program::{call, installed, resident_mib, served};
use crate::table::Table;

const BODY: &str = r#"{"cmd":"true"}"#;
const CALLS: usize = 300;
const AT_ONCE: usize = 8;

/// How much faster eight at once should be than one after the other. While one command runs, the sandbox of a
/// later one is prepared, so even a lone caller keeps two cores busy; only more cores can reach this.
const LEAST_GAIN: f64 = 3.0;

/// The most that the sandbox and the server may add to a bare command, in milliseconds: at p50 and at p99.
const MOST_ADDED_MS: [f64; 2] = [1.5, 3.0];

const FILES_PER_DIRECTORY: usize = 20;

/// Directories, and how much longer than in the empty root a command may take.
const TREES: [(usize, f64); 2] = [(5000, 1.3), (50_000, 3.0)];

/// The most memory that the index of the larger root may take, in MiB.
const MOST_MIB: f64 = 40.0;

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let mut server = served(|_| Ok(()))?;
    let mut bash = call(&server, "bash", BODY)?;
    let tier = first(&mut bash)?.meta.data["sandbox_tier"].as_str().map(str::to_owned);
    table.note("sandbox tier", tier.context("the answer names no tier")?);

    let mut command = Command::new("/bin/bash");
    let mut bare = quietly(command.args(["-c", "true"]), &server.root());
    let [bare_time, call_time] = Durations::in_turns(CALLS, 1, [&mut bare, &mut || bash.call()])?;
    table.time("bash -c true from this program, p50", bare_time.p50());
    table.time("POST /tools/bash, p50", call_time.p50());
    for (percent, most) in [50, 99].into_iter().zip(MOST_ADDED_MS) {
        let added = call_time.percentile(percent).saturating_sub(bare_time.percentile(percent));
        table.within(&format!("added, p{percent}"), added, most);
    }
    against_bubblewrap(table, &server.root(), &mut bash)?;

    let connect = || call(&server, "bash", BODY);
    let [one, eight] = rates_in_turns([(1, &connect), (AT_ONCE, &connect)])?;
    table.note("one after the other", format!("{one:.0}/s"));
    table.note("8 at once", format!("{eight:.0}/s"));
    table.reach("8 at once against one after the other", eight / one, LEAST_GAIN, "times");
    let pid = server.program().pid();
    let spawner = processes_named("spawner").into_iter().find(|process| process.parent == pid);
    let spawner = spawner.context("the server has no spawner")?;
    table.bound("resident memory of the spawner", resident_mib(spawner.pid)?, 5.0, "MiB");
    Ok(())
}

/// Unchanged roots of many files, beside an empty root.
pub(crate) fn many_files(table: &mut Table) -> anyhow::Result<()> {
    let mut empty = served(|_| Ok(()))?;
    let mut in_empty = call(&empty, "bash", BODY)?;
    for (directories, most) in TREES {
        let mut server = served(|root| grow(root, directories))?;
        let mut bash = call(&server, "bash", BODY)?;
        let files = directories * FILES_PER_DIRECTORY;
        // It waits until the root is read.
        let began = Instant::now();
        first(&mut bash)?;
        table.time(&format!("the first command, {files} files"), began.elapsed());
        let works: [Work<'_>; 2] = [&mut || in_empty.call(), &mut || bash.call()];
        let [empty_time, time] = Durations::in_turns(200, 1, works)?;
        let what = format!("{files} files in {directories} directories, p50");
        table.bound(&what, time.against(&empty_time), most, "times");
        let more = resident_mib(server.program().pid())? - resident_mib(empty.program().pid())?;
        table.bound(&format!("memory for {files} files"), more, MOST_MIB, "MiB");
    }
    Ok(())
}

fn first(call: &mut Connection) -> anyhow::Result<Envelope> {
    let envelope: Envelope = call.json()?;
    anyhow::ensure!(envelope.ok, "bash does not run: {}", envelope.stderr);
    Ok(envelope)
}

fn against_bubblewrap(table: &mut Table, root: &Path, call: &mut Connection) -> anyhow::Result<()> {
    let Some(program) = installed(&["bwrap"]) else {
        table.note("bubblewrap", "not installed");
        return Ok(());
    };
    let mut command = Command::new(program);
    let namespaces = "--unshare-all --unshare-user --die-with-parent --new-session --cap-drop ALL";
    command.args(namespaces.split(' ')).args(["--ro-bind", "/usr", "/usr"]);
    for link in ["bin", "sbin", "lib", "lib64"] {
        command.args(["--symlink", &format!("usr/{link}"), &format!("/{link}")]);
    }
    for file in ["passwd", "group", "hosts", "nsswitch.conf", "ld.so.cache"] {
        let path = format!("/etc/{file}");
        command.args(["--ro-bind-try", &path, &path]);
    }
    let mounts = "--proc /proc --dev /dev --tmpfs /tmp --tmpfs /var/home --tmpfs /dev/shm";
    command.args(mounts.split(' ')).arg("--bind").arg(root).arg(root).arg("--chdir").arg(root);
    command.args(["--remount-ro", "/", "--", "/bin/bash", "-c", "true"]);
    table.compare(
        (CALLS, 1),
        [
            ("bash -c true in bubblewrap", &mut quietly(&mut command, root)),
            ("POST /tools/bash", &mut || call.call()),
        ],
        ("POST /tools/bash against bubblewrap", 1.0),
    )?;
    Ok(())
}

/// Runs a command in this directory, which must succeed.
fn quietly<'a>(command: &'a mut Command, root: &Path) -> impl FnMut() -> anyhow::Result<()> + use<'a> {
    command.current_dir(root).env_clear().env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    move || {
        let status = command.status()?;
        anyhow::ensure!(status.success(), "{command:?} ended with {status}");
        Ok(())
    }
}

/// Directories of 20 files each, a hundred in each directory above.
fn grow(root: &Path, directories: usize) -> io::Result<()> {
    for number in 0..directories {
        let directory = root.join(format!("d{:03}/s{:02}", number / 100, number % 100));
        fs::create_dir_all(&directory)?;
        // Names of one file: a million files of their own would take long to make.
        let first = directory.join("file-00.txt");
        fs::write(&first, "x")?;
        (1..FILES_PER_DIRECTORY)
            .try_for_each(|file| fs::hard_link(&first, directory.join(format!("file-{file:02}.txt"))))?;
    }
    Ok(())
}
