//! What the tools share that send into a chat: where a message goes, what rules and people see of that, and
//! the files that go with it.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use protocol::effect::{Answer, Ask, FileForm, MAX_FILE_BYTES, MAX_FILES_BYTES, OutgoingFile};
use protocol::{ErrorCode, SessionId, ToolError};
use rustix::fs::fstat;
use rustix::io::pread;
use serde_json::{Value, json};
use toolkit::arguments::invalid;
use toolkit::policy::{Circumstance, Touches};
use toolkit::shell::quoted;
use toolkit::{Call, NamedFiles, Scope};

use crate::media::{HEAD_BYTES, form_of};
use crate::supervisor_link::unexpected;
use crate::tool_context::ToolContext;
use files::change::{hash_file, io_error, size_bytes};

/// The channel of the tools whose names begin with it.
pub(crate) const TELEGRAM: &str = "telegram";

/// The channel of the page's chats.
pub(crate) const PAGE: &str = "page";

/// The channels whose chats take messages that they have not asked for: reminders and files.
pub(crate) const PUSHED: &[&str] = &[TELEGRAM, PAGE];

const MAX_NAME_BYTES: usize = 255;

/// A file that can be sent: as it was when it was hashed, or the supervisor refuses it.
pub(crate) struct OpenedFile {
    pub(crate) handle: OwnedFd,
    pub(crate) size_bytes: u64,
    pub(crate) sha256: String,
}

/// The address of the chat that a call is for: the one that it names, or its own.
pub(crate) fn chat_of(session: &SessionId, named: Option<i64>) -> Result<String, ToolError> {
    match (named, own_chat(session)) {
        (Some(chat), _) => Ok(format!("{TELEGRAM}:{chat}")),
        (None, Some(_)) => Ok(session.as_str().to_owned()),
        (None, None) => Err(invalid("`chat_id` is missing: the session is no chat that gets files.")),
    }
}

/// The chat in an address, as the channel names it.
pub(crate) fn id_of(address: &str) -> &str {
    address.split_once(':').map_or(address, |(_, id)| id)
}

/// The files that a call names, in order.
fn paths_in(arguments: &Value) -> impl Iterator<Item = &str> {
    let more = arguments["more_paths"].as_array().into_iter().flatten();
    [&arguments["path"]].into_iter().chain(more).filter_map(Value::as_str)
}

fn own_chat(session: &SessionId) -> Option<&str> {
    let (channel, chat) = session.as_str().split_once(':')?;
    PUSHED.contains(&channel).then_some(chat)
}

impl OpenedFile {
    /// How a chat sees it, by its bytes.
    pub(crate) fn form(&self, path: &str) -> Result<FileForm, ToolError> {
        let mut head = vec![0; HEAD_BYTES];
        let mut read = 0;
        while read < head.len() {
            match pread(&self.handle, &mut head[read..], u64::try_from(read).unwrap_or(u64::MAX)) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(errno) => return Err(io_error(path, "read", &errno.into())),
            }
        }
        Ok(form_of(&head[..read], self.size_bytes))
    }
}

impl ToolContext {
    /// What a call touches that may name another chat and files. A topic is a part of its chat: the same
    /// people read it.
    pub(crate) fn touches_outgoing(&self, arguments: &Value, scope: &Scope) -> Touches {
        let paths = paths_in(arguments).flat_map(|path| self.paths_touched(path, scope)).collect();
        let own = own_chat(scope).and_then(|own| own.split(':').next()?.parse::<i64>().ok());
        match arguments["chat_id"].as_i64() {
            Some(named) if Some(named) != own => Touches {
                paths,
                circumstances: vec![Circumstance::OtherChat],
                recipients: vec![format!("{TELEGRAM}:{named}")],
                ..Touches::nothing()
            },
            Some(_) | None => Touches { paths, ..Touches::nothing() },
        }
    }

    /// Where it goes, and the files; an error if any of it would be refused.
    pub(crate) fn preview_outgoing(&self, arguments: &Value, call: &Call) -> Result<String, ToolError> {
        let chat = chat_of(&call.scope, arguments["chat_id"].as_i64())?;
        self.supervisor()?.ask(call, Ask::MayWrite { chat: chat.clone() })?;
        let paths: Vec<&str> = paths_in(arguments).collect();
        let files = paths.iter().map(|path| self.outgoing_file(path, call));
        let files = files.collect::<Result<Vec<_>, _>>()?;
        require_sum(&files)?;
        let described = |(path, OpenedFile { size_bytes, sha256, .. }): (&&str, &OpenedFile)| {
            format!("{path} ({size_bytes} bytes, SHA-256 {sha256})")
        };
        let files: Vec<String> = paths.iter().zip(&files).map(described).collect();
        let chat = id_of(&chat);
        Ok(match files.as_slice() {
            [] => format!("Goes to the chat {chat}."),
            [one] => format!("{one} goes to the chat {chat}."),
            several => format!("{} go to the chat {chat}.", several.join(", ")),
        })
    }

    /// The files that a call names, as they are now; none if it names none.
    pub(crate) fn named_outgoing(&self, arguments: &Value, scope: &Scope) -> Result<NamedFiles, ToolError> {
        self.contents(paths_in(arguments).map(str::to_owned), scope)
    }

    /// Opens a file that can be sent.
    pub(crate) fn outgoing_file(&self, path: &str, call: &Call) -> Result<OpenedFile, ToolError> {
        self.raw_files.require()?;
        let handle = self.workspaces.of(&call.scope)?.open_file(path)?.handle;
        let stat = fstat(&handle).map_err(|errno| io_error(path, "read", &errno.into()))?;
        match size_bytes(&stat) {
            0 => return Err(invalid(format!("{path:?} is empty, and an empty file cannot be sent."))),
            size if size > MAX_FILE_BYTES => return Err(too_large(size)),
            _ => {}
        }
        let (sha256, size_bytes) = hash_file(&handle, path, call)?;
        Ok(OpenedFile { handle, size_bytes, sha256 })
    }

    /// Has the supervisor send files, each under its name; returns the number of the first one's row in the
    /// outbox.
    pub(crate) fn send_files(
        &self,
        call: &Call,
        chat: &str,
        caption: &str,
        files: &[(OpenedFile, FileForm, String)],
    ) -> Result<i64, ToolError> {
        let described = |(file, form, name): &(OpenedFile, FileForm, String)| OutgoingFile {
            form: *form,
            name: name.clone(),
            size_bytes: file.size_bytes,
            sha256: file.sha256.clone(),
        };
        let ask = Ask::SendFiles {
            chat: chat.to_owned(),
            caption: caption.to_owned(),
            files: files.iter().map(described).collect(),
        };
        let handles: Vec<BorrowedFd<'_>> = files.iter().map(|(file, ..)| file.handle.as_fd()).collect();
        match self.supervisor()?.ask_with(call, ask, &handles)? {
            Answer::Queued { outbox_id, .. } => Ok(outbox_id),
            other => Err(unexpected(&other)),
        }
    }
}

/// Passes if these files are not too large together.
pub(crate) fn require_sum<'a>(files: impl IntoIterator<Item = &'a OpenedFile>) -> Result<(), ToolError> {
    let (sum, most) =
        (files.into_iter().map(|file| file.size_bytes).sum::<u64>(), MAX_FILES_BYTES / 1_000_000);
    if sum <= MAX_FILES_BYTES {
        return Ok(());
    }
    let message = format!("The files have {sum} bytes together, which is more than the {most} MB of a call.");
    Err(ToolError::new(ErrorCode::FileTooLarge, message).with_hint("Send them with several calls."))
}

/// The name that a chat sees.
pub(crate) fn valid_name(name: String) -> Result<String, ToolError> {
    let is_bad = |character: char| character == '/' || character.is_control();
    if name.trim().is_empty() || name.len() > MAX_NAME_BYTES || name.contains(is_bad) {
        let rule =
            format!("`filename` must have 1 to {MAX_NAME_BYTES} bytes, without `/` and control characters.");
        return Err(invalid(rule));
    }
    Ok(name)
}

/// A directory can be sent as an archive.
pub(crate) fn with_archive(error: ToolError, path: &str) -> ToolError {
    if error.code != ErrorCode::IsDirectory {
        return error;
    }
    let cmd = json!({"cmd": format!("tar -czf archive.tar.gz -- {}", quoted(path))});
    error.with_hint(format!("Make an archive with `bash` {cmd}, then send archive.tar.gz."))
}

fn too_large(size: u64) -> ToolError {
    let most = MAX_FILE_BYTES / 1_000_000;
    let message = format!("The file has {size} bytes, which is larger than the {most} MB that can be sent.");
    ToolError::new(ErrorCode::FileTooLarge, message).with_hint("Compress it, or split it: `split -b 47M`.")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use settings::choices::Division;

    use super::*;
    use cage::control_files::ControlFiles;
    use files::change::Durability;
    use files::output_store::OutputStore;
    use files::roots::{DeniedPaths, Roots, Workspaces};

    #[test]
    fn another_chat_is_one_that_other_people_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        let (denied, protected) = (DeniedPaths::new([]).unwrap(), ControlFiles::default());
        let roots = Roots::open(std::slice::from_ref(&path), denied, protected, |_| None).unwrap();
        let roots = Workspaces::new(roots, Division::Shared);
        let output = Arc::new(OutputStore::open(&path).unwrap());
        let pending = path.join("pending");
        let context = ToolContext::files_only(roots, &pending, output, 0, 0, Durability::Cached).unwrap();
        for (session, chat, is_elsewhere) in [
            ("telegram:4711", json!(null), false),
            ("telegram:4711", json!(4711), false),
            ("telegram:4711", json!(12), true),
            ("telegram:-1001:12", json!(-1001), false),
            ("telegram:-1001:12", json!(12), true),
            ("telegram:-1001", json!(-1002), true),
            ("local:me", json!(12), true),
        ] {
            let scope = Scope::new(session.parse().unwrap(), None);
            let touches = context.touches_outgoing(&json!({"chat_id": chat}), &scope);
            assert_eq!(touches.circumstances == [Circumstance::OtherChat], is_elsewhere, "{session} {chat}");
            let to = if is_elsewhere { vec![format!("telegram:{chat}")] } else { Vec::new() };
            assert_eq!(touches.recipients, to, "{session} {chat}");
        }
    }
}
