//! Whether the journal's disk has room for a record, without writing one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate, fstatvfs};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The room that most records find enough.
const BYTES: u64 = 4096;

/// Looks at the free space, and reserves the room for a record behind the end of the file, which does not
/// change the file and fails for other reasons as well, such as a quota. Where the file system reserves
/// nothing, a file beside the journal is written and removed.
pub(super) fn try_out(journal: &Path, file: &File, length: u64) -> io::Result<()> {
    if free_bytes(file)? < BYTES {
        return Err(Errno::NOSPC.into());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, length, BYTES) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_beside(journal),
        reserved => Ok(reserved?),
    }
}

/// What this user can still write; only root gets at the last blocks of some file systems.
fn free_bytes(file: &File) -> io::Result<u64> {
    let space = fstatvfs(file)?;
    let blocks = if geteuid().is_root() { space.f_bfree } else { space.f_bavail };
    Ok(blocks.saturating_mul(space.f_frsize))
}

fn write_beside(journal: &Path) -> io::Result<()> {
    let mut path = journal.as_os_str().to_owned();
    path.push(".room");
    let path = PathBuf::from(path);
    let file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&path);
    let bytes = vec![0; usize::try_from(BYTES).map_err(io::Error::other)?];
    let written = file.and_then(|mut file| file.write_all(&bytes));
    written.and(fs::remove_file(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trying_leaves_the_journal_as_it_is_and_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        fs::write(&path, "{}\n").unwrap();
        let file = OpenOptions::new().append(true).open(&path).unwrap();
        for _ in 0..3 {
            try_out(&path, &file, 3).unwrap();
            write_beside(&path).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.jsonl");
        fs::write(&path, "{}\n").unwrap();
        try_out(&path, &File::open(&path).unwrap(), 3).unwrap_err();
        write_beside(Path::new("/dev/full/a.jsonl")).unwrap_err();
    }
}
