//! Checks each part that a message needs on its way, and says how to mend a faulty one.
//!
//! No check changes anything, spends model tokens or sends a message.

pub(crate) mod children;
mod data_dir;
mod database;
mod journal;
mod service;
pub(crate) mod telegram;
pub(crate) mod version;

use std::borrow::Cow;

use progress_line::ProgressLine;
use serde::{Deserialize, Serialize};

use supervisor::config::Config;
use supervisor::control::status::Status;
use supervisor::data_dir::DataDir;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Ok,
    /// Works, but needs attention.
    Warn,
    Fail,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub name: Cow<'static, str>,
    pub verdict: Verdict,
    pub what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Runs all checks in the order in which a start needs them. A running service is asked what it sees of
/// itself (`service`: its answer, if one runs); without one, everything is tried here, with the settings of
/// this shell. Invalid settings are a finding; checks that need them are then skipped. `progress` shows which
/// check it is.
pub(crate) async fn check(
    data: &DataDir,
    config: anyhow::Result<Config>,
    service: Option<Result<Status, String>>,
    progress: &ProgressLine,
) -> Vec<Finding> {
    progress.step("Checking the data directory");
    let mut findings = vec![data_dir::data_directory(data), data_dir::running(data), data_dir::disk(data)];
    progress.step("Checking the database");
    findings.push(database::database(data));
    progress.step("Checking the journal");
    findings.push(journal::journal(data));
    progress.step("Checking the programs and their settings");
    match (service, config) {
        (Some(Ok(status)), config) => {
            findings.push(service::settings(&status, &config));
            findings.extend(service::findings(&status));
            if let Ok(config) = config {
                findings.extend(children::programs_and_rules(&config).await);
            }
            findings.push(children::confinement());
        }
        (Some(Err(error)), _) => findings.push(service::unreachable(error)),
        (None, Err(error)) => {
            let remedy = "Correct the variable; docs/reference.md lists them.";
            findings.push(Finding::fail("settings", format!("{error:#}"), remedy));
        }
        (None, Ok(config)) => {
            findings.push(Finding::ok("settings", "all values are valid"));
            findings.extend(children::programs_and_rules(&config).await);
            progress.step("Checking the sandbox");
            findings.push(children::sandbox(&config).await);
            findings.push(children::confinement());
            progress.step("Asking Telegram");
            findings.push(telegram::telegram(config.channels.telegram.as_ref()).await);
            progress.step("Asking the model's server");
            findings.push(children::model(&config.children).await);
        }
    }
    findings
}

impl Finding {
    fn ok(name: impl Into<Cow<'static, str>>, what: impl Into<String>) -> Self {
        Self { name: name.into(), verdict: Verdict::Ok, what: what.into(), remedy: None }
    }

    fn warn(name: impl Into<Cow<'static, str>>, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name: name.into(), verdict: Verdict::Warn, what: what.into(), remedy: Some(remedy.into()) }
    }

    fn fail(name: impl Into<Cow<'static, str>>, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name: name.into(), verdict: Verdict::Fail, what: what.into(), remedy: Some(remedy.into()) }
    }
}
