//! `grep` and `find` over the sources of every crate that cargo has unpacked, beside `rg` and `fd`.
//!
//! The programs get the options that match the tools' defaults, and both sides must find the same number.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use protocol::Envelope;

use crate::http::Connection;
use crate::measure::Durations;
use crate::program::{Program, installed, until_ready};
use crate::table::Table;

/// A text that few files contain.
const LITERAL: &str = "RESOLVE_NO_XDEV";

/// A name that many directories contain, few enough for one page.
const NAME: &str = "build.rs";

const TIMES: usize = 15;

/// A tool's call and the program that does the same.
struct Rival {
    tool: &'static str,
    body: String,
    programs: &'static [&'static str],
    options: &'static str,
    pattern: &'static str,
}

pub(crate) fn bench(table: &mut Table, sources: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(sources.is_dir(), "cargo has unpacked no sources in {}", sources.display());
    let place = tempfile::tempdir()?;
    let (_server, address) = Program::tool_server(sources, &place.path().join("data"))?;
    until_ready(address)?;
    for rival in rivals() {
        let path = format!("/tools/{}", rival.tool);
        rival.bench(table, sources, &mut Connection::post(address, &path, &rival.body)?)?;
    }
    Ok(())
}

fn rivals() -> [Rival; 2] {
    [
        Rival {
            tool: "grep",
            body: format!(r#"{{"pattern":"{LITERAL}","literal":true,"limit":2000}}"#),
            programs: &["rg"],
            options: "--no-config --no-ignore-global --no-ignore-parent --crlf --line-number --no-heading \
                      --fixed-strings",
            pattern: LITERAL,
        },
        Rival {
            tool: "find",
            body: format!(r#"{{"name_pattern":"{NAME}","limit":2000}}"#),
            programs: &["fdfind", "fd"],
            options: "--no-global-ignore-file --no-ignore-vcs --no-ignore-parent --case-sensitive \
                      --color=never --glob",
            pattern: NAME,
        },
    ]
}

impl Rival {
    fn bench(&self, table: &mut Table, sources: &Path, call: &mut Connection) -> anyhow::Result<()> {
        let Some(program) = installed(self.programs) else {
            let which = self.programs.join(" or ");
            table.note(&format!("{} against {which}", self.tool), "not installed");
            return Ok(());
        };
        let mut command = Command::new(&program);
        command.current_dir(sources).args(self.options.split_whitespace()).arg("--").arg(self.pattern);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        if self.tool == "grep" {
            command.arg("./");
        }
        let envelope: Envelope = serde_json::from_slice(call.exchange()?)?;
        let (ours, theirs) = (lines(envelope.stdout.as_bytes()), lines(&command.output()?.stdout));
        anyhow::ensure!(
            envelope.ok && ours == theirs && ours > 0,
            "{} found {ours} lines and {} found {theirs}: {}",
            self.tool,
            program.display(),
            envelope.stderr
        );
        let [program_time, call_time] = Durations::in_turns(
            TIMES,
            [&mut || command.output().map(drop).context("cannot run the program"), &mut || call.call()],
        )?;
        let (tool, rival) = (self.tool, self.programs[0]);
        table.note(&format!("{rival}, {theirs} lines, p50"), format!("{:.1} ms", program_time.p50_ms()));
        table.note(&format!("POST /tools/{tool}, p50"), format!("{:.1} ms", call_time.p50_ms()));
        let ratio = call_time.p50_us() / program_time.p50_us();
        table.bound(&format!("{tool} against {rival}, ratio of the p50s"), ratio, 1.0, "times");
        Ok(())
    }
}

fn lines(output: &[u8]) -> usize {
    output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count()
}
