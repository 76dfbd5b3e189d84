//! Changing files: the one hand that writes, for every tool that changes something.
//!
//! A change looks at the file, asks the optimistic lock, makes the new content, shows the difference, and
//! puts a whole new file in the place of the old one: nobody ever sees half of it, and what was changed
//! meanwhile is not overwritten. A dry run does all of that but the last step.

mod content;
mod delete;
pub mod diff;
mod pending;
mod place;
pub mod replace;

use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use protocol::{ErrorCode, ToolError};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::Serialize;
use toolkit::output::Full;
use toolkit::{Call, Fingerprint, Output, PLACEHOLDER, Seen};

use crate::roots::{Missing, Roots, Target, names};
use pending::Pending;

pub use content::{Current, mtime_ms, read_whole, sha256, size_and_mtime};

/// From how many bytes on a content is hashed on a thread of its own.
const HASHED_APART: usize = 256 * 1024;

/// What every dry run says.
const DRY_RUN: &str = "This was a dry run: nothing was changed.";

/// How many changes can be in their last step at once; those of one file never are.
const STRIPES: usize = 64;

/// Whether a change is on the disk before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The file and its directory are synced.
    Synced,
    /// The page cache has it; only measurements use this.
    Cached,
}

/// Changes files beneath the roots.
#[derive(Debug)]
pub struct Changer {
    roots: Arc<Roots>,
    pending: Pending,
    max_edit_bytes: u64,
    durability: Durability,
    stripes: Vec<Mutex<()>>,
}

/// What is to be changed, and under which condition.
#[derive(Debug)]
pub struct Request<'a> {
    /// The file.
    pub path: &'a str,
    /// What to do when it is not there.
    pub missing: Missing,
    /// The SHA-256 that the file must have.
    pub expected_sha256: Option<&'a str>,
    /// Whether the change needs what the session has seen; appending does not.
    pub needs_lock: bool,
    /// Whether to change nothing and only show the difference.
    pub dry_run: bool,
}

/// The content that a file is to have.
#[derive(Debug)]
pub enum Content {
    /// All of it.
    Whole(Vec<u8>),
    /// What comes after what an existing file has.
    Tail(Vec<u8>),
}

/// What a change is to do.
#[derive(Debug)]
pub struct Planned {
    /// The content that the file is to have.
    pub content: Content,
    /// What kind of change it is.
    pub operation: Operation,
    /// How many places were replaced; none where that means nothing.
    pub replacements: Option<usize>,
    /// What was assumed.
    pub notices: Vec<String>,
}

/// What a change did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// A file was made.
    Create,
    /// A file has new content.
    #[default]
    Update,
    /// A file has more content.
    Append,
    /// A file, a link or an empty directory is gone.
    Delete,
}

/// The facts of a change; of a dry run, what they would be.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct ChangeData {
    /// What the change did.
    pub operation: Operation,
    /// Whether nothing was changed because the call was a dry run.
    pub dry_run: bool,
    /// How many places were replaced; absent for changes that replace none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacements: Option<usize>,
    /// The size before, in bytes; absent when there was no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_before: Option<u64>,
    /// The size after, in bytes; absent when there is no file any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_after: Option<u64>,
    /// The SHA-256 before, in hex; absent when there was no file, or one too large to hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256_before: Option<String>,
    /// The SHA-256 after, in hex; absent when there is no file any more, or one too large to hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256_after: Option<String>,
}

impl Changer {
    /// The hand that writes beneath these roots. `pending` is a directory outside them, where a change
    /// notes its temporary file; what an earlier server left there is tidied up.
    pub fn open(
        roots: Arc<Roots>,
        pending: &Path,
        max_edit_bytes: u64,
        durability: Durability,
    ) -> io::Result<Self> {
        let pending = Pending::open(pending, &roots)?;
        let stripes = (0..STRIPES).map(|_| Mutex::default()).collect();
        Ok(Self { roots, pending, max_edit_bytes, durability, stripes })
    }

    /// Changes one file: `plan` makes the new content from the old.
    pub fn change(
        &self,
        call: &Call,
        request: &Request<'_>,
        plan: impl FnOnce(Option<&Current>) -> Result<Planned, ToolError>,
    ) -> Result<Output<ChangeData>, ToolError> {
        let missing = match request.missing {
            Missing::MakeParents if request.dry_run => Missing::Plan,
            missing => missing,
        };
        let target = self.roots.target(request.path, missing)?;
        let changed = self.change_target(call, request, &target, plan);
        if changed.is_err() {
            target.unmake_parents();
        }
        changed
    }

    fn change_target(
        &self,
        call: &Call,
        request: &Request<'_>,
        target: &Target,
        plan: impl FnOnce(Option<&Current>) -> Result<Planned, ToolError>,
    ) -> Result<Output<ChangeData>, ToolError> {
        let _stripe = self.stripe(&target.path);
        let current = self.look(target, request.path)?;
        judge(call, request, target, current.as_ref())?;
        let planned = plan(current.as_ref())?;
        let whole = whole(&planned.content, current.as_ref());
        let small = whole.as_deref().filter(|whole| length(whole) <= self.max_edit_bytes);
        let (put, hash) = hash_meanwhile(small, || match request.dry_run {
            true => Ok(()),
            false => self.carry_out(target, current.as_ref(), &planned.content, whole.as_deref()),
        });
        put.map_err(|error| put_error(request.path, error))?;
        let after = self.fingerprint_after(target, hash);
        let keeps_lock = request.needs_lock || self.session_is_current(call, target, current.as_ref());
        let seen = (!request.dry_run && keeps_lock)
            .then(|| Seen { path: target.path.clone(), fingerprint: after.clone() });
        Ok(answer(
            call,
            request,
            target,
            current.as_ref(),
            Done { planned: &planned, whole: whole.as_deref(), after, seen },
        ))
    }

    fn carry_out(
        &self,
        target: &Target,
        current: Option<&Current>,
        content: &Content,
        whole: Option<&[u8]>,
    ) -> Result<(), place::PutError> {
        match (content, current, whole) {
            // A file with several names is not appended to in place: another name may lie outside the roots.
            (Content::Tail(tail), Some(current), _) if current.stat.st_nlink == 1 => {
                self.append(target, current, tail)
            }
            (_, Some(current), Some(whole)) if current.is(whole) => Ok(()),
            (_, current, Some(whole)) => self.put(target, current, whole),
            (_, _, None) => Err(place::PutError::TooLarge),
        }
    }

    fn look(&self, target: &Target, path: &str) -> Result<Option<Current>, ToolError> {
        let Some(existing) = &target.existing else { return Ok(None) };
        Current::look(existing, self.max_edit_bytes).map(Some).map_err(|error| io_error(path, "read", &error))
    }

    /// What the file is after the change: its content's hash, or of a large file what the disk says.
    fn fingerprint_after(&self, target: &Target, hash: Option<String>) -> Option<Fingerprint> {
        if let Some(hash) = hash {
            return Some(Fingerprint::Sha256(hash));
        }
        let parent = target.parent.as_ref()?;
        let stat = rustix::fs::statat(parent, &target.name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(content::size_and_mtime(&stat))
    }

    /// Whether what the session has seen is what the file was before this change.
    fn session_is_current(&self, call: &Call, target: &Target, current: Option<&Current>) -> bool {
        let seen = call.last_seen(&target.path);
        seen.is_some() && seen.as_ref() == current.map(|current| &current.fingerprint)
    }

    /// The changes of one file wait for each other here.
    fn stripe(&self, path: &Path) -> MutexGuard<'_, ()> {
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        let index = usize::try_from(hasher.finish() % 64).unwrap_or(0);
        self.stripes[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does some work while a content is hashed; a short content is hashed afterwards, which is sooner.
fn hash_meanwhile<T>(content: Option<&[u8]>, work: impl FnOnce() -> T) -> (T, Option<String>) {
    match content {
        Some(content) if content.len() >= HASHED_APART => thread::scope(|scope| {
            let hashing = thread::Builder::new().spawn_scoped(scope, || content::sha256(content));
            let done = work();
            let hash = hashing.ok().and_then(|hashing| hashing.join().ok());
            (done, Some(hash.unwrap_or_else(|| content::sha256(content))))
        }),
        _ => (work(), content.map(content::sha256)),
    }
}

/// How a change went.
struct Done<'a> {
    planned: &'a Planned,
    whole: Option<&'a [u8]>,
    after: Option<Fingerprint>,
    seen: Option<Seen>,
}

/// All of the content that the file is to have, unless the file is too large to know it.
fn whole<'a>(content: &'a Content, current: Option<&Current>) -> Option<Cow<'a, [u8]>> {
    match content {
        Content::Whole(whole) => Some(Cow::Borrowed(whole)),
        Content::Tail(tail) => {
            let mut whole = current.map_or(Some(Vec::new()), |current| current.content.clone())?;
            whole.extend_from_slice(tail);
            Some(Cow::Owned(whole))
        }
    }
}

fn put_error(path: &str, error: place::PutError) -> ToolError {
    match error {
        place::PutError::Changed => ToolError::new(
            ErrorCode::Conflict,
            "The file was changed by somebody else while this call changed it.",
        ),
        place::PutError::Appeared => {
            ToolError::new(ErrorCode::Conflict, "The file was made by somebody else while this call made it.")
        }
        place::PutError::TooLarge => ToolError::new(
            ErrorCode::FileTooLarge,
            "The file has several names (hard links) and is too large to be written anew.",
        ),
        place::PutError::Io(error) => io_error(path, "written", &error),
    }
}

/// The optimistic lock, for a file that is there.
fn judge(
    call: &Call,
    request: &Request<'_>,
    target: &Target,
    current: Option<&Current>,
) -> Result<(), ToolError> {
    match current {
        Some(current) if request.needs_lock || request.expected_sha256.is_some() => {
            call.may_change(&target.path, &current.fingerprint, request.expected_sha256)
        }
        None if request.expected_sha256.is_some() => Err(ToolError::new(
            ErrorCode::Conflict,
            "The file does not exist, so it does not have the expected SHA-256.",
        )),
        Some(_) | None => Ok(()),
    }
}

fn answer(
    call: &Call,
    request: &Request<'_>,
    target: &Target,
    current: Option<&Current>,
    done: Done<'_>,
) -> Output<ChangeData> {
    let Done { planned, whole, after, seen } = done;
    let shown = names::to_text(target.path.as_os_str().as_bytes());
    let before = current.map(|current| current.content.as_deref());
    let difference = diff::unified(&shown, before, whole, call.bounds);
    let mut notices = planned.notices.clone();
    notices.extend(difference.notice);
    if request.dry_run {
        notices.push(DRY_RUN.to_owned());
    }
    let bytes_before = current.map(|current| current.size_bytes);
    Output {
        stdout: difference.text,
        data: ChangeData {
            operation: planned.operation,
            dry_run: request.dry_run,
            replacements: planned.replacements,
            bytes_before,
            bytes_after: match &planned.content {
                Content::Whole(whole) => Some(length(whole)),
                Content::Tail(tail) => Some(bytes_before.unwrap_or(0) + length(tail)),
            },
            sha256_before: current.and_then(|current| sha256_of(&current.fingerprint)),
            sha256_after: after.as_ref().and_then(sha256_of),
        },
        notices,
        partial: request.dry_run || difference.cut.is_some(),
        truncated_lines: difference.cut == Some(Full::Lines),
        truncated_bytes: difference.cut == Some(Full::Bytes),
        path_resolved: Some(shown),
        seen,
        ..Output::default()
    }
}

fn length(content: &[u8]) -> u64 {
    u64::try_from(content.len()).unwrap_or(u64::MAX)
}

fn sha256_of(fingerprint: &Fingerprint) -> Option<String> {
    match fingerprint {
        Fingerprint::Sha256(hash) => Some(hash.clone()),
        Fingerprint::SizeAndMtime { .. } => None,
    }
}

/// Refuses text that would store the mark of a redaction: whoever writes it back has lost the secret.
pub fn refuse_placeholder(argument: &str, text: &str) -> Result<(), ToolError> {
    if !text.contains(PLACEHOLDER) {
        return Ok(());
    }
    let message = format!("`{argument}` holds {PLACEHOLDER}, which stands for a secret that was not shown.");
    Err(toolkit::arguments::invalid(message).with_hint(
        "Leave the line with the secret out of what you change; an edit beside it keeps it as it is.",
    ))
}

/// What a failure of the operating system means for the caller.
pub fn io_error(path: &str, verb: &str, error: &io::Error) -> ToolError {
    let shown = toolkit::arguments::elide(path, 200);
    let code = match Errno::from_io_error(error) {
        Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => ErrorCode::PermissionDenied,
        _ => ErrorCode::IoError,
    };
    tracing::warn!(path, %error, "a file could not be {verb}");
    let full = matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT));
    let reason = if full { "the disk is full" } else { "the operating system refused" };
    ToolError::new(code, format!("The file {shown:?} could not be {verb}: {reason}. Nothing was changed."))
}
