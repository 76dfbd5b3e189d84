//! `process_write`: what a person would type into a background process.

use std::io;
use std::time::Duration;

use cage::processes::{Process, Signal};
use protocol::journal::ProcessState;
use protocol::{Annotations, ErrorCode, Risk, ToolError};
use sandbox::Receivers;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::{Call, Outcome, Slot, Success, Tool, touches_nothing};

use crate::tool_context::ToolContext;

/// How long a process may take to read what is written.
const PATIENCE: Duration = Duration::from_secs(5);

/// Writes to the input of a background process.
///
/// A line needs the key `enter`; `ctrl-c` interrupts.
///
/// # Details
///
/// First the text is written, then the keys, then `eof` closes the input. Without a terminal (`tty`),
/// `ctrl-c` and `ctrl-backslash` are the signals that a terminal would send, and `ctrl-d` is the same as
/// `eof`. `text` can have any other key's bytes, such as `\u001b[A` for the arrow up.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessWriteArguments {
    /// As `bash` answered it.
    process_id: String,
    /// What to write.
    #[serde(default)]
    #[schemars(length(max = 65_536))]
    text: String,
    /// Keys to press after it.
    #[serde(default)]
    #[schemars(length(max = 64))]
    keys: Vec<Key>,
    /// Whether to close the input then.
    #[serde(default)]
    eof: bool,
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Key {
    Enter,
    Tab,
    Escape,
    CtrlC,
    CtrlD,
    CtrlBackslash,
}

/// What the process took.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ProcessWriteData {
    /// The process.
    process_id: String,
    /// How many bytes of text and keys it took.
    written_bytes: usize,
    /// Whether it runs.
    state: Option<ProcessState>,
}

pub(crate) struct ProcessWrite(pub(super) ToolContext);

impl Tool for ProcessWrite {
    type Arguments = ProcessWriteArguments;
    type Data = ProcessWriteData;
    const NAME: &'static str = "process_write";
    const RISK: Risk = Risk::Medium;
    const ANNOTATIONS: Annotations = Annotations::ACTS;
    const SLOT: Slot = Slot::Process;
    const ESSENTIAL: &'static [&'static str] = &["text", "keys"];

    fn example(&self) -> Value {
        json!({"process_id": "p-3f9a2c1e", "text": "yes", "keys": ["enter"]})
    }

    fn is_offered(&self) -> bool {
        self.0.has_processes()
    }

    touches_nothing!();

    fn run(&self, arguments: ProcessWriteArguments, call: &Call) -> Outcome<ProcessWriteData> {
        let ProcessWriteArguments { process_id, text, keys, eof } = arguments;
        if text.is_empty() && keys.is_empty() && !eof {
            return Err(invalid("There is nothing to write: pass `text`, `keys` or `eof`.").into());
        }
        let process = self.0.commands.processes().find(&call.scope, &process_id)?;
        let mut written = write(&process, text.as_bytes())?;
        let mut is_whole = written == text.len();
        for key in keys {
            if !is_whole {
                break;
            }
            let bytes = press(&process, key);
            let taken = write(&process, bytes)?;
            written += taken;
            is_whole = taken == bytes.len();
        }
        if eof && is_whole {
            process.close_input();
        }
        let stdout = format!("{written} bytes written\n");
        let late = "The process has not read all of it in time: the rest was not written. Read its output, \
                    and write the rest later.";
        let data =
            ProcessWriteData { process_id, written_bytes: written, state: Some(process.status().state) };
        let notices = if is_whole { Vec::new() } else { vec![late.to_owned()] };
        Ok(Success { data, stdout, notices, ..Success::default() })
    }
}

fn write(process: &Process, bytes: &[u8]) -> Result<usize, ToolError> {
    if bytes.is_empty() {
        return Ok(0);
    }
    process.write(bytes, PATIENCE).map_err(|error| {
        let message = match error.kind() {
            io::ErrorKind::BrokenPipe => "The process reads no input: it has ended, or the input is closed.",
            _ => "The input of the process cannot be written to.",
        };
        let hint = "Look at it with process_read.";
        ToolError::new(ErrorCode::Conflict, message).with_hint(hint)
    })
}

/// What a key writes; some do something else instead.
fn press(process: &Process, key: Key) -> &'static [u8] {
    let has_terminal = process.about.has_terminal;
    match key {
        Key::Enter if has_terminal => b"\r",
        Key::CtrlC if has_terminal => b"\x03",
        Key::CtrlD if has_terminal => b"\x04",
        Key::CtrlBackslash if has_terminal => b"\x1c",
        Key::Enter => b"\n",
        Key::Tab => b"\t",
        Key::Escape => b"\x1b",
        Key::CtrlC => {
            process.signal(Signal::INT, Receivers::Group);
            b""
        }
        Key::CtrlBackslash => {
            process.signal(Signal::QUIT, Receivers::Group);
            b""
        }
        Key::CtrlD => {
            process.close_input();
            b""
        }
    }
}
