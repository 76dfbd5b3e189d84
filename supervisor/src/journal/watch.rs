//! Notifications from the kernel when the journal changes.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify;
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;

/// Reports that something in a directory was written or created.
pub(super) struct Watch(AsyncFd<OwnedFd>);

impl Watch {
    /// Watches a directory, because the file in it may not exist yet.
    #[expect(
        deprecated,
        reason = "the safe constructor; the descriptor is owned, so nobody else can close it"
    )]
    pub(super) fn directory(path: &Path) -> io::Result<Self> {
        let descriptor = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC)?;
        let what = inotify::WatchFlags::MODIFY
            | inotify::WatchFlags::CREATE
            | inotify::WatchFlags::DELETE
            | inotify::WatchFlags::MOVED_FROM
            | inotify::WatchFlags::MOVED_TO;
        inotify::add_watch(&descriptor, path, what)?;
        Ok(Self(AsyncFd::new(descriptor)?))
    }

    /// Resolves when something has changed since the last call.
    pub(super) async fn changed(&self) -> io::Result<()> {
        let mut notifications = [0_u8; 4096];
        let mut ready = self.0.readable().await?;
        // It does not matter what changed: discard the notifications.
        loop {
            match rustix::io::read(self.0.get_ref(), &mut notifications) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        ready.clear_ready();
        Ok(())
    }
}
