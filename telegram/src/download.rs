//! Downloads a file that somebody sent: asks for its address, and passes on the bytes as they arrive.

use std::io;

use channel::download::{Download, NoDownload};
use futures_util::TryStreamExt as _;
use serde::Deserialize;
use teloxide::payloads::GetFile;
use teloxide::types::FileId;

use super::api::{Api, CallError, PATIENCE, Refusal};
use super::content::MAX_FILE_BYTES;

/// What `getFile` answers; the client's own type needs a path.
#[derive(Deserialize)]
struct FileAnswer {
    file_path: Option<String>,
}

pub(super) async fn begin(api: &Api, source: &str) -> Result<Download, NoDownload> {
    let get_file = GetFile::new(FileId(source.to_owned()));
    let found: FileAnswer = api.call_for(&get_file, PATIENCE).await.map_err(|error| match error {
        CallError::Refused(Refusal { code: 400, description, .. }) => {
            NoDownload::Never(format!("Telegram does not give it out: {description}."))
        }
        error => NoDownload::Later(error.to_string()),
    })?;
    let Some(path) = found.file_path else {
        return Err(NoDownload::Never("Telegram does not give it out.".to_owned()));
    };
    let response = api.download(&path).await.map_err(|error| NoDownload::Later(error.to_string()))?;
    let bytes = response.bytes_stream().map_err(|error| io::Error::other(error.without_url()));
    Ok(Download { bytes: Box::pin(bytes), most_bytes: MAX_FILE_BYTES })
}
