//! `bash` with `true` over HTTP: beside the bare command, beside bubblewrap, and eight at once.
//!
//! Bubblewrap gets the same namespaces and mounts, but has neither a system call filter nor Landlock inside,
//! nor HTTP, journal and redaction around it.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use protocol::Envelope;

use crate::http::{Connection, rates_in_turns};
use crate::measure::Durations;
use crate::program::{ServedRoot, children_of, installed, resident_mib};
use crate::table::Table;

const BODY: &str = r#"{"cmd":"true"}"#;
const CALLS: usize = 300;
const AT_ONCE: usize = 8;

/// How much faster eight at once should be than one after the other. While one command runs, the sandbox of a
/// later one is prepared, so even a lone caller keeps two cores busy; only more cores can reach this.
const LEAST_GAIN: f64 = 3.0;

/// The most that the sandbox and the server may add to a bare command, in milliseconds: at p50 and at p99.
const MOST_ADDED_MS: [f64; 2] = [1.5, 3.0];

pub(crate) fn bench(table: &mut Table) -> anyhow::Result<()> {
    let served = ServedRoot::start(|_| Ok(()))?;
    let mut call = served.post("bash", BODY)?;
    let envelope: Envelope = serde_json::from_slice(call.exchange()?)?;
    anyhow::ensure!(envelope.ok, "bash does not run: {}", envelope.stderr);
    table.note(
        "sandbox tier",
        envelope.meta.data["sandbox_tier"].as_str().context("the answer names no tier")?,
    );

    let mut bare = bare(&served.root);
    let [bare_time, call_time] =
        Durations::in_turns(CALLS, [&mut || succeed(&mut bare), &mut || call.call()])?;
    table.note("bash -c true from this program, p50", format!("{:.2} ms", bare_time.p50_ms()));
    table.note("POST /tools/bash, p50", format!("{:.2} ms", call_time.p50_ms()));
    for (percent, most) in [50, 99].into_iter().zip(MOST_ADDED_MS) {
        let added = call_time.percentile_us(percent) - bare_time.percentile_us(percent);
        table.bound(&format!("added, p{percent}"), added / 1e3, most, "ms");
    }
    against_bubblewrap(table, &served.root, &mut call)?;

    let connect = || served.post("bash", BODY);
    let [one, eight] = rates_in_turns([(1, &connect), (AT_ONCE, &connect)])?;
    table.note("one after the other", format!("{one:.0}/s"));
    table.note("8 at once", format!("{eight:.0}/s"));
    table.reach("8 at once against one after the other", eight / one, LEAST_GAIN, "times");
    let spawner = children_of(served.server.pid())?.into_iter().find(|(_, name)| name == "spawner");
    let (spawner, _) = spawner.context("the server has no spawner")?;
    table.bound("resident memory of the spawner", resident_mib(spawner)?, 5.0, "MiB");
    Ok(())
}

fn against_bubblewrap(table: &mut Table, root: &Path, call: &mut Connection) -> anyhow::Result<()> {
    let Some(program) = installed(&["bwrap"]) else {
        table.note("bubblewrap", "not installed");
        return Ok(());
    };
    let mut bubblewrap = bubblewrap(&program, root);
    let [bubblewrap_time, call_time] =
        Durations::in_turns(CALLS, [&mut || succeed(&mut bubblewrap), &mut || call.call()])?;
    table.note("bash -c true in bubblewrap, p50", format!("{:.2} ms", bubblewrap_time.p50_ms()));
    let ratio = call_time.p50_us() / bubblewrap_time.p50_us();
    table.bound("POST /tools/bash against bubblewrap", ratio, 1.0, "times");
    Ok(())
}

fn bare(root: &Path) -> Command {
    let mut command = Command::new("/bin/bash");
    command.args(["-c", "true"]);
    quietly(command, root)
}

fn bubblewrap(program: &Path, root: &Path) -> Command {
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
    command.args(mounts.split(' '));
    command.arg("--bind").arg(root).arg(root).arg("--chdir").arg(root);
    command.args(["--remount-ro", "/", "--", "/bin/bash", "-c", "true"]);
    quietly(command, root)
}

fn quietly(mut command: Command, root: &Path) -> Command {
    command.current_dir(root).env_clear().env("PATH", "/usr/bin:/bin");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status()?;
    anyhow::ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}
