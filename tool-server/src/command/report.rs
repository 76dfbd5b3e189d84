//! What an answer says of the control files that a command left behind.

use std::path::Path;

use protocol::journal::CreatedControlFile;

use super::guarded::GuardedCommand;
use crate::control_files::LeftBehind;
use crate::roots::names;

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
        let quarantine = command.quarantine();
        match command.left_behind() {
            Ok(left) => Self { notices: notices(&left, &quarantine), files: listed(&left) },
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

pub(crate) fn listed(left: &[LeftBehind]) -> Vec<CreatedControlFile> {
    let entry = |left: &LeftBehind| CreatedControlFile {
        path: names::path_to_text(&left.path),
        why: left.why.clone(),
        taken_back: left.taken_back,
    };
    left.iter().take(MAX_LISTED).map(entry).collect()
}

fn notices(left: &[LeftBehind], quarantine: &Path) -> Vec<String> {
    let (taken, stuck): (Vec<_>, Vec<_>) = left.iter().partition(|left| left.taken_back);
    let mut notices = Vec::new();
    if !taken.is_empty() {
        notices.push(format!(
            "Taken back, because other programs would execute it: {}. The originals are in {}, and `read` \
             can open them. If the task needs this to stay, ask with `allow_control_files`; an operator must \
             approve it.",
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
    if left.len() > MAX_LISTED {
        notices.push(format!("{} more are not listed.", left.len() - MAX_LISTED));
    }
    notices
}

/// The first of them, each path with its reason.
fn named(left: &[&LeftBehind]) -> String {
    let one =
        |left: &&LeftBehind| format!("{} ({})", names::quoted(&names::path_to_text(&left.path)), left.why);
    let mut named: Vec<String> = left.iter().take(MAX_NAMED).map(one).collect();
    if left.len() > MAX_NAMED {
        named.push(format!("and {} more", left.len() - MAX_NAMED));
    }
    named.join(", ")
}
