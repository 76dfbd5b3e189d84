//! The archived files of a journal. Each keeps its number for ever, so that a follower can find it again; the
//! hash chain continues from the last line of one file to the first of the next.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use protocol::journal::{archive_name, archive_number};

/// The suffix of the next file until the full one is archived.
const NEXT: &str = "next";

/// The archives of a journal by number; none where the directory does not exist.
pub(super) fn archives(journal: &Path) -> io::Result<BTreeMap<u64, PathBuf>> {
    let mut found = BTreeMap::new();
    let entries = match fs::read_dir(directory(journal)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let number = entry.file_name().to_str().and_then(|file| archive_number(name(journal), file));
        found.extend(number.map(|number| (number, entry.path())));
    }
    Ok(found)
}

/// The number that the journal's current file will get.
pub(super) fn next_number(archives: &BTreeMap<u64, PathBuf>) -> u64 {
    archives.last_key_value().map_or(1, |(number, _)| number + 1)
}

/// Archives the full file and returns a new one, created first: if the disk is full, nothing has changed.
pub(super) fn rotate(journal: &Path) -> io::Result<File> {
    let number = next_number(&archives(journal)?);
    let archive = journal.with_file_name(archive_name(name(journal), number));
    let next = journal.with_file_name(format!("{}.{NEXT}", name(journal)));
    let file = open_own(&next)?;
    file.set_len(0)?;
    fs::rename(journal, &archive)?;
    if let Err(error) = fs::rename(&next, journal) {
        fs::rename(&archive, journal)?;
        return Err(error);
    }
    File::open(directory(journal))?.sync_all()?;
    Ok(file)
}

/// Opens the journal's current file, and creates it when it is missing.
pub(super) fn open_own(journal: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(journal)
}

fn directory(journal: &Path) -> &Path {
    journal.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn name(journal: &Path) -> &str {
    journal.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}
