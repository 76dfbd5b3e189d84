//! One change of several files: all of them or none, whenever the server is killed.
//!
//! The new contents are written beside the files, an intent that names them is made durable, and only then
//! each takes its file's place by an exchange, which leaves the old content under the temporary name. So the
//! next start can go on with an unfinished intent, before it serves anybody; if somebody has changed one of
//! the files meanwhile, it takes the others back. Such a change cannot be undone later.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use protocol::hash::sha256;
use protocol::{ErrorCode, EventId, ToolError};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, openat, renameat_with, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use toolkit::Call;

use super::changer::Changer;
use super::commit::{TempFile, keep_attributes, require_unchanged};
use super::error::{CommitError, io_error};
use super::file_hash::sha256_of_file;
use super::upload::FileBefore;
use crate::roots::{Missing, Roots, Target, names};

/// A file's new content, and what it must have been.
#[derive(Debug, Clone)]
pub(crate) struct NewFile {
    /// The file, absolute or relative to the first root.
    pub(crate) path: String,
    /// The whole new content.
    pub(crate) content: String,
    /// The SHA-256 that the file has now, in hex; none if there is no file.
    pub(crate) sha256_before: Option<String>,
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

/// Where intents are kept, outside the roots.
#[derive(Debug)]
pub(super) struct Intents(PathBuf);

/// What a change is about to do, in the order in which it does it.
#[derive(Debug, Serialize, Deserialize)]
struct Intent {
    files: Vec<IntendedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct IntendedFile {
    path: PathBuf,
    /// The name of its temporary file, in the same directory.
    temporary: String,
    sha256_before: Option<String>,
    sha256_after: String,
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
    pub(crate) fn change_several(&self, call: &Call, files: &[NewFile]) -> Result<(), ToolError> {
        self.change_several_at(call, files, &mut |_| ())
    }

    pub(super) fn change_several_at(
        &self,
        call: &Call,
        files: &[NewFile],
        at: &mut dyn FnMut(Step),
    ) -> Result<(), ToolError> {
        let roots = self.workspaces.of(&call.session)?;
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

impl Intents {
    /// Opens the directory, which is made when it is missing, and finishes what a killed server left.
    pub(super) fn open(directory: &Path, roots: &Roots) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            if path.extension().is_none()
                && let Ok(intent) = serde_json::from_slice::<Intent>(&fs::read(&path)?)
            {
                intent.finish(roots)?;
            }
            fs::remove_file(&path)?;
        }
        Ok(Self(directory.to_owned()))
    }

    /// Makes an intent durable. A kill leaves it whole or not at all.
    fn record(&self, intent: &Intent) -> io::Result<PathBuf> {
        let path = self.0.join(EventId::new().as_str());
        let unfinished = path.with_extension("new");
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        file.write_all(&serde_json::to_vec(intent)?)?;
        file.sync_all()?;
        fs::rename(unfinished, &path)?;
        File::open(&self.0)?.sync_all()?;
        Ok(path)
    }

    fn forget(&self, recorded: &Path) -> io::Result<()> {
        fs::remove_file(recorded)?;
        File::open(&self.0)?.sync_all()
    }
}

/// How far a file of an intent has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// It has its old content, or is not there yet.
    Waiting,
    Replaced,
    /// Somebody else has changed it.
    Strange,
}

impl Intent {
    /// Continues to the end; back to the beginning if another program has changed one of the files.
    fn finish(&self, roots: &Roots) -> io::Result<()> {
        let found: Vec<(Option<OwnedFd>, Progress)> =
            self.files.iter().map(|file| file.find(roots)).collect::<io::Result<_>>()?;
        let is_strange = found.iter().any(|(_, progress)| *progress == Progress::Strange);
        let from = if is_strange { Progress::Replaced } else { Progress::Waiting };
        for (file, (directory, progress)) in self.files.iter().zip(&found) {
            if let Some(directory) = directory.as_ref().filter(|_| *progress == from) {
                file.swap(directory, is_strange)?;
            }
            let path = file.path.display();
            tracing::info!(%path, is_taken_back = is_strange, "finished an interrupted change");
        }
        Ok(())
    }
}

impl IntendedFile {
    fn find(&self, roots: &Roots) -> io::Result<(Option<OwnedFd>, Progress)> {
        let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Ok((None, Progress::Strange));
        };
        let Ok(directory) = roots.open_directory(&names::path_to_text(parent)) else {
            return Ok((None, Progress::Strange));
        };
        let directory = directory.handle;
        let there = hash_of(&directory, name)?;
        let beside = hash_of(&directory, self.temporary.as_ref())?;
        let progress = if there.as_ref() == Some(&self.sha256_after) {
            Progress::Replaced
        } else if there == self.sha256_before && beside.as_ref() == Some(&self.sha256_after) {
            Progress::Waiting
        } else {
            Progress::Strange
        };
        Ok((Some(directory), progress))
    }

    /// Exchanges the file with what lies beside it.
    fn swap(&self, directory: &OwnedFd, is_back: bool) -> io::Result<()> {
        let Some(name) = self.path.file_name() else { return Ok(()) };
        match &self.sha256_before {
            // It was done to its end, and only its intent was left.
            Some(_) if hash_of(directory, self.temporary.as_ref())?.is_none() => return Ok(()),
            Some(_) => {
                renameat_with(directory, &self.temporary, directory, name, RenameFlags::EXCHANGE)?;
                // The file that it replaced belongs to no call any more; a file that was taken back has its
                // own content.
                unlinkat(directory, &self.temporary, AtFlags::empty())?;
            }
            None if is_back => unlinkat(directory, name, AtFlags::empty())?,
            None => renameat_with(directory, &self.temporary, directory, name, RenameFlags::NOREPLACE)?,
        }
        File::from(directory.try_clone()?).sync_all()
    }
}

/// The SHA-256 of a regular file; none if there is none.
fn hash_of(directory: &OwnedFd, name: &std::ffi::OsStr) -> io::Result<Option<String>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match openat(directory, name, flags, Mode::empty()) {
        Ok(file) => Ok(Some(sha256_of_file(&file, || Ok(()))?.0)),
        Err(Errno::NOENT) => Ok(None),
        // A link or something else has taken its place.
        Err(_) => Ok(Some(String::new())),
    }
}

#[cfg(test)]
mod tests;
