//! One query to the server: its answer, its time, and the server's memory at its peak.

use std::path::PathBuf;
use std::time::Instant;

use harness::{Request, ToolServer};
use protocol::{Envelope, ErrorCode, Status};
use serde_json::Value;

/// The deadline of a call is 30 s; a little later it has been answered, whatever it is.
const MOST_MS: u128 = 31_000;

/// The most memory that the server may ever have resident.
const MOST_KB: u64 = 150 * 1024;

pub(crate) enum Right {
    /// It succeeds, and its text has this in it.
    Shows(String),
    /// It succeeds with this, or says that a fuse ended it.
    ShowsOrFuse(String),
    /// It succeeds with this, or runs into its deadline.
    ShowsOrTimeout(String),
    /// It succeeds with this, or has a next page.
    ShowsOrGoesOn(String),
    /// It succeeds without a part, and a notice with this says which.
    LeavesOut(String),
    /// It is refused with this code.
    Refused(ErrorCode),
}

pub(crate) struct Interview {
    server: ToolServer,
    asked: usize,
    missed: usize,
}

impl Interview {
    pub(crate) const HEADING: &str =
        "| what | call | answer | ms | peak MB | verdict |\n|---|---|---|---:|---:|---|";

    pub(crate) fn new(server: ToolServer) -> Self {
        Self { server, asked: 0, missed: 0 }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.server.root()
    }

    pub(crate) fn ask(&mut self, what: &str, tool: &str, arguments: &Value, right: &Right) -> Envelope {
        self.server.program().forget_peak();
        let begin = Instant::now();
        let answer = self.server.send(Request::call(tool, arguments));
        let took = begin.elapsed().as_millis();
        let envelope = harness::envelope_shape::assert_whole(&answer);
        let peak = self.server.program().peak_kb();
        let holds = right.holds(&envelope) && took <= MOST_MS && peak <= MOST_KB;
        self.asked += 1;
        self.missed += usize::from(!holds);
        let verdict = if holds { "holds" } else { "MISSED" };
        let call = format!("{tool} {}", shortened(arguments));
        println!("| {what} | `{call}` | {} | {took} | {} | {verdict} |", said(&envelope), peak / 1024);
        envelope
    }

    /// Asks for page after page until there is none any more; the last must show the text.
    pub(crate) fn ask_to_the_end(&mut self, what: &str, tool: &str, arguments: &Value, text: &str) {
        let mut arguments = arguments.clone();
        let right = Right::ShowsOrGoesOn(text.to_owned());
        while let Some(cursor) = self.ask(what, tool, &arguments, &right).next_page_cursor {
            arguments["cursor"] = cursor.into();
        }
    }

    /// Ends the server, takes everything away, and says how many queries were asked and missed.
    pub(crate) fn end(self) -> (usize, usize) {
        let ended = self.server.stop();
        (self.asked, self.missed + usize::from(!ended.success()))
    }
}

impl Right {
    fn holds(&self, envelope: &Envelope) -> bool {
        let shows = |text: &str| envelope.ok && envelope.stdout.contains(text);
        let code = envelope.meta.error.as_ref().map(|error| error.code);
        match self {
            Self::Shows(text) => shows(text),
            Self::ShowsOrFuse(text) => shows(text) || (envelope.ok && fuse(envelope).is_some()),
            Self::ShowsOrTimeout(text) => shows(text) || code == Some(ErrorCode::Timeout),
            Self::ShowsOrGoesOn(text) => shows(text) || (envelope.ok && envelope.next_page_cursor.is_some()),
            Self::LeavesOut(notice) => {
                let says = envelope.meta.notices.iter().any(|said| said.contains(notice));
                envelope.meta.status == Status::Partial && says
            }
            Self::Refused(refused) => code == Some(*refused),
        }
    }
}

fn fuse(envelope: &Envelope) -> Option<&str> {
    envelope.meta.data.get("aborted_reason")?.as_str()
}

fn said(envelope: &Envelope) -> String {
    match (&envelope.meta.error, fuse(envelope)) {
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
