//! How it is started: as a service of systemd where one is installed, else by a command.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::Parts;

/// The unit, and where packages put it.
const UNIT: &str = "autonous.service";
const UNIT_DIRECTORIES: [&str; 3] = ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];

/// Where systemd runs, by sd_booted(3).
const RUNS: &str = "/run/systemd/system";

pub(super) fn offer(parts: &Parts<'_>) -> anyhow::Result<()> {
    if parts.answers.service_follows {
        return Ok(());
    }
    let is_installed = UNIT_DIRECTORIES.iter().any(|directory| Path::new(directory).join(UNIT).is_file());
    let can_start = is_installed && Path::new(RUNS).is_dir() && rustix::process::geteuid().is_root();
    if parts.answers.service && !can_start {
        anyhow::bail!(
            "--service needs the unit {UNIT}, a running systemd, and root; the settings were written"
        );
    }
    let runs = parts.data.is_in_use().unwrap_or(false);
    let question = if runs { "Start it again now?" } else { "Start it now, and at each boot?" };
    let wanted = can_start
        && (parts.answers.service || parts.dialogue.asks() && parts.dialogue.confirm(question, true)?);
    if wanted {
        systemctl(&["enable", UNIT])?;
        systemctl(&["restart", UNIT])?;
        parts.say("The service runs.");
    } else if is_installed {
        parts.say("Start it, now and at each boot:\n  systemctl enable --now autonous");
    } else if runs {
        parts.say("The supervisor runs: stop it and start it again, so that these settings hold.");
    } else {
        parts.say("Start it:\n  supervisor run");
    }
    Ok(())
}

fn systemctl(arguments: &[&str]) -> anyhow::Result<()> {
    let status = Command::new("systemctl").args(arguments).status().context("could not start systemctl")?;
    anyhow::ensure!(status.success(), "systemctl {} failed ({status})", arguments.join(" "));
    Ok(())
}
