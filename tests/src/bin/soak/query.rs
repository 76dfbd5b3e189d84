//! One call of a tool: its answer, how long it took, and the server's peak memory.

use std::path::PathBuf;
use std::time::Instant;

use harness::{Request, ToolServer};
use protocol::{Envelope, ErrorCode, Status};
use serde_json::Value;

/// A call has a deadline of 30 s; every call must be answered shortly after.
const MOST_MS: u128 = 31_000;

/// The most resident memory that the server may ever use.
const MOST_KB: u64 = 150 * 1024;

#[derive(Clone, Copy)]
pub(crate) enum Expected {
    /// Success, with this in the text.
    Shows(&'static str),
    /// The same, or a search that stopped early and says so.
    ShowsOrStops(&'static str),
    /// The same, or a timeout.
    ShowsOrTimeout(&'static str),
    /// The same, or a cursor for the next page.
    ShowsOrContinues(&'static str),
    /// A partial result, with a notice that contains this.
    Skips(&'static str),
    /// This error.
    Refused(ErrorCode),
}

pub(crate) struct Soak {
    server: ToolServer,
    asked: usize,
    missed: usize,
}

impl Soak {
    pub(crate) const HEADING: &str =
        "| input | call | answer | ms | peak MB | verdict |\n|---|---|---|---:|---:|---|";

    pub(crate) fn new(server: ToolServer) -> Self {
        Self { server, asked: 0, missed: 0 }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.server.root()
    }

    pub(crate) fn ask(&mut self, what: &str, tool: &str, arguments: &Value, expected: Expected) -> Envelope {
        self.server.program().forget_peak();
        let begin = Instant::now();
        let answer = self.server.send(Request::call(tool, arguments));
        let took = begin.elapsed().as_millis();
        let envelope = harness::envelope_shape::assert_whole(&answer);
        let peak = self.server.program().peak_kb();
        let holds = expected.matches(&envelope) && took <= MOST_MS && peak <= MOST_KB;
        self.asked += 1;
        self.missed += usize::from(!holds);
        let verdict = if holds { "ok" } else { "MISSED" };
        let call = format!("{tool} {}", shortened(arguments));
        println!("| {what} | `{call}` | {} | {took} | {} | {verdict} |", said(&envelope), peak / 1024);
        envelope
    }

    /// Requests all pages; the last one must show the text.
    pub(crate) fn ask_all_pages(&mut self, what: &str, tool: &str, arguments: &Value, text: &'static str) {
        let mut arguments = arguments.clone();
        let expected = Expected::ShowsOrContinues(text);
        while let Some(cursor) = self.ask(what, tool, &arguments, expected).next_page_cursor {
            arguments["cursor"] = cursor.into();
        }
    }

    /// Stops the server, removes everything, and returns how many calls were made and missed.
    pub(crate) fn end(self) -> (usize, usize) {
        let ended = self.server.stop();
        (self.asked, self.missed + usize::from(!ended.success()))
    }
}

impl Expected {
    fn matches(self, envelope: &Envelope) -> bool {
        let shows = |text: &str| envelope.ok && envelope.stdout.contains(text);
        let code = envelope.meta.error.as_ref().map(|error| error.code);
        match self {
            Self::Shows(text) => shows(text),
            Self::ShowsOrStops(text) => shows(text) || (envelope.ok && aborted_reason(envelope).is_some()),
            Self::ShowsOrTimeout(text) => shows(text) || code == Some(ErrorCode::Timeout),
            Self::ShowsOrContinues(text) => {
                shows(text) || (envelope.ok && envelope.next_page_cursor.is_some())
            }
            Self::Skips(notice) => {
                let says = envelope.meta.notices.iter().any(|said| said.contains(notice));
                envelope.meta.status == Status::Partial && says
            }
            Self::Refused(refused) => code == Some(refused),
        }
    }
}

fn aborted_reason(envelope: &Envelope) -> Option<&str> {
    envelope.meta.data.get("aborted_reason")?.as_str()
}

fn said(envelope: &Envelope) -> String {
    match (&envelope.meta.error, aborted_reason(envelope)) {
        (Some(error), _) => error.code.to_string(),
        (None, Some(reason)) => format!("{:?}, {reason}", envelope.meta.status).to_lowercase(),
        (None, None) => format!("{:?}, {} bytes", envelope.meta.status, envelope.stdout.len()).to_lowercase(),
    }
}

fn shortened(arguments: &Value) -> String {
    let text = arguments.to_string().replace('|', "\\|");
    match text.char_indices().nth(70) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
