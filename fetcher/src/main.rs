//! The fetcher's program. The tool server executes it at its start, with a socket as stdin.

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use process::{Variables, hardening};
use rustix::net::sockopt::socket_type;

fn main() -> ExitCode {
    if std::env::args().nth(1).is_some_and(|argument| argument == "--version") {
        let printed = writeln!(std::io::stdout(), "fetcher {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::from(u8::from(printed.is_err()));
    }
    let why = match start() {
        Err(error) => error.to_string(),
        Ok(None) => "tool-server starts this program; it does nothing by itself".to_owned(),
        Ok(Some((socket, current_dir))) => fetcher::serve(Variables::without_secrets(), &current_dir, socket),
    };
    let _ = writeln!(std::io::stderr(), "fetcher: {why}");
    ExitCode::FAILURE
}

/// The socket, unless stdin is none, and the current directory.
fn start() -> Result<Option<(UnixStream, std::path::PathBuf)>, Box<dyn std::error::Error>> {
    hardening::harden()?;
    let stdin = std::io::stdin();
    if socket_type(&stdin).is_err() {
        return Ok(None);
    }
    Ok(Some((stdin.as_fd().try_clone_to_owned()?.into(), std::env::current_dir()?)))
}
