//! `telegram_send_voice`: a voice message, of a sound file or of a text that is spoken.
//!
//! Programs of the system speak and encode, in a command of the tool server's sandbox. What the call says
//! reaches them in files, and never as text of a command line.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use protocol::{Annotations, Envelope, ErrorCode, Risk, SessionId, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::arguments::{elide, invalid};
use toolkit::policy::Touches;
use toolkit::{Call, Outcome, Slot, Success, Tool};

use super::send_file::valid_name;
use super::{chat_of, elsewhere, language};
use crate::channel::Content;
use crate::channel::content::{File, FileBody, StoredFile};
use crate::channel_tools::sending::{Sending, wait};
use crate::channels::telegram::{NAME, split};
use crate::formatting;
use crate::tool_files::{Caller, PutError, ToolFiles, quoted};

/// Where the files of a call lie while it runs, in the root for what the agent keeps.
const DIRECTORY: &str = "voice";
/// How long speaking or encoding may take.
const COMMAND_SECONDS: u64 = 90;
const PATIENCE: Duration = Duration::from_secs(120);

/// The script's exit codes for programs that are not there.
const NOTHING_SPEAKS: i32 = 91;
const NOTHING_ENCODES: i32 = 92;

/// `$job.txt` is spoken into `$job.ogg`.
const SPEAK: &str = r#"
has() { command -v "$1" >/dev/null; }
IFS= read -r lang <"$job.lang"
wav=/tmp/speech.wav
if has espeak-ng; then
    espeak-ng -v "$lang" -f "$job.txt" -w "$wav" || espeak-ng -v "${lang%%-*}" -f "$job.txt" -w "$wav" || exit
elif has pico2wave; then
    case $lang in
        de*) voice=de-DE ;; es*) voice=es-ES ;; fr*) voice=fr-FR ;; it*) voice=it-IT ;;
        en-gb*) voice=en-GB ;; *) voice=en-US ;;
    esac
    pico2wave -l "$voice" -w "$wav" -- "$(<"$job.txt")" || exit
elif has flite; then
    flite -f "$job.txt" -o "$wav" || exit
else
    exit 91
fi
if has opusenc; then
    opusenc --quiet "$wav" "$job.ogg"
elif has ffmpeg; then
    ffmpeg -nostdin -v error -y -i "$wav" -c:a libopus -b:a 32k "$job.ogg"
else
    exit 92
fi
"#;

/// The file that `$job.txt` names is encoded into `$job.ogg`.
const ENCODE: &str = r#"
has() { command -v "$1" >/dev/null; }
IFS= read -rd '' path <"$job.txt"
if has ffmpeg; then
    ffmpeg -nostdin -v error -y -i "file:$path" -vn -ac 1 -c:a libopus -b:a 48k "$job.ogg"
elif has opusenc; then
    opusenc --quiet --downmix-mono -- "$path" "$job.ogg"
else
    exit 92
fi
"#;

/// Sends a voice message to the chat: a sound file, or a text that is spoken.
///
/// # Details
///
/// A file in OGG with Opus goes as it is, others are converted. A text is spoken by the first of espeak-ng,
/// pico2wave and flite that is installed where commands run, and encoded by opusenc or ffmpeg. A missing one
/// is named with its package.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SendVoiceArguments {
    /// A sound file, absolute or relative to the first root.
    #[serde(default)]
    path: Option<String>,
    /// The text to speak, if there is no `path`; else the caption. May be Markdown, whose signs are not
    /// spoken.
    #[serde(default)]
    #[schemars(length(max = 4096))]
    text: Option<String>,
    /// The text's language as in BCP 47, such as en, de or pt-BR; found out by default.
    #[serde(default)]
    lang: Option<String>,
    /// The name that the chat sees; voice.ogg by default.
    #[serde(default)]
    filename: Option<String>,
    /// A text below the message in Markdown, at most 1024 characters.
    #[serde(default)]
    caption: String,
    /// Another chat that the bot works for; this one by default.
    #[serde(default)]
    chat_id: Option<i64>,
}

/// What was queued.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct SendVoiceData {
    /// Its number at the outbox of the control port.
    outbox_id: i64,
    /// The chat that gets it.
    chat_id: String,
    /// The name that the chat sees.
    filename: String,
    /// Its size.
    size_bytes: u64,
    /// The language that it is spoken in; none of a sound file.
    #[serde(skip_serializing_if = "Option::is_none")]
    lang: Option<String>,
}

pub(super) struct SendVoice {
    pub(super) sending: Sending,
    pub(super) files: ToolFiles,
}

impl Tool for SendVoice {
    type Arguments = SendVoiceArguments;
    type Data = SendVoiceData;
    const NAME: &'static str = "telegram_send_voice";
    const RISK: Risk = Risk::Medium;
    const ANNOTATIONS: Annotations = Annotations::SENDS;
    const SLOT: Slot = Slot::File;
    const ESSENTIAL: &'static [&'static str] = &["path", "text"];

    fn example(&self) -> Value {
        json!({"text": "Good morning."})
    }

    fn timeout(&self, _: &Value) -> Option<Duration> {
        Some(PATIENCE)
    }

    fn touches(&self, arguments: &Value, session: &SessionId) -> Touches {
        elsewhere::touches(arguments, session)
    }

    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, ToolError> {
        elsewhere::preview(&self.sending, Some(&self.files), arguments, call)
    }

    fn named_files(
        &self,
        arguments: &Value,
        session: &SessionId,
    ) -> Result<BTreeMap<String, String>, ToolError> {
        elsewhere::named_file(&self.files, arguments, session)
    }

    fn run(&self, arguments: SendVoiceArguments, call: &Call) -> Outcome<SendVoiceData> {
        let SendVoiceArguments { path, text, lang, filename, caption, chat_id } = arguments;
        let chat_id = chat_of(call, chat_id)?;
        let filename = filename.map_or_else(|| Ok("voice.ogg".to_owned()), valid_name)?;
        let caption = split::caption(&caption);
        let filled = |text: &String| !text.trim().is_empty();
        // Speech needs neither the signs of Markdown nor the address of a link.
        let text = text.map(|text| formatting::render(&text).text).filter(filled);
        let (stored, lang) = match (path, text.or_else(|| Some(caption.text.clone()).filter(filled))) {
            (Some(path), _) => (self.of_file(call, &path)?, None),
            (None, Some(text)) => {
                let lang = lang.map_or_else(|| Ok(language::detected(&text).to_owned()), language::valid)?;
                (self.make(call, &text, &language::voice(&lang), SPEAK)?, Some(lang))
            }
            (None, None) => {
                return Err(invalid("Give `path`, a sound file, or `text`, which is spoken.").into());
            }
        };
        let size_bytes = stored.size_bytes;
        let body = FileBody::Stored(stored);
        let content = Content::Voice(File { name: filename.clone(), caption, body });
        let outbox_id = self.sending.queue(call, &NAME, &chat_id, content)?;
        let stdout = format!("{filename} ({size_bytes} bytes) is on its way to the chat.\n");
        let data = SendVoiceData { outbox_id, chat_id, filename, size_bytes, lang };
        Ok(Success { stdout, data, ..Success::default() })
    }
}

impl SendVoice {
    fn of_file(&self, call: &Call, path: &str) -> Result<StoredFile, ToolError> {
        let stored = self.sending.fetch(&self.files, call, path)?;
        if self.sending.beginning(&stored)?.is_some_and(|bytes| is_opus(&bytes)) {
            return Ok(stored);
        }
        self.sending.forget(stored)?;
        self.make(call, path, "", ENCODE)
    }

    /// Runs a script on this text, and stores what it makes.
    fn make(&self, call: &Call, text: &str, lang: &str, script: &str) -> Result<StoredFile, ToolError> {
        let job = format!("{}/{}", self.files.directory_of(DIRECTORY, &call.session), call.id);
        let made = self.put(call, &format!("{job}.txt"), text).and_then(|()| {
            self.put(call, &format!("{job}.lang"), &format!("{lang}\n"))?;
            let done = self.run_command(call, &format!("job={}{script}", quoted(&job)))?;
            check(&done)?;
            self.sending.fetch(&self.files, call, &format!("{job}.ogg"))
        });
        let files = ["txt", "lang", "ogg"].map(|ending| quoted(&format!("{job}.{ending}")));
        if let Err(error) = self.run_command(call, &format!("rm -f -- {}", files.join(" "))) {
            tracing::warn!(message = error.message, "the files of a voice message stay in the state root");
        }
        made
    }

    fn put(&self, call: &Call, path: &str, text: &str) -> Result<(), ToolError> {
        let put = self.files.put(path, &call.session, call.into(), text.to_owned().into());
        match wait(put) {
            Ok(_) => Ok(()),
            Err(PutError::Refused(why) | PutError::NotNow(why)) => {
                Err(ToolError::new(ErrorCode::IoError, format!("A file could not be stored: {why}")))
            }
        }
    }

    fn run_command(&self, call: &Call, command: &str) -> Result<Envelope, ToolError> {
        let arguments = json!({"cmd": command, "timeout_seconds": COMMAND_SECONDS});
        let request = Caller::from(call).sign(self.files.call("bash", &arguments, &call.session));
        let left = call.deadline.saturating_duration_since(Instant::now());
        wait(async { request.timeout(left).send().await?.json().await }).map_err(|error| {
            let error = crate::error_chain::error_chain(&error.without_url());
            tracing::warn!(error, "the tool server ran no command for a voice message");
            ToolError::new(ErrorCode::IoError, "The tool server could not be asked; nothing was sent.")
        })
    }
}

/// Names the program that is missing, or that failed.
fn check(done: &Envelope) -> Result<(), ToolError> {
    let Some(error) = &done.meta.error else { return Ok(()) };
    let missing =
        |message: &str, hint: &str| Err(ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint));
    match (error.code, done.exit_code) {
        (ErrorCode::ExitNonzero, NOTHING_SPEAKS) => missing(
            "No program that speaks is installed where commands run.",
            "Write the answer as text. The operator can install one of these Debian packages: espeak-ng, \
             libttspico-utils (pico2wave), flite.",
        ),
        (ErrorCode::ExitNonzero, NOTHING_ENCODES) => missing(
            "No program that encodes Opus is installed where commands run.",
            "Send the file with `telegram_send_file`, or the text as text. The operator can install one of \
             these Debian packages: opus-tools (opusenc), ffmpeg.",
        ),
        (ErrorCode::ExitNonzero, _) => {
            let said = done.stderr.trim().lines().last().unwrap_or("it said nothing about it");
            Err(invalid(format!("It could not be made into a voice message: {}", elide(said, 300))))
        }
        _ => Err(error.clone()),
    }
}

/// Whether a file is Opus in OGG: the first page has the head of the stream (RFC 7845, 5.1).
fn is_opus(bytes: &[u8]) -> bool {
    bytes.starts_with(b"OggS") && bytes.get(28..36) == Some(b"OpusHead")
}
