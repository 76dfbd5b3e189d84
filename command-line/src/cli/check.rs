//! `supervisor check`: each finding, and below it how to fix it.

use std::time::Duration;

use clap::Args;
use progress_line::ProgressLine;
use serde_json::json;

use super::control_client::ControlClient;
use super::error::CommandError;
use super::queue::CommandOutput;
use crate::check::{Finding, Verdict, check};
use crate::terminal::width::wrapped;
use crate::terminal::{Colour, Screen};
use process::error_chain;
use supervisor::config::Config;
use supervisor::control::status::Status;
use supervisor::data_dir::DataDir;

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Print JSON: an array of {"name": …, "verdict": "ok|warn|fail", "what": …, "remedy": …}.
    #[arg(long)]
    pub json: bool,
}

/// How long the service may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// The column of the details.
const INDENT: usize = 22;

/// Runs all checks; succeeds if none fails.
pub(super) async fn run(
    data: &DataDir,
    config: anyhow::Result<Config>,
    arguments: &CheckArguments,
    screen: Screen,
) -> CommandOutput {
    let progress = ProgressLine::new();
    progress.step("Asking the service");
    let findings = check(data, config, service(data).await, &progress).await;
    drop(progress);
    let succeeded = findings.iter().all(|finding| finding.verdict != Verdict::Fail);
    let text = if arguments.json { super::pretty(&json!(findings)) } else { report(&findings, screen) };
    CommandOutput { text, succeeded }
}

/// What the running service answers, if one runs.
pub(super) async fn service(data: &DataDir) -> Option<Result<Status, String>> {
    if !data.is_in_use().unwrap_or(false) {
        return None;
    }
    let asked = async {
        let client = ControlClient::new(data)?;
        client.send(client.get("/status").timeout(PATIENCE)).await
    };
    Some(
        asked
            .await
            .map_err(|error: CommandError| format!("the service gave no status: {}", error_chain(&error))),
    )
}

pub(super) fn report(findings: &[Finding], screen: Screen) -> String {
    let (room, mut lines) = (screen.columns - INDENT, Vec::new());
    for finding in findings {
        let (mark, colour) = match finding.verdict {
            Verdict::Ok => ("ok  ", Colour::Good),
            Verdict::Warn => ("warn", Colour::Doubtful),
            Verdict::Fail => ("FAIL", Colour::Bad),
        };
        let head = format!("{}  {:<16}", screen.paint.paint(colour, mark), finding.name);
        let told = wrapped(&finding.what, room).into_iter();
        let remedy = finding.remedy.iter().flat_map(|remedy| wrapped(&format!("→ {remedy}"), room));
        for (number, line) in told.chain(remedy).enumerate() {
            let before = if number == 0 { head.clone() } else { " ".repeat(INDENT) };
            lines.push(format!("{before}{line}"));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::width;

    #[test]
    fn every_line_fits_and_nothing_is_left_out() {
        let finding = Finding {
            name: "data directory".into(),
            verdict: Verdict::Fail,
            what: format!("/a/very/long/path/{}/of/a/data/directory: permission denied", "x".repeat(120)),
            remedy: Some("Run this as the user who runs the supervisor, or name another one.".to_owned()),
        };
        let text = report(std::slice::from_ref(&finding), Screen::PLAIN);
        assert!(text.lines().all(|line| width::of(line) <= Screen::PLAIN.columns), "{text}");
        assert!(text.starts_with("FAIL  data directory"), "{text}");
        let letters = |text: &str| text.matches('x').count();
        assert_eq!(letters(&text), 120, "{text}");
        let wide = Screen { columns: 200, ..Screen::PLAIN };
        assert_eq!(report(&[finding], wide).lines().count(), 2, "it uses the width that is there");
    }
}
