//! Notice of changes to the journal, from the kernel.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify;
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;

/// Tells when something in a directory was written or made.
pub(super) struct Watch(AsyncFd<OwnedFd>);

impl Watch {
    /// Watches a directory, since the file in it may not be there yet.
    #[expect(
        deprecated,
        reason = "the safe constructor; the descriptor is owned, so nobody else can close it"
    )]
    pub(super) fn directory(path: &Path) -> io::Result<Self> {
        let descriptor = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC)?;
        let what = inotify::WatchFlags::MODIFY | inotify::WatchFlags::CREATE | inotify::WatchFlags::MOVED_TO;
        inotify::add_watch(&descriptor, path, what)?;
        Ok(Self(AsyncFd::new(descriptor)?))
    }

    /// Resolves when something changed since the last time.
    pub(super) async fn changed(&self) -> io::Result<()> {
        let mut notices = [0_u8; 4096];
        let mut ready = self.0.readable().await?;
        // What changed does not matter, only that it did: read the notices away.
        loop {
            match rustix::io::read(self.0.get_ref(), &mut notices) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        ready.clear_ready();
        Ok(())
    }
}
