//! The text of a voice message: from a command of the operator, or from a service.
//!
//! The command runs in the tool server's sandbox like any other, because the supervisor executes nothing. To
//! a service the bytes go as they come from the tool server.

use std::time::Duration;

use http_body_util::{BodyExt as _, Limited};
use process::Secret;
use protocol::{SessionId, TaskId};
use reqwest::Body;
use reqwest::multipart::{Form, Part};
use serde::Deserialize;
use settings::table::{TRANSCRIBE, TRANSCRIBE_API_KEY, TRANSCRIBE_MODEL};
use settings::{Row, SettingError, Source};
use toolkit::shell::quoted;

use crate::tool_files::{ToolFiles, in_words};

/// How long either may take.
const PATIENCE: Duration = Duration::from_secs(240);

/// The longest transcript that a task gets.
const MAX_CHARS: usize = 20_000;

/// How voice messages are transcribed.
#[derive(Debug, Clone)]
pub enum Transcription {
    /// A command line; the path is its last argument.
    Command(String),
    /// An OpenAI-compatible service.
    Service { url: reqwest::Url, model: String, key: Option<Secret> },
}

impl Transcription {
    pub(crate) fn read(source: &Source) -> Result<Option<Self>, SettingError> {
        let Some(text) = TRANSCRIBE.read(source)? else { return Ok(None) };
        if !text.starts_with("http://") && !text.starts_with("https://") {
            return Ok(Some(Self::Command(text)));
        }
        let address = format!("{}/audio/transcriptions", text.trim_end_matches('/'));
        let url = address.parse().map_err(|_| TRANSCRIBE.refuse(text, TRANSCRIBE.expected()))?;
        let (model, key) = (TRANSCRIBE_MODEL.read(source)?, TRANSCRIBE_API_KEY.read(source)?);
        Ok(Some(Self::Service { url, model, key }))
    }
}

#[derive(Clone)]
pub(crate) struct Transcriber {
    how: Option<Transcription>,
    files: ToolFiles,
    client: reqwest::Client,
}

/// The most that is read of an answer.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// What a service answers.
#[derive(Deserialize)]
struct Answer {
    text: String,
}

impl Transcriber {
    pub(crate) fn new(how: Option<Transcription>, files: ToolFiles) -> Result<Self, reqwest::Error> {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
        Ok(Self { how, files, client })
    }

    /// The transcript of a stored file, or in words why there is none.
    pub(crate) async fn words_of(
        &self,
        path: &str,
        session: &SessionId,
        task: &TaskId,
    ) -> Result<String, String> {
        let heard = match &self.how {
            None => return Err(format!("no transcription is set up ({}).", TRANSCRIBE.name())),
            Some(Transcription::Command(command)) => {
                let line = format!("{command} {}", quoted(path));
                self.files.run(&line, PATIENCE.as_secs(), session, task).await
            }
            Some(Transcription::Service { url, model, key }) => {
                self.ask(url, model, key.as_ref(), path, session).await
            }
        };
        match heard.as_deref().map(str::trim) {
            Ok("") => Err("the transcription is empty.".to_owned()),
            Ok(words) => Ok(words.chars().take(MAX_CHARS).collect()),
            Err(why) => {
                tracing::warn!(why, task_id = %task, "a voice message could not be transcribed");
                Err(format!("the transcription failed: {why}"))
            }
        }
    }

    async fn ask(
        &self,
        url: &reqwest::Url,
        model: &str,
        key: Option<&Secret>,
        path: &str,
        session: &SessionId,
    ) -> Result<String, String> {
        let file = self.files.get(path, session).await?;
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        let length = file.content_length();
        let body = Body::wrap_stream(file.bytes_stream());
        let part = match length {
            Some(length) => Part::stream_with_length(body, length),
            None => Part::stream(body),
        };
        let form = Form::new().text("model", model.to_owned()).text("response_format", "json");
        let form = form.part("file", part.file_name(name));
        let request = self.client.post(url.clone()).timeout(PATIENCE).multipart(form);
        let request = match key {
            Some(key) => request.bearer_auth(key.expose()),
            None => request,
        };
        let answer = request.send().await.map_err(in_words)?;
        if !answer.status().is_success() {
            return Err(format!("the service answered with {}", answer.status()));
        }
        let body = Limited::new(Body::from(answer), MAX_ANSWER_BYTES).collect().await;
        let body = body.map_err(|error| match error.downcast() {
            Ok(error) => in_words(*error),
            Err(_) => format!("the response has more than {} MiB", MAX_ANSWER_BYTES >> 20),
        })?;
        let answer: Answer = serde_json::from_slice(&body.to_bytes()).map_err(|error| error.to_string())?;
        Ok(answer.text)
    }
}
