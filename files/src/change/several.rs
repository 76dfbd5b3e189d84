//! One change of several files: all of them or none, whenever the server is killed.
//!
//! The new contents are written beside the files, an intent that names them is made durable, and only then
//! each takes its file's place by an exchange, which leaves the old content under the temporary name. So the
//! next start can go on with an unfinished intent, before it serves anybody; if somebody has changed one of
//! the files meanwhile, it takes the others back. Such a change cannot be undone later.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::path::Path;

use protocol::hash::sha256;
use protocol::{ErrorCode, ToolError};
use rustix::fs::{RenameFlags, renameat_with};
use rustix::io::Errno;
use toolkit::Call;

use super::attributes::keep_attributes;
use super::changer::Changer;
use super::commit::{TempFile, require_unchanged};
use super::error::{CommitError, io_error};
use super::intents::{IntendedFile, Intent};
use super::upload::FileBefore;
use crate::roots::{Missing, Target};

/// A file's new content, and what it must have been.
#[derive(Debug, Clone)]
pub struct NewFile {
    /// The file, absolute or relative to the first root.
    pub path: String,
    /// The whole new content.
    pub content: String,
    /// The SHA-256 that the file has now, in hex; none if there is no file.
    pub sha256_before: Option<String>,
}

/// How far a change has come; a test kills the program at each step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The new contents lie beside the files.
    Written,
    /// The intent is durable.
    Intended,
    /// So many files have their new content.
    Replaced(usize),
    /// The intent is gone.
    Forgotten,
}

/// A file of a change on its way.
struct Prepared<'a> {
    temp: TempFile<'a>,
    target: &'a Target,
    before: Option<&'a FileBefore>,
    intended: IntendedFile,
}

impl Changer {
    /// Gives several files their new content, all or none.
    pub fn change_several(&self, call: &Call, files: &[NewFile]) -> Result<(), ToolError> {
        self.change_several_at(call, files, &mut |_| ())
    }

    pub(super) fn change_several_at(
        &self,
        call: &Call,
        files: &[NewFile],
        at: &mut dyn FnMut(Step),
    ) -> Result<(), ToolError> {
        let roots = self.workspaces.of(&call.scope)?;
        let mut targets: Vec<Target> = Vec::with_capacity(files.len());
        let changed = (|| {
            for file in files {
                let target = roots.target(&file.path, Missing::MakeParents)?;
                if targets.iter().any(|other| other.path == target.path) {
                    let message = format!("{:?} is named twice.", file.path);
                    return Err(ToolError::new(ErrorCode::InvalidArgument, message));
                }
                targets.push(target);
            }
            self.change_targets(call, files, &targets, at)
        })();
        if changed.is_err() {
            targets.iter().rev().for_each(Target::unmake_parents);
        }
        changed
    }

    fn change_targets(
        &self,
        call: &Call,
        files: &[NewFile],
        targets: &[Target],
        at: &mut dyn FnMut(Step),
    ) -> Result<(), ToolError> {
        let _locks = self.temp_files.lock_all(targets.iter().map(|target| target.path.as_path()));
        let before = |(file, target): (&NewFile, &Target)| {
            let before = target.existing.as_ref().map(|handle| FileBefore::read(handle, &file.path, call));
            before.transpose()
        };
        let before = files.iter().zip(targets).map(before).collect::<Result<Vec<_>, _>>()?;
        let mut prepared = Vec::with_capacity(files.len());
        for ((file, target), before) in files.iter().zip(targets).zip(&before) {
            prepared.push(self.write_beside(file, target, before.as_ref())?);
        }
        at(Step::Written);
        // A caller with an answer can rely on it.
        call.check()?;
        let failed = |error: CommitError| error.into_tool_error(&files[0].path);
        prepared.iter().try_for_each(|file| file.check()).map_err(failed)?;
        self.replace_all(&mut prepared, at).map_err(failed)
    }

    fn write_beside<'a>(
        &'a self,
        file: &NewFile,
        target: &'a Target,
        before: Option<&'a FileBefore>,
    ) -> Result<Prepared<'a>, ToolError> {
        let found = before.map(|before| before.sha256.as_str());
        if found != file.sha256_before.as_deref() {
            let message = match found {
                Some(found) => {
                    format!("{:?} has SHA-256 {found}, which is not what was expected.", file.path)
                }
                None => format!("{:?} does not exist, and was expected to.", file.path),
            };
            return Err(ToolError::new(ErrorCode::Conflict, message));
        }
        let failed = |error: io::Error| io_error(&file.path, "written", &error);
        let record = self.temp_files.record(&target.path).map_err(failed)?;
        let intended = IntendedFile {
            path: target.path.clone(),
            temporary: record.name.clone(),
            sha256_before: file.sha256_before.clone(),
            sha256_after: sha256(file.content.as_bytes()),
        };
        let written = || -> Result<TempFile<'a>, CommitError> {
            let (temp, mut new) = TempFile::create(target, record)?;
            new.write_all(file.content.as_bytes())?;
            if let (Some(existing), Some(before)) = (&target.existing, before) {
                keep_attributes(existing, &before.stat, new.as_fd())?;
            }
            self.sync(&new)?;
            self.sync(&File::from(temp.parent.try_clone()?))?;
            Ok(temp)
        };
        let temp = written().map_err(|error| error.into_tool_error(&file.path))?;
        Ok(Prepared { temp, target, before, intended })
    }

    /// Puts the new files into their places. After an error, the old ones are in place.
    fn replace_all(&self, files: &mut [Prepared<'_>], at: &mut dyn FnMut(Step)) -> Result<(), CommitError> {
        let intent = Intent { files: files.iter().map(|file| file.intended.clone()).collect() };
        let paths: Vec<&Path> = files.iter().map(|file| file.target.path.as_path()).collect();
        let held = self.permit_now(&paths)?;
        let recorded = self.intents.record(&intent)?;
        at(Step::Intended);
        for index in 0..files.len() {
            if let Err(error) = files[index].replace() {
                files[..index].iter_mut().rev().try_for_each(Prepared::take_back)?;
                fs::remove_file(&recorded)?;
                return Err(error);
            }
            at(Step::Replaced(index + 1));
        }
        drop(held);
        for file in &*files {
            self.sync(&File::from(file.temp.parent.try_clone()?))?;
        }
        self.intents.forget(&recorded)?;
        at(Step::Forgotten);
        Ok(())
    }
}

impl Prepared<'_> {
    /// The file must be unchanged since it was read.
    fn check(&self) -> Result<(), CommitError> {
        let Some(before) = self.before else { return Ok(()) };
        require_unchanged(self.temp.parent, self.target, before).map(drop)
    }

    fn replace(&mut self) -> Result<(), CommitError> {
        self.check()?;
        let (parent, new, name) = (self.temp.parent, self.temp.name().to_owned(), &self.target.name);
        let flags = if self.before.is_some() { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        match renameat_with(parent, &new, parent, name, flags) {
            Err(Errno::EXIST) => return Err(CommitError::Appeared),
            Err(Errno::NOENT) => return Err(CommitError::Changed),
            renamed => renamed?,
        }
        Ok(())
    }

    fn take_back(&mut self) -> Result<(), CommitError> {
        let (parent, new, name) = (self.temp.parent, self.temp.name().to_owned(), &self.target.name);
        let flags = if self.before.is_some() { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
        Ok(renameat_with(parent, name, parent, &new, flags)?)
    }
}

#[cfg(test)]
mod tests;
