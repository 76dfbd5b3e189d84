//! `ls`: the entries of a directory, sorted, page by page.
//!
//! Directories are walked by handle and links are never followed. Entries are sorted by the bytes of the
//! shown path, a directory's ending in `/`. That is also the order of a walk, so a page can start after any
//! path without walking what comes before it, and needs the memory of one page whatever the directory's size.

use std::collections::BinaryHeap;
use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use files::change::{mtime_ms, size_bytes};
use files::roots::{Opened, Roots, is_public_at, may_be_certificate, names, open_child_directory};
use jiff::Timestamp;
use protocol::{Annotations, ErrorCode, Risk, ToolError};
use rustix::fs::{AtFlags, RawDir, Stat, statat};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolkit::policy::{TouchedPath, Touches};
use toolkit::{Call, Outcome, Page, PathText, Scope, Slot, Success, Tool, names_no_files};

use crate::cursor;
use crate::entry_type::EntryType;
use crate::search::{self, MAX_DEPTH, Skipped};
use crate::tool_context::ToolContext;

/// How many entries are read between two checks of the deadline.
const ENTRIES_PER_CHECK: usize = 4096;

/// Lists a directory, sorted; directories end in `/`.
///
/// # Details
///
/// Paths of a recursive list are relative to the listed directory. If there is more, the result has
/// `next_page_cursor`: call again with the same arguments and that `cursor`. Links are shown and not
/// followed. Names with control characters or invalid UTF-8 are shown escaped, and every tool accepts them in
/// that form.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LsArguments {
    /// The directory, absolute or relative to the first root.
    #[serde(default = "super::first_root")]
    path: PathText,
    /// The whole tree.
    #[serde(default)]
    recursive: bool,
    /// The maximum number of entries per page.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100_000))]
    limit: usize,
    /// Whether to list names that begin with a dot.
    #[serde(default)]
    include_hidden: bool,
    /// Whether each line begins with the type, the size in bytes and the time of the last change (UTC).
    #[serde(default)]
    long: bool,
    /// The `next_page_cursor` of the page before.
    #[serde(default)]
    cursor: Option<String>,
}

const fn default_limit() -> usize {
    200
}

/// The entries of one page, in the order of `stdout`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct LsData {
    /// One per line.
    entries: Vec<Entry>,
}

/// One entry of a directory.
#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    /// The path below the listed directory, as shown, without the `/` of a directory.
    name: String,
    /// What it is; a link is never followed.
    #[serde(rename = "type")]
    entry_type: EntryType,
    /// Its size in bytes; for a directory, what the file system reports.
    size_bytes: u64,
    /// When its content last changed, in milliseconds since the Unix epoch.
    mtime_ms: i64,
}

pub(crate) struct Ls(pub(super) ToolContext);

impl Tool for Ls {
    type Arguments = LsArguments;
    type Data = LsData;
    const NAME: &'static str = "ls";
    const RISK: Risk = Risk::Low;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const SLOT: Slot = Slot::File;
    const ESSENTIAL: &'static [&'static str] = &["path", "recursive"];
    const QUICK: bool = true;

    fn example(&self) -> Value {
        json!({"path": "."})
    }

    fn touches(&self, arguments: &Value, scope: &Scope) -> Touches {
        // A list of names alone shows nothing of a directory's entries.
        let reads_below = arguments["recursive"] == true;
        Touches { reads_below, ..self.0.touches(arguments, scope) }
    }

    names_no_files!();

    fn run(&self, arguments: LsArguments, call: &Call) -> Outcome<LsData> {
        let roots = self.0.workspaces.of(&call.scope)?;
        let directory = roots.open_directory(&arguments.path)?;
        let listed = format!(
            "ls {} {} {}",
            names::path_to_text(&directory.path),
            arguments.recursive,
            arguments.include_hidden
        );
        let after = arguments.cursor.as_deref().map(|cursor| cursor::decode(&listed, cursor)).transpose()?;
        let mut listing = Listing {
            roots: &roots,
            root: roots.operator_root(&directory),
            call,
            recursive: arguments.recursive,
            include_hidden: arguments.include_hidden,
            long: arguments.long,
            after,
            page: Page::new(arguments.limit, call.bounds),
            entries: Vec::new(),
            last: Vec::new(),
            skipped: Skipped::default(),
        };
        listing.list(directory.handle.as_fd(), &roots.path_in_rules(&directory), &mut Vec::new(), 0)?;
        Ok(listing.into_output(&listed, &directory))
    }
}

/// The first keys of a directory in their order, at most as many as a page needs.
struct FirstKeys {
    keys: BinaryHeap<Vec<u8>>,
    most: usize,
    /// Whether the directory has no others.
    are_all: bool,
}

impl FirstKeys {
    fn new(most: usize) -> Self {
        Self { keys: BinaryHeap::new(), most, are_all: true }
    }

    /// Whether a key is among the first so far. If it is not, these are not all.
    fn may_take(&mut self, key: &[u8]) -> bool {
        let comes_later =
            self.keys.len() == self.most && self.keys.peek().is_some_and(|largest| key >= largest.as_slice());
        self.are_all &= !comes_later;
        !comes_later
    }

    /// Takes a key, and drops the largest where there are too many.
    fn take(&mut self, key: Vec<u8>) {
        self.keys.push(key);
        if self.keys.len() > self.most {
            self.keys.pop();
            self.are_all = false;
        }
    }
}

struct Listing<'a> {
    roots: &'a Roots,
    /// The path of the root that is listed.
    root: PathBuf,
    call: &'a Call,
    recursive: bool,
    include_hidden: bool,
    long: bool,
    /// The last path of the page before.
    after: Option<Vec<u8>>,
    page: Page,
    entries: Vec<Entry>,
    /// The last path of this page.
    last: Vec<u8>,
    skipped: Skipped,
}

impl Listing<'_> {
    /// Adds a directory's entries; false when the page is full.
    fn list(
        &mut self,
        directory: BorrowedFd<'_>,
        beneath: &Path,
        prefix: &mut Vec<u8>,
        depth: usize,
    ) -> Result<bool, ToolError> {
        let (keys, all) = self.first_entries(directory, beneath, prefix)?;
        for key in keys {
            let name = OsStr::from_bytes(key.strip_suffix(b"/").unwrap_or(&key));
            let start = prefix.len();
            prefix.extend_from_slice(&key);
            let goes_on = self.add(directory, name, prefix)?
                && (!self.recursive
                    || !key.ends_with(b"/")
                    || self.descend(directory, name, &beneath.join(name), prefix, depth + 1)?);
            prefix.truncate(start);
            if !goes_on {
                return Ok(false);
            }
        }
        if !all {
            // Entries were deleted while we listed them, so the page has room left.
            self.page.close();
        }
        Ok(all)
    }

    /// Adds one entry, unless an earlier page had it; false when the page is full.
    fn add(&mut self, directory: BorrowedFd<'_>, name: &OsStr, path: &[u8]) -> Result<bool, ToolError> {
        if self.after.as_deref().is_some_and(|after| path <= after) {
            return Ok(true);
        }
        let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => {
                self.last = path.to_vec();
                return Ok(true);
            }
            Err(errno) => return Err(unreadable(path, errno)),
        };
        let mut name = names::to_text(path);
        let was_added =
            if self.long { self.page.push(&long_line(&name, &stat)) } else { self.page.push(&name) };
        if !was_added {
            return Ok(false);
        }
        if name.ends_with('/') {
            name.pop();
        }
        self.entries.push(Entry {
            name,
            entry_type: EntryType::of(&stat),
            size_bytes: size_bytes(&stat),
            mtime_ms: mtime_ms(&stat),
        });
        self.last.clear();
        self.last.extend_from_slice(path);
        Ok(true)
    }

    fn descend(
        &mut self,
        parent: BorrowedFd<'_>,
        name: &OsStr,
        beneath: &Path,
        prefix: &mut Vec<u8>,
        depth: usize,
    ) -> Result<bool, ToolError> {
        if depth > MAX_DEPTH {
            self.skipped.too_deep = true;
            return Ok(true);
        }
        match open_child_directory(parent, name) {
            Ok(child) => self.list(child.as_fd(), beneath, prefix, depth),
            // It was removed or replaced by a link since we read its parent.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(true),
            Err(Errno::ACCESS | Errno::PERM) => {
                self.skipped.unreadable.add(names::to_text(prefix));
                Ok(true)
            }
            Err(errno) => Err(unreadable(prefix, errno)),
        }
    }

    /// The first sorted entries that this page may need, and whether these are all; directories end in `/`.
    fn first_entries(
        &mut self,
        directory: BorrowedFd<'_>,
        beneath: &Path,
        prefix: &[u8],
    ) -> Result<(Vec<Vec<u8>>, bool), ToolError> {
        // The part of the cursor's path below `prefix`, if it is there.
        let after = self.after.as_deref().and_then(|after| after.strip_prefix(prefix)).map(<[u8]>::to_vec);
        // One more than fits shows that there is another page, and one may only lead to what the page shows.
        let mut first = FirstKeys::new(self.page.room() + 2);
        let mut buffer = [MaybeUninit::uninit(); 32 * 1024];
        let mut entries = RawDir::new(directory, &mut buffer);
        let mut key = Vec::new();
        let mut seen: usize = 0;
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(|errno| unreadable(prefix, errno))?;
            seen += 1;
            if seen.is_multiple_of(ENTRIES_PER_CHECK) {
                self.call.check()?;
            }
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." || self.skips_hidden(name) {
                continue;
            }
            key.clear();
            key.extend_from_slice(name);
            if EntryType::listed(directory, name, entry.file_type()) == EntryType::Dir {
                key.push(b'/');
            }
            if after.as_deref().is_some_and(|after| self.was_shown(&key, after)) {
                continue;
            }
            if first.may_take(&key) && !self.withholds(directory, beneath, name) {
                first.take(key.clone());
            }
        }
        Ok((first.keys.into_sorted_vec(), first.are_all))
    }

    /// Whether an entry is not listed because its name is denied or a rule hides it.
    fn withholds(&mut self, directory: BorrowedFd<'_>, beneath: &Path, name: &[u8]) -> bool {
        let denied = self.roots.denied();
        let is_denied = denied.may_cover_name(name)
            && denied.covers_entry(&beneath.join(OsStr::from_bytes(name)))
            && !(may_be_certificate(name) && is_public_at(directory, OsStr::from_bytes(name)));
        if is_denied {
            self.skipped.denied = true;
            return true;
        }
        let is_hidden = self.call.hides(|| {
            let beneath = beneath.join(OsStr::from_bytes(name));
            TouchedPath { path: self.root.join(&beneath), beneath }
        });
        self.skipped.against_rules |= is_hidden;
        is_hidden
    }

    /// Whether earlier pages had this entry and everything below. At most one directory leads to new entries.
    fn was_shown(&self, key: &[u8], after: &[u8]) -> bool {
        let leads_on = self.recursive && key.ends_with(b"/") && after.starts_with(key);
        key <= after && !leads_on
    }

    fn skips_hidden(&mut self, name: &[u8]) -> bool {
        let is_skipped = !self.include_hidden && name.starts_with(b".");
        self.skipped.hidden += u64::from(is_skipped);
        is_skipped
    }

    fn into_output(self, listed: &str, directory: &Opened) -> Success<LsData> {
        let shown = format!("{} entries", self.page.lines());
        let last = self.last;
        let next = || cursor::encode(listed, &last);
        let data = LsData { entries: self.entries };
        let mut output = search::output(self.page, data, &shown, next, &self.skipped, None);
        output.notices.extend(names::escape_notice(&output.stdout));
        Success { path_resolved: Some(names::path_to_text(&directory.path)), ..output }
    }
}

fn long_line(name: &str, stat: &Stat) -> String {
    let entry_type = match EntryType::of(stat) {
        EntryType::File => "file",
        EntryType::Dir => "dir",
        EntryType::Symlink => "symlink",
        EntryType::Other => "other",
    };
    // A time that is no date is a file system's mistake, and no reason to hide the entry.
    let changed = Timestamp::from_millisecond(mtime_ms(stat)).unwrap_or_default();
    format!("{entry_type:<7} {:>10} {}  {name}", size_bytes(stat), changed.strftime("%Y-%m-%d %H:%M:%S"))
}

fn unreadable(path: &[u8], errno: Errno) -> ToolError {
    let shown = PathBuf::from(names::to_text(path));
    tracing::error!(path = %shown.display(), %errno, "could not read a directory");
    ToolError::new(ErrorCode::IoError, format!("Could not read all of the directory {shown:?}."))
}
