//! `grep` and `find` over the sources of every crate that cargo has unpacked, beside `rg` and `fd`.
//!
//! The programs get the options that match the tools' defaults, and both sides must find the same number.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use harness::ToolServer;
use protocol::Envelope;

use crate::http::Connection;
use crate::program::{call, installed};
use crate::table::Table;

/// A tool's call and the program that does the same, under each of its names.
struct Rival {
    tool: &'static str,
    body: &'static str,
    programs: &'static [&'static str],
    arguments: &'static str,
}

/// A text that few files contain, and a name that many directories contain, few enough for one page.
const RIVALS: [Rival; 2] = [
    Rival {
        tool: "grep",
        body: r#"{"pattern":"RESOLVE_NO_XDEV","literal":true,"limit":2000}"#,
        programs: &["rg"],
        arguments: "--no-config --no-ignore-global --no-ignore-parent --crlf --line-number --no-heading \
                    --fixed-strings -- RESOLVE_NO_XDEV ./",
    },
    Rival {
        tool: "find",
        body: r#"{"name_pattern":"build.rs","limit":2000}"#,
        programs: &["fdfind", "fd"],
        arguments: "--no-global-ignore-file --no-ignore-vcs --no-ignore-parent --case-sensitive \
                    --color=never --glob -- build.rs",
    },
];

pub(crate) fn bench(table: &mut Table, sources: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(sources.is_dir(), "cargo has unpacked no sources in {}", sources.display());
    let server = ToolServer::builder().roots(&[sources.to_owned()]).start();
    for rival in RIVALS {
        let mut call = call(&server, rival.tool, rival.body)?;
        match installed(rival.programs) {
            Some(program) => rival.bench(table, &program, sources, &mut call)?,
            None => table.note(&format!("{} beside it", rival.tool), "not installed"),
        }
    }
    Ok(())
}

impl Rival {
    fn bench(
        &self,
        table: &mut Table,
        program: &Path,
        sources: &Path,
        call: &mut Connection,
    ) -> anyhow::Result<()> {
        let mut command = Command::new(program);
        command.current_dir(sources).args(self.arguments.split_whitespace());
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let envelope: Envelope = call.json()?;
        let (ours, theirs) = (lines(envelope.stdout.as_bytes()), lines(&command.output()?.stdout));
        let (tool, rival, stderr) = (self.tool, self.programs[0], &envelope.stderr);
        anyhow::ensure!(envelope.ok && ours > 0, "{tool} found nothing: {stderr}");
        anyhow::ensure!(ours == theirs, "{tool} found {ours} lines and {rival} found {theirs}");
        let mut run = || command.output().map(drop).context("cannot run the program");
        let what = format!("{tool} against {rival}, ratio of the p50s");
        table.compare(
            (15, 1),
            [
                (&format!("{rival}, {theirs} lines"), &mut run),
                (&format!("POST /tools/{tool}"), &mut || call.call()),
            ],
            (&what, 1.0),
        )?;
        Ok(())
    }
}

fn lines(output: &[u8]) -> usize {
    output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count()
}
