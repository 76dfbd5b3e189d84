//! The kernel's queue of changes in watched directories (inotify).

use std::ffi::OsString;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::sync::Arc;

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

/// An entry that came, went or was replaced, and a change of the rights to look into a directory. A change of
/// a file's content is none.
const CHANGES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::EXCL_UNLINK);

const BUFFER_BYTES: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Queue {
    inotify: Arc<OwnedFd>,
}

/// What the kernel reports.
pub(super) enum Change {
    /// Something happened to this name in the directory of this watch.
    Entry { watch: i32, name: OsString },
    /// The rights to the directory of this watch may be others than before.
    Rights { watch: i32 },
    /// The watch is gone, with its directory.
    Unwatched { watch: i32 },
    /// There were more changes than the queue holds.
    Overflow,
}

impl Queue {
    pub(super) fn open() -> Result<Self, Errno> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        Ok(Self { inotify: Arc::new(inotify) })
    }

    /// The descriptor, to wait on.
    pub(super) fn descriptor(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.inotify)
    }

    /// Watches an open directory. A directory that is watched already keeps its watch.
    pub(super) fn watch(&self, directory: BorrowedFd<'_>) -> Result<i32, Errno> {
        // By its descriptor, so that no other directory can get between.
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
        inotify::add_watch(&*self.inotify, path, CHANGES)
    }

    pub(super) fn unwatch(&self, watch: i32) {
        // It fails if the directory is gone, and its watch with it.
        let _ = inotify::remove_watch(&*self.inotify, watch);
    }

    /// Hands over everything that happened until now.
    pub(super) fn drain(&self, mut take: impl FnMut(Change)) -> Result<(), Errno> {
        let mut buffer: Vec<u8> = Vec::with_capacity(BUFFER_BYTES);
        let mut reader = Reader::new(self.inotify.as_fd(), buffer.spare_capacity_mut());
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            };
            let (watch, flags) = (event.wd(), event.events());
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                take(Change::Overflow);
            } else if flags.contains(ReadFlags::IGNORED) {
                take(Change::Unwatched { watch });
            } else if flags.contains(ReadFlags::ATTRIB) {
                // If the event of an entry's directory says something, the entry's own watch says it as well.
                if event.file_name().is_none() {
                    take(Change::Rights { watch });
                }
            } else if let Some(name) = event.file_name() {
                let name = OsString::from_vec(name.to_bytes().to_vec());
                take(Change::Entry { watch, name });
            }
        }
    }
}
