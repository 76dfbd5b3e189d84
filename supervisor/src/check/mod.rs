//! The doctor: is everything there that a message needs on its way, and what to do where it is not.
//!
//! Each check looks at one thing, changes nothing and costs nothing: no token of a model, no message.

mod children;
mod data_dir;
mod database;
mod telegram;

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::data_dir::DataDir;

/// How a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// It works, and somebody should look.
    Warn,
    /// It does not work.
    Fail,
}

/// What was found about one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The thing.
    pub name: &'static str,
    /// How it is.
    pub verdict: Verdict,
    /// What was found.
    pub what: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Looks at everything, in the order in which a start needs it. Settings that do not fit are a finding,
/// and what depends on them is left out.
pub async fn check(data: &DataDir, config: anyhow::Result<Config>) -> Vec<Finding> {
    let mut findings = vec![
        data_dir::data_directory(data),
        data_dir::running(data),
        data_dir::disk(data),
        database::database(&data.database()),
    ];
    match config {
        Err(error) => {
            let remedy = "Correct the variable; docs/operations.md lists them.";
            findings.push(Finding::fail("settings", format!("{error:#}"), remedy));
        }
        Ok(config) => {
            findings.push(Finding::ok("settings", "all values are good, tokens have their shape"));
            findings.push(children::programs(&config.children).await);
            findings.push(children::sandbox(&config).await);
            findings.push(telegram::telegram(config.channels.telegram.as_ref()).await);
            findings.push(children::model(&config.children).await);
        }
    }
    findings
}

impl Finding {
    fn ok(name: &'static str, what: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Ok, what: what.into(), remedy: None }
    }

    fn warn(name: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Warn, what: what.into(), remedy: Some(remedy.into()) }
    }

    fn fail(name: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Fail, what: what.into(), remedy: Some(remedy.into()) }
    }
}
