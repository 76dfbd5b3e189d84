//! Runs a case: directory, server, setup, call, checks.

use std::process::Command;
use std::time::Instant;

use protocol::{Envelope, ErrorCode};
use serde_json::{Value, json};

use super::before::Before;
use super::check::{self, Observed};
use super::evidence::require_failed;
use super::placeholders::{Placeholders, TOKEN};
use super::surroundings::Surroundings;
use super::{Case, Expected, Mode, require, steps};
use crate::{Answer, Request, ToolServer};

/// What `write_text P` means in a setup line.
const PRELUDE: &str = "write_text() { printf '%s' \"$TEXT\" > \"$1\"; }\n";

/// Codes that mean that the tool did not run, so they prove nothing.
const NOT_REACHED: [ErrorCode; 3] = [ErrorCode::UnknownTool, ErrorCode::CircuitOpen, ErrorCode::Internal];

const TIER: &str = "sandbox_tier";

/// The most memory that a server may use for any command.
const MOST_SERVER_MB: u64 = 100;

#[derive(Debug)]
pub struct CaseRun<'a> {
    pub(super) case: &'a Case,
    mode: Mode,
    pub(super) server: ToolServer,
    pub(super) surroundings: Surroundings,
    pub(super) placeholders: Placeholders,
}

impl<'a> CaseRun<'a> {
    pub fn prepare(case: &'a Case, mode: Mode) -> Result<Self, String> {
        let mut server =
            mode.builder().token(TOKEN).allowing_all().variable("AUTONOUS_TOOL_DENY_PATHS", "").start();
        let surroundings = Surroundings::set_up(case, mode, &mut server)?;
        let values = if case.tool == "bash" {
            surroundings.values().map_err(|error| error.to_string())?
        } else {
            Vec::new()
        };
        let placeholders = Placeholders::of(&mut server).with(values);
        let inside = server.root().join("inside.txt");
        std::fs::write(&inside, "inside\n").map_err(|error| format!("{}: {error}", inside.display()))?;
        mode.give(&inside);
        let run = Self { case, mode, server, surroundings, placeholders };
        run.run_setup()?;
        Ok(run)
    }

    /// Runs the case and checks the outcome. With `reads_first`, reads a file before changing it: otherwise
    /// the optimistic lock alone would stop the change, which proves nothing about the path.
    pub fn call_tool(mut self, reads_first: bool) -> Result<(), String> {
        let before = Before::remember(self.case, &self.placeholders)?;
        let start = Instant::now();
        let answers = if self.case.steps.is_empty() {
            self.call_once(reads_first)?
        } else {
            let left_behind = self.surroundings.left_behind();
            let place = steps::Place { placeholders: &self.placeholders, left_behind: &left_behind };
            steps::follow(self.case, &mut self.server, place, reads_first)?
        };
        let took = start.elapsed();
        let records = self.records();
        if self.case.tool == "bash" && self.case.steps.is_empty() {
            let peak = check::peak_memory_mb(self.surroundings.server)?;
            require(peak <= MOST_SERVER_MB, || format!("the server took {peak} MiB"))?;
        }
        for answer in &answers {
            let observed = Observed {
                answer,
                took,
                before: &before,
                records: &records,
                surroundings: &self.surroundings,
            };
            check_envelope(answer, &self.case.right_outcomes())?;
            self.mode.require_tier(&answer.envelope())?;
            check::all(self.case, &self.placeholders, &observed)?;
            require_failed(self.case, &answer.envelope())?;
        }
        self.still_works()
    }

    fn call_once(&self, reads_first: bool) -> Result<Vec<Answer>, String> {
        let arguments = self.placeholders.fill_value(&Value::Object(self.case.args.clone()))?;
        if reads_first {
            self.server.send(Request::call("read", &json!({"path": arguments["path"]})));
        }
        Ok(vec![self.server.send(Request::call(&self.case.tool, &arguments))])
    }

    fn records(&mut self) -> String {
        let journal = self.server.dir().journal();
        let journal = std::fs::read_to_string(journal).unwrap_or_default();
        journal + &self.server.program().log()
    }

    fn run_setup(&self) -> Result<(), String> {
        let text = self.case.text.as_deref().unwrap_or_default().replace("{SECRET}", &self.case.secret());
        for line in &self.case.setup {
            let script = format!("{PRELUDE}{}", self.placeholders.fill(line)?);
            let mut command = Command::new("bash");
            command.args(["-c", &script]).env("TEXT", &text).current_dir(self.server.dir().path());
            self.mode.as_its_user(&mut command, self.server.dir().path());
            let status = command.status().map_err(|error| format!("bash does not start: {error}"))?;
            require(status.success(), || format!("the setup line failed: {line}"))?;
        }
        Ok(())
    }

    /// Checks at the end of every case that it has not broken the server.
    fn still_works(self) -> Result<(), String> {
        self.server.assert_alive(&self.case.id);
        let status = self.server.stop();
        require(status.success(), || format!("the server ended with {status}"))
    }
}

fn check_envelope(answer: &Answer, right: &[Expected]) -> Result<(), String> {
    let envelope: Envelope = serde_json::from_slice(&answer.body).map_err(|error| {
        format!("status {} without an envelope ({error}): {}", answer.status, answer.text())
    })?;
    let code = envelope.error_code();
    let is_reached = code.is_none_or(|code| !NOT_REACHED.contains(&code));
    require(is_reached, || format!("the tool did not run: {}", answer.text()))?;
    let is_held = envelope.meta.data.get(TIER).is_some() || code == Some(ErrorCode::CommandDenied);
    if envelope.meta.tool == "bash" && right.contains(&Expected::Contained) && !is_held {
        return Err(format!("neither run in the sandbox nor refused: {}", answer.text()));
    }
    let holds = right.iter().any(|expected| match expected {
        Expected::Denied => code.is_some(),
        Expected::Ok => envelope.ok,
        Expected::Contained => true,
    });
    require(holds, || format!("expected {right:?}: {}", answer.text()))
}
