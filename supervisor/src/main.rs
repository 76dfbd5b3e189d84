//! The supervisor's program.

use std::process::ExitCode;

fn main() -> ExitCode {
    supervisor::main()
}
