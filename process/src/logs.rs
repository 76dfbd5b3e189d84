//! Logs go to stderr, as lines for people or as JSON (`AUTONOUS_LOG_FORMAT`), filtered by `RUST_LOG`.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::variables::{VariableError, Variables};

/// Starts logging to stderr. Call it once, before the first thread that logs.
pub fn start(variables: &Variables) -> Result<(), VariableError> {
    start_to(variables, std::io::stderr)
}

/// Starts logging to another writer, such as one that redacts.
pub fn start_to<W>(variables: &Variables, writer: W) -> Result<(), VariableError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = variables.text("RUST_LOG").unwrap_or("info");
    let filter: EnvFilter = filter
        .parse()
        .map_err(|_| VariableError::new("RUST_LOG", filter, "a filter such as info or tool_server=debug"))?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    match variables.text("AUTONOUS_LOG_FORMAT").unwrap_or("human") {
        "human" => lines.with_ansi(std::io::stderr().is_terminal()).init(),
        "json" => lines.json().init(),
        other => return Err(VariableError::new("AUTONOUS_LOG_FORMAT", other, "human or json")),
    }
    Ok(())
}
