//! Backs up the database: a consistent copy, also while the supervisor is running.
//!
//! The copy is written to a temporary file beside the target, checked, and then renamed, so the target is a
//! good backup or does not exist. Existing files are never overwritten. What a killed backup left behind is
//! removed by the next one into the same directory.

use std::fs::{self, DirEntry, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use progress_line::{ProgressLine, Unit};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use serde::Serialize;
use store::queries::{self, QueryError};
use store::sql::Connection;
use store::{kv, open};

use crate::data_dir::DataDir;

/// How the name of an unfinished copy ends.
const UNFINISHED: &str = ".autonous-partial";

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Backup {
    pub file: PathBuf,
    pub bytes: u64,
    pub tasks: i64,
    pub events: i64,
}

#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error(transparent)]
    Look(#[from] QueryError),
    #[error(
        "the database is at {0}: back it up as the other databases of its server, such as with pg_dump, and \
         copy the data directory as files"
    )]
    OnServer(String),
    #[error("{} already exists: choose another name", .0.display())]
    Exists(PathBuf),
    #[error(
        "{} lies in {}, which tools can read and change: every secret of the chats would be theirs. Choose a \
         file outside, such as {}",
        .file.display(), .root.display(), .outside.display()
    )]
    WithinRoot { file: PathBuf, root: PathBuf, outside: PathBuf },
    #[error("could not write {}", .0.display())]
    Write(PathBuf, #[source] io::Error),
    #[error("could not copy the database")]
    Copy(#[source] store::sql::Error),
    #[error("the copy is damaged ({0}) and was deleted; check the database with `supervisor check`")]
    Damaged(String),
}

/// Copies the database to `file`, readable by its owner alone, and checks the copy. `roots` are what tools
/// reach by the settings of this shell; those of the last run are known as well. `progress` shows how far it
/// is.
pub fn backup(
    data: &DataDir,
    roots: &[PathBuf],
    file: &Path,
    progress: &ProgressLine,
) -> Result<Backup, BackupError> {
    if file.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(file.to_owned()));
    }
    let database = data.database();
    if database.file().is_none() {
        return Err(BackupError::OnServer(database.to_string()));
    }
    let source = queries::open(database)?;
    let own = [data.output(), data.skills()];
    let roots: Vec<PathBuf> =
        roots_of_last_run(&source)?.into_iter().chain(roots.iter().cloned()).chain(own).collect();
    refuse_within(&roots, data, file)?;
    remove_abandoned(file.parent().unwrap_or(Path::new("/")));
    let partial = unfinished(file);
    let copied = copy_and_check(&source, &partial, file, progress);
    if copied.is_err() {
        // Only the copy can have this name.
        let _ = fs::remove_file(&partial);
    }
    copied
}

/// What tools reached in the last run.
pub(crate) fn roots_of_last_run(source: &Connection) -> Result<Vec<PathBuf>, QueryError> {
    let roots = kv::get(source, kv::ROOTS)?.unwrap_or_default();
    Ok(roots.lines().map(PathBuf::from).collect())
}

/// Where this process writes a copy until it gets its name.
pub(crate) fn unfinished(copy: &Path) -> PathBuf {
    let name = copy.file_name().unwrap_or_default().to_string_lossy();
    copy.with_file_name(format!(".{name}.{}{UNFINISHED}", std::process::id()))
}

/// Removes unfinished copies, files and directories, without a writer: a writer holds the lock of its copy.
pub(crate) fn remove_abandoned(directory: &Path) {
    let ending_with = |ending: String| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let of_kind = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file() || kind.is_dir());
        let paths = entries.filter(of_kind).map(|entry| entry.path());
        paths.filter(move |path| path.to_string_lossy().ends_with(&ending))
    };
    for copy in ending_with(UNFINISHED.to_owned()) {
        if File::open(&copy).is_ok_and(|file| lock(&file).is_ok()) {
            let _ = if copy.is_dir() { fs::remove_dir_all(&copy) } else { fs::remove_file(&copy) };
        }
    }
    // SQLite's files beside a copy go with it.
    for ending in ["-journal", "-wal", "-shm"] {
        for beside in ending_with(format!("{UNFINISHED}{ending}")) {
            let copy = beside.to_string_lossy().trim_end_matches(ending).to_owned();
            if !Path::new(&copy).exists() {
                let _ = fs::remove_file(&beside);
            }
        }
    }
}

/// Makes the file of a copy, which is marked as being written for as long as it is open.
pub(crate) fn begin(partial: &Path) -> io::Result<File> {
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(partial)?;
    lock(&made)?;
    Ok(made)
}

/// Gives a finished copy its name, for good; fails if a file has it.
pub(crate) fn give_name(partial: &Path, file: &Path) -> io::Result<()> {
    renameat_with(CWD, partial, CWD, file, RenameFlags::NOREPLACE)?;
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()
}

/// Marks a copy as one that is being written, for as long as it is open.
pub(crate) fn lock(copy: &File) -> io::Result<()> {
    Ok(flock(copy, FlockOperation::NonBlockingLockExclusive)?)
}

/// Refuses a file that tools could read, whatever links lead there.
fn refuse_within(roots: &[PathBuf], data: &DataDir, file: &Path) -> Result<(), BackupError> {
    let parent = file.parent().unwrap_or(Path::new("/"));
    let parent = parent.canonicalize().map_err(|error| BackupError::Write(file.to_owned(), error))?;
    for root in roots {
        let real = root.canonicalize().unwrap_or_else(|_| root.clone());
        if parent.starts_with(&real) {
            let name = file.file_name().unwrap_or_default();
            let outside = data.path().join("db").join(name);
            return Err(BackupError::WithinRoot { file: file.to_owned(), root: root.clone(), outside });
        }
    }
    Ok(())
}

fn copy_and_check(
    source: &Connection,
    partial: &Path,
    file: &Path,
    progress: &ProgressLine,
) -> Result<Backup, BackupError> {
    let written = |error| BackupError::Write(file.to_owned(), error);
    let made = begin(partial).map_err(written)?;
    copy(source, partial, progress).map_err(BackupError::Copy)?;
    made.sync_all().map_err(written)?;
    progress.step("Checking the copy");
    let backup = checked(partial, file)?;
    give_name(partial, file).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => BackupError::Exists(file.to_owned()),
        _ => written(error),
    })?;
    Ok(backup)
}

/// How often the size of the copy is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// One statement reads one snapshot, whatever the supervisor commits meanwhile.
fn copy(source: &Connection, partial: &Path, progress: &ProgressLine) -> store::sql::Result<()> {
    let size = "select page_count * page_size from pragma_page_count(), pragma_page_size()";
    let size: i64 = source.query_row(size, [], |row| row.get(0))?;
    progress.step_of("Copying the database", size.unsigned_abs(), Unit::Bytes);
    let (end, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                progress.done(partial.metadata().map_or(0, |facts| facts.len()));
            }
        });
        let copied = source.execute("vacuum into ?1", [partial.display().to_string()]);
        drop(end);
        copied.map(|_| ())
    })
}

fn checked(partial: &Path, file: &Path) -> Result<Backup, BackupError> {
    let copy = open::for_reading(partial).map_err(QueryError::from)?;
    let text = |sql: &str| copy.query_row(sql, [], |row| row.get::<String>(0)).map_err(BackupError::Copy);
    let number = |sql: &str| copy.query_row(sql, [], |row| row.get::<i64>(0)).map_err(BackupError::Copy);
    let integrity = text("pragma integrity_check(1)")?;
    if integrity != "ok" {
        return Err(BackupError::Damaged(integrity));
    }
    let length = partial.metadata().map_err(|error| BackupError::Write(file.to_owned(), error))?;
    Ok(Backup {
        file: file.to_owned(),
        bytes: length.len(),
        tasks: number("select count(*) from inbox")?,
        events: number("select count(*) from events")?,
    })
}
