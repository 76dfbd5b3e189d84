//! What an answer says of the control files that a command left behind.

use std::path::{Path, PathBuf};

use files::roots::names;
use protocol::journal::CreatedControlFile;

use super::guarded::GuardedCommand;
use crate::control_files::{Leaving, LeftBehind};

/// How many are listed.
const MAX_LISTED: usize = 64;

/// How many are named in the notice.
const MAX_NAMED: usize = 8;

#[derive(Debug)]
pub(super) struct ControlFileReport {
    pub(super) files: Vec<CreatedControlFile>,
    pub(super) notices: Vec<String>,
}

impl ControlFileReport {
    /// Ends a command's guard.
    pub(super) fn of(command: GuardedCommand<'_>) -> Self {
        let (quarantine, leaving) = (command.quarantine(), command.leaving());
        let stranded = stranded(&command.stranded());
        match command.left_behind() {
            Ok((left, opened)) => {
                let notices = match leaving {
                    Leaving::Kept => kept(&left),
                    Leaving::TakenBack => notices_of(&left, &quarantine),
                };
                let notices = notices.into_iter().chain(reopened(&opened)).chain(stranded).collect();
                Self { notices, files: listed(&left) }
            }
            Err(error) => {
                let notice = format!(
                    "Control files that the command left could not be looked for: {error}. The next command \
                     starts only after that."
                );
                Self { files: Vec::new(), notices: vec![notice] }
            }
        }
    }
}

/// The control files that a command left, as the journal records them.
pub fn listed(left: &[LeftBehind]) -> Vec<CreatedControlFile> {
    let entry = |left: &LeftBehind| CreatedControlFile {
        path: names::path_to_text(&left.path),
        why: left.why.clone(),
        taken_back: left.taken_back,
    };
    left.iter().take(MAX_LISTED).map(entry).collect()
}

/// What stays because the call may leave it.
fn kept(left: &[LeftBehind]) -> Vec<String> {
    let all: Vec<&LeftBehind> = left.iter().collect();
    let notice = format!("Left for other programs to execute, as this call may: {}.", named(&all));
    (!left.is_empty()).then_some(notice).into_iter().chain(unlisted(left)).collect()
}

/// Directories whose owner has its rights again.
fn reopened(directories: &[PathBuf]) -> Option<String> {
    let told = format!(
        "Their owner may read, write and search these directories again, so that what the command left in \
         them could be checked: {}.",
        joined(directories.iter(), |path| names::quoted(&names::path_to_text(path)))
    );
    (!directories.is_empty()).then_some(told)
}

/// What stays although the rest of its directory went.
fn stranded(paths: &[PathBuf]) -> Option<String> {
    let told = format!(
        "Commands cannot remove what is hidden from them: {}. The tool `delete` removes it unread.",
        joined(paths.iter(), |path| names::quoted(&names::path_to_text(path)))
    );
    (!paths.is_empty()).then_some(told)
}

fn unlisted(left: &[LeftBehind]) -> Option<String> {
    (left.len() > MAX_LISTED).then(|| format!("{} more are not listed.", left.len() - MAX_LISTED))
}

/// What was taken back, and what could not be.
pub(super) fn notices_of(left: &[LeftBehind], quarantine: &Path) -> Vec<String> {
    let (taken, stuck): (Vec<_>, Vec<_>) = left.iter().partition(|left| left.taken_back);
    let mut notices = Vec::new();
    if !taken.is_empty() {
        notices.push(format!(
            "Taken back, because other programs would execute it: {}. The originals are in {}, and `read` \
             can open them. If the task needs this to stay, call again with `allow_control_files`, which a \
             person must approve.",
            named(&taken),
            quarantine.display()
        ));
    }
    if !stuck.is_empty() {
        notices.push(format!(
            "Other programs would execute this, and it could not be taken back: {}. No command runs until it \
             is gone.",
            named(&stuck)
        ));
    }
    notices.extend(unlisted(left));
    notices
}

/// The first of them, each path with its reason.
fn named(left: &[&LeftBehind]) -> String {
    joined(left.iter(), |left| format!("{} ({})", names::quoted(&names::path_to_text(&left.path)), left.why))
}

/// The first of a list, and how many more there are.
fn joined<T>(list: impl ExactSizeIterator<Item = T>, shown: impl Fn(T) -> String) -> String {
    let more = list.len().saturating_sub(MAX_NAMED);
    let mut parts: Vec<String> = list.take(MAX_NAMED).map(shown).collect();
    parts.extend((more > 0).then(|| format!("and {more} more")));
    parts.join(", ")
}
