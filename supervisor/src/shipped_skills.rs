//! The skills that come with the program, and how they get into the data directory: once, whole, and again
//! where a power loss has torn them.
//!
//! A directory of skills belongs to the operator: what was changed or taken away there stays so.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use include_dir::{Dir, DirEntry, include_dir};

static SKILLS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../skills");

/// What each skill begins with.
const FIRST: &str = "SKILL.md";

/// Puts the skills there if there is no such directory yet; else makes whole what was torn.
pub(crate) fn install(skills: &Path) -> io::Result<()> {
    if skills.try_exists()? {
        return SKILLS.dirs().try_for_each(|skill| refill(skills, skill));
    }
    // Complete and on the disk before it has its name, so that a kill or a power loss leaves all or nothing.
    let new = skills.with_extension("new");
    match fs::remove_dir_all(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    write_directory(&new, &SKILLS)?;
    fs::rename(&new, skills)?;
    sync_directory(skills.parent().unwrap_or(Path::new("/")))
}

fn write_directory(at: &Path, directory: &Dir<'_>) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(at)?;
    for entry in directory.entries() {
        let to = at.join(entry.path().file_name().unwrap_or_default());
        match entry {
            DirEntry::Dir(below) => write_directory(&to, below)?,
            DirEntry::File(file) => write_file(&to, file.contents())?,
        }
    }
    sync_directory(at)
}

fn write_file(at: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = File::create(at)?;
    file.write_all(contents)?;
    file.sync_all()
}

fn sync_directory(at: &Path) -> io::Result<()> {
    File::open(at)?.sync_all()
}

/// Writes the files of a skill again that a power loss has torn, and those that are missing, unless the
/// operator has changed the skill.
fn refill(skills: &Path, skill: &Dir<'_>) -> io::Result<()> {
    if !is_directory(&skills.join(skill.path())) {
        return Ok(());
    }
    let of = |name: &str| skill.files().find(|file| file.path().ends_with(name));
    let states = of(FIRST).map(|file| state(&skills.join(file.path()), file.contents())).transpose()?;
    let is_ours = states != Some(State::Other);
    refill_below(skills, skill, is_ours)
}

fn refill_below(skills: &Path, directory: &Dir<'_>, is_ours: bool) -> io::Result<()> {
    for entry in directory.entries() {
        let at = skills.join(entry.path());
        match entry {
            DirEntry::File(file) => match state(&at, file.contents())? {
                State::Torn => replace(&at, file.contents())?,
                State::Missing if is_ours => replace(&at, file.contents())?,
                State::Missing | State::Whole | State::Other => {}
            },
            DirEntry::Dir(below) if is_directory(&at) => refill_below(skills, below, is_ours)?,
            DirEntry::Dir(below) if is_ours && at.symlink_metadata().is_err() => write_directory(&at, below)?,
            DirEntry::Dir(_) => {}
        }
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Whole,
    /// A beginning of it, with zeros or nothing behind: what a file system leaves that lost its power.
    Torn,
    Missing,
    /// The operator's, or of another version.
    Other,
}

fn state(at: &Path, shipped: &[u8]) -> io::Result<State> {
    let found = match at.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::Missing),
        Ok(found) if found.is_file() => fs::read(at)?,
        Ok(_) => return Ok(State::Other),
        Err(error) => return Err(error),
    };
    let end = found.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    Ok(if found == shipped {
        State::Whole
    } else if shipped.starts_with(&found[..end]) && (end < found.len() || end == 0 || !ends_a_line(&found)) {
        State::Torn
    } else {
        State::Other
    })
}

/// A shortened text ends with a line.
fn ends_a_line(text: &[u8]) -> bool {
    text.last() == Some(&b'\n')
}

fn is_directory(at: &Path) -> bool {
    at.symlink_metadata().is_ok_and(|found| found.is_dir())
}

fn replace(at: &Path, contents: &[u8]) -> io::Result<()> {
    let mut name = at.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = at.with_file_name(name);
    write_file(&new, contents)?;
    fs::rename(&new, at)?;
    tracing::warn!(file = %at.display(), "a skill of this program was torn and is written again");
    sync_directory(at.parent().unwrap_or(Path::new("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file of the shipped skills below a directory.
    fn files(directory: &Dir<'static>) -> Vec<(&'static Path, &'static [u8])> {
        directory
            .entries()
            .iter()
            .flat_map(|entry| match entry {
                DirEntry::Dir(below) => files(below),
                DirEntry::File(file) => vec![(file.path(), file.contents())],
            })
            .collect()
    }

    #[test]
    fn whatever_is_torn_becomes_whole_again() {
        let temporary = tempfile::tempdir().unwrap();
        let skills = temporary.path().join("skills");
        install(&skills).unwrap();
        assert!(!skills.with_extension("new").exists());
        let zeros = |shipped: &[u8]| vec![0; shipped.len()];
        let half = |shipped: &[u8]| {
            shipped[..shipped.len() / 2 - usize::from(shipped[shipped.len() / 2 - 1] == b'\n')].to_vec()
        };
        for (path, shipped) in files(&SKILLS) {
            let at = skills.join(path);
            for torn in [Vec::new(), zeros(shipped), half(shipped)] {
                fs::write(&at, torn).unwrap();
                install(&skills).unwrap();
                assert_eq!(fs::read(&at).unwrap(), shipped, "{}", path.display());
            }
            fs::remove_file(&at).unwrap();
            install(&skills).unwrap();
            assert_eq!(fs::read(&at).unwrap(), shipped, "{} was missing", path.display());
        }
    }

    #[test]
    fn what_the_operator_changed_or_took_away_stays_so() {
        let temporary = tempfile::tempdir().unwrap();
        let skills = temporary.path().join("skills");
        install(&skills).unwrap();
        let mut shipped = SKILLS.dirs().map(|skill| skills.join(skill.path()));
        let (changed, gone) = (shipped.next().unwrap(), shipped.next().unwrap());
        fs::write(changed.join(FIRST), "mine\n").unwrap();
        fs::remove_dir_all(&gone).unwrap();
        fs::create_dir(skills.join("own")).unwrap();
        install(&skills).unwrap();
        assert_eq!(fs::read_to_string(changed.join(FIRST)).unwrap(), "mine\n");
        assert!(!gone.exists() && skills.join("own").exists());
        fs::remove_dir_all(&skills).unwrap();
        fs::create_dir(&skills).unwrap();
        install(&skills).unwrap();
        assert_eq!(fs::read_dir(&skills).unwrap().count(), 0, "an empty directory is the operator's");
    }
}
