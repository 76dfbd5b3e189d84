//! Why a command that changes something, or asks the running supervisor, failed.

use std::path::PathBuf;

use store::StoreError;
use store::queries::QueryError;

use supervisor::data_dir::DataDirError;
use supervisor::retention::PruneError;
use supervisor::tokens::TokensError;

#[derive(Debug, thiserror::Error)]
pub(super) enum CommandError {
    #[error(transparent)]
    Query(#[from] QueryError),
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Tokens(#[from] TokensError),
    #[error(transparent)]
    Prune(#[from] PruneError),
    #[error("could not create the HTTP client")]
    Client(#[from] reqwest::Error),
    #[error("no supervisor answers at {0} for {1}: start one with `supervisor run`")]
    NotRunning(String, String),
    #[error("the supervisor refused: {0}")]
    Refused(String),
    #[error("could not read the supervisor's response")]
    Response(#[source] reqwest::Error),
    #[error("no reply after {0} s; task {1} continues: see `supervisor tree --task {1}`")]
    TooLate(u64, String),
    #[error("no message: write one after `chat`, pass `-` to read it from stdin, or use a terminal to talk")]
    NoMessage,
    #[error("could not read stdin")]
    Stdin(#[source] std::io::Error),
    #[error("stdin is not UTF-8 text")]
    StdinNotText,
    #[error("could not catch Ctrl-C")]
    Signals(#[source] std::io::Error),
    #[error("could not read from the terminal")]
    Keys(#[source] rustyline::error::ReadlineError),
    #[error("{} exists; delete it first, or name another place", .0.display())]
    SettingsFileExists(PathBuf),
    #[error("could not write {}", .0.display())]
    SettingsFile(PathBuf, #[source] std::io::Error),
    #[error("there is no file {}", .0.display())]
    NoSettingsFile(PathBuf),
    #[error("deleted the old tasks, but could not shrink the database file")]
    Vacuum(#[source] StoreError),
}
