//! `supervisor version`: of this program and of what it works with.

use clap::Args;
use serde_json::json;
use store::open::known_version;

use super::check::{report, service};
use super::queue::CommandOutput;
use crate::check::Verdict;
use crate::check::version::{OWN, versions};
use crate::terminal::Screen;
use supervisor::config::own_directory;
use supervisor::data_dir::DataDir;

#[derive(Debug, Args)]
pub(crate) struct VersionArguments {
    /// Compare with the other programs, the database and the service that runs; exit with 1 if one of them
    /// does not fit.
    #[arg(long)]
    pub check: bool,
    /// Print JSON: {"version": …, "schema": …, "findings": […]}, the findings as those of `check`.
    #[arg(long)]
    pub json: bool,
}

/// Succeeds if everything fits, or if nothing was to be compared.
pub(super) async fn run(
    data: &DataDir,
    arguments: &VersionArguments,
    screen: Screen,
) -> anyhow::Result<CommandOutput> {
    let findings = match arguments.check {
        true => versions(data, &own_directory()?, service(data).await).await,
        false => Vec::new(),
    };
    let succeeded = findings.iter().all(|finding| finding.verdict == Verdict::Ok);
    let schema = known_version();
    let text = if arguments.json {
        super::pretty(&json!({ "version": OWN, "schema": schema, "findings": findings }))
    } else {
        let own = format!("supervisor {OWN}, database schema {schema}");
        [own, report(&findings, screen)].join("\n").trim_end().to_owned()
    };
    Ok(CommandOutput { text, succeeded })
}
