//! The terminal of a command that asks for one.
//!
//! The command's own process opens both ends. It keeps one as its stdin, stdout and stderr, and the server
//! gets the other. In tier A the terminals of a sandbox are in no other one, and no terminal of the machine
//! is in there; in tier B the command cannot open one of another process, because no Landlock rule lets it.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use rustix::process::ioctl_tiocsctty;
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, unlockpt};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::termios::{OptionalActions, OutputModes, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use super::{fd_passing, mounts};
use crate::step::{During as _, Step, StepError};

/// The most terminals of a sandbox: programs in it may open some, too.
const MOST: u32 = 16;

/// Wide enough for most tables.
const SIZE: Winsize = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };

/// Mounts terminals of its own for a sandbox of tier A.
pub(super) fn mount() -> Result<(), StepError> {
    let attach = || mounts::attach(mounts::terminals(MOST)?, mounts::open(Path::new("/dev/pts"))?);
    attach().during(Step::Terminal)
}

/// Makes a new terminal this process's own, and gives the server its other end.
pub(super) fn enter(link: &OwnedFd) -> Result<(), StepError> {
    let (ours, theirs) = pair().during(Step::Terminal)?;
    dup2_stdin(&theirs)
        .and_then(|()| dup2_stdout(&theirs))
        .and_then(|()| dup2_stderr(&theirs))
        .during(Step::Stdio)?;
    // The session began with this process, which has none yet.
    ioctl_tiocsctty(&theirs).during(Step::Terminal)?;
    fd_passing::send(link, [ours.as_fd()]).during(Step::Terminal)
}

fn pair() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let ours = open("/dev/ptmx", OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    unlockpt(&ours)?;
    let theirs = ioctl_tiocgptpeer(&ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    tcsetwinsize(&theirs, SIZE)?;
    let mut modes = tcgetattr(&theirs)?;
    // No screen draws the output, so a line ends as it does in a file.
    modes.output_modes.remove(OutputModes::ONLCR);
    tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    Ok((ours, theirs))
}
