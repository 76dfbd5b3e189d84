//! The program `supervisor`: its command line, and what it shows on a terminal.
//!
//! `cli` has a file for each command; `setup` and `check` are the two that are more than a question to the
//! database or to the control port. All that runs for longer is in the library `supervisor`.

mod check;
mod cli;
mod setup;
mod terminal;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::program::main()
}
