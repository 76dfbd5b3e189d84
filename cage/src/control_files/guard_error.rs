//! Why no command may run, as far as control files are the reason.

use std::io;

/// Why no command may run.
#[derive(Debug, thiserror::Error)]
pub enum GuardError {
    /// The state before the command cannot be read.
    #[error("what was there before the command cannot be noted")]
    Note(#[source] io::Error),
    /// What an earlier command left is still there.
    #[error("an earlier command left control files that cannot be taken back: {0}")]
    Stuck(String),
    /// The notes of commands that a kill interrupted cannot be read.
    #[error("the server was killed while commands ran, and what was there before them is not known")]
    Unknown(#[source] io::Error),
    /// What the command left cannot be seen.
    #[error(
        "the server's user may enter but not look into {0}, so what a command leaves there cannot be checked"
    )]
    Unseen(String),
    /// A command that must run alone cannot while these run, which may take long.
    #[error("a command that may leave control files runs alone, and background processes run")]
    Processes,
    /// A command that must run alone did not end in time.
    #[error("another command ran for too long that may not run beside it")]
    Busy,
}
