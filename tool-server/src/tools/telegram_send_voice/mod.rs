//! `telegram_send_voice`: a voice message, of a sound file or of a text that is spoken.
//!
//! Programs of the system speak and encode, in the sandbox of commands. What the call says reaches the script
//! as an argument and the programs in a file, and is never text of a command line.

mod language;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use protocol::effect::{Answer, Ask, FileForm};
use protocol::{Annotations, ErrorCode, Risk, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::arguments::{elide, invalid};
use toolkit::policy::Touches;
use toolkit::{Call, Failure, NamedFiles, Outcome, PathText, Scope, Slot, Success, Tool};

use crate::outgoing::{OpenedFile, PUSHED, chat_of, id_of, valid_name};
use crate::state_files;
use crate::supervisor_link::unexpected;
use crate::tool_context::ToolContext;
use cage::command::{CommandRequest, Given};
use cage::control_files::Leaving;
use files::roots::Missing;

/// Where the files of a call lie while it runs, in the root for what the agent keeps.
const DIRECTORY: &str = "voice";
/// How long speaking or encoding may take.
const COMMAND: Duration = Duration::from_secs(90);
const PATIENCE: Duration = Duration::from_secs(120);
/// How long removing its files may take.
const CLEANING: Duration = Duration::from_secs(10);

/// The script's exit codes for programs that are not there.
const NOTHING_SPEAKS: i32 = 91;
const NOTHING_ENCODES: i32 = 92;

/// Speaks the third word, in the language that the second names, into `$job.ogg`.
const SPEAK: &str = r#"
job=$1 lang=$2
printf '%s' "$3" >"$job.txt"
has() { command -v "$1" >/dev/null; }
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

/// Encodes the file that the third word names into `$job.ogg`.
const ENCODE: &str = r#"
job=$1 path=$3
has() { command -v "$1" >/dev/null; }
if has ffmpeg; then
    ffmpeg -nostdin -v error -y -i "file:$path" -vn -ac 1 -c:a libopus -b:a 48k "$job.ogg"
elif has opusenc; then
    opusenc --quiet --downmix-mono -- "$path" "$job.ogg"
else
    exit 92
fi
"#;

/// Removes the files of a job.
const CLEAN: &str = r#"rm -f -- "$1.txt" "$1.ogg""#;

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
    path: Option<PathText>,
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

pub(crate) struct TelegramSendVoice(pub(super) ToolContext);

impl Tool for TelegramSendVoice {
    type Arguments = SendVoiceArguments;
    type Data = SendVoiceData;
    const NAME: &'static str = "telegram_send_voice";
    const RISK: Risk = Risk::Medium;
    const ANNOTATIONS: Annotations = Annotations::SENDS;
    const SLOT: Slot = Slot::File;
    const CHANNELS: &'static [&'static str] = PUSHED;
    const ESSENTIAL: &'static [&'static str] = &["path", "text"];

    fn example(&self) -> Value {
        json!({"text": "Good morning."})
    }

    fn is_offered(&self) -> bool {
        self.0.has_supervisor()
    }

    fn timeout(&self, _: &Value) -> Option<Duration> {
        Some(PATIENCE)
    }

    fn touches(&self, arguments: &Value, scope: &Scope) -> Touches {
        self.0.touches_outgoing(arguments, scope)
    }

    fn preview(&self, arguments: &Value, call: &Call) -> Result<String, ToolError> {
        self.0.preview_outgoing(arguments, call)
    }

    fn named_files(&self, arguments: &Value, scope: &Scope) -> Result<NamedFiles, ToolError> {
        self.0.named_outgoing(arguments, scope)
    }

    fn run(&self, arguments: SendVoiceArguments, call: &Call) -> Outcome<SendVoiceData> {
        let SendVoiceArguments { path, text, lang, filename, caption, chat_id } = arguments;
        let chat = chat_of(&call.scope, chat_id)?;
        // Else it would be refused when it is spoken.
        self.0.supervisor()?.ask(call, Ask::MayWrite { chat: chat.clone() })?;
        let filename = filename.map_or_else(|| Ok("voice.ogg".to_owned()), valid_name)?;
        let (file, lang) = match (path, self.spoken([text.as_deref(), Some(&caption)], call)?) {
            (Some(path), _) => (self.of_file(call, &path)?, None),
            (None, Some(text)) => {
                let lang = lang.map_or_else(|| Ok(language::detected(&text).to_owned()), language::valid)?;
                (self.make(call, SPEAK, [&language::voice(&lang), &text])?, Some(lang))
            }
            (None, None) => {
                return Err(invalid("Give `path`, a sound file, or `text`, which is spoken.").into());
            }
        };
        let size_bytes = file.size_bytes;
        let files = [(file, FileForm::Voice, filename.clone())];
        let outbox_id = self.0.send_files(call, &chat, &caption, &files)?;
        let stdout = format!("{filename} ({size_bytes} bytes) is on its way to the chat.\n");
        let chat_id = id_of(&chat).to_owned();
        let data = SendVoiceData { outbox_id, chat_id, filename, size_bytes, lang };
        Ok(Success { stdout, data, ..Success::default() })
    }
}

impl TelegramSendVoice {
    /// The first of these texts that has words, without the signs of Markdown and the addresses of links.
    fn spoken(&self, texts: [Option<&str>; 2], call: &Call) -> Result<Option<String>, ToolError> {
        for text in texts.into_iter().flatten().filter(|text| !text.trim().is_empty()) {
            let ask = Ask::PlainText { markdown: text.to_owned() };
            match self.0.supervisor()?.ask(call, ask)? {
                Answer::Text { text } if text.trim().is_empty() => {}
                // No argument of a program can hold this character.
                Answer::Text { text } => return Ok(Some(text.replace('\0', ""))),
                other => return Err(unexpected(&other)),
            }
        }
        Ok(None)
    }

    fn of_file(&self, call: &Call, path: &str) -> Result<OpenedFile, ToolError> {
        let file = self.0.outgoing_file(path, call)?;
        if is_opus(&file) {
            return Ok(file);
        }
        let path = self.0.workspaces.of(&call.scope)?.open_file(path)?.path;
        self.make(call, ENCODE, ["", &path.to_string_lossy()])
    }

    /// Runs a script with these words, and returns the file that it makes.
    fn make(&self, call: &Call, script: &str, words: [&str; 2]) -> Result<OpenedFile, ToolError> {
        let roots = self.0.workspaces.of(&call.scope)?;
        let chat = call.scope.as_str().replace(':', "-");
        let made = state_files::path(&format!("{DIRECTORY}/{chat}/{}.ogg", call.id));
        // Makes the directory.
        let target = roots.target(&made, Missing::MakeParents)?;
        let job = target.path.with_extension("");
        let job = job.to_string_lossy();
        let run = self.run_script(call, script, &[&job, words[0], words[1]]);
        let file = run.and_then(|()| self.0.outgoing_file(&made, call));
        // The files go as well when the caller of this call has gone.
        let mut cleaning = Call::own(CLEANING);
        cleaning.scope = call.scope.clone();
        if let Err(error) = self.run_script(&cleaning, CLEAN, &[&job]) {
            tracing::warn!(message = error.message, "the files of a voice message stay in the state root");
        }
        file
    }

    fn run_script(&self, call: &Call, script: &str, words: &[&str]) -> Result<(), ToolError> {
        let bash = self.0.commands.program("bash")?;
        let workdir = self.0.workspaces.of(&call.scope)?.open_directory(".")?.path;
        let arguments = ["-c", script, Self::NAME].iter().chain(words).map(OsString::from).collect();
        let request = CommandRequest {
            program: bash,
            arguments,
            given: Given::default(),
            workdir,
            timeout: call.deadline.saturating_duration_since(Instant::now()).min(COMMAND),
            tool: Self::NAME,
            leaving: Leaving::TakenBack,
            has_terminal: false,
            keeps_state: false,
        };
        self.0.commands.run(call, request).map(drop).map_err(|failure| explained(&failure))
    }
}

/// Names the program that is missing, or that failed.
fn explained(failure: &Failure) -> ToolError {
    let missing =
        |message: &str, hint: &str| ToolError::new(ErrorCode::ToolNotAllowed, message).with_hint(hint);
    match (failure.error.code, failure.exit_code()) {
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
            let said = failure.stderr().trim().lines().last().unwrap_or("it said nothing about it");
            invalid(format!("It could not be made into a voice message: {}", elide(said, 300)))
        }
        _ => failure.error.clone(),
    }
}

/// Whether a file is Opus in OGG: the first page has the head of the stream (RFC 7845, 5.1).
fn is_opus(file: &OpenedFile) -> bool {
    let mut head = [0; 36];
    let read = rustix::io::pread(&file.handle, &mut head, 0).unwrap_or_default();
    read == head.len() && head.starts_with(b"OggS") && head.ends_with(b"OpusHead")
}
