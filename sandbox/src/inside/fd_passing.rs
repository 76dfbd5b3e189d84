//! Messages that carry a known number of descriptors, and no byte that would have to be trusted.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What a prepared sandbox gets for its command. A memory file has the job; the last but one takes what the
/// server gets of it, and the last tells the server whether the program was executed.
pub(crate) const HAND_OVER: usize = 6;

pub(crate) fn send<const COUNT: usize>(
    socket: impl AsFd,
    descriptors: [BorrowedFd<'_>; COUNT],
) -> rustix::io::Result<()> {
    process::fd_passing::send(socket, b'+', &descriptors)
}

/// Waits for the next message with this number of descriptors; none when the other end is closed.
pub(crate) fn receive<const COUNT: usize>(socket: impl AsFd) -> rustix::io::Result<Option<[OwnedFd; COUNT]>> {
    while let Some((_, descriptors)) = process::fd_passing::receive(&socket)? {
        if let Ok(descriptors) = descriptors.try_into() {
            return Ok(Some(descriptors));
        }
    }
    Ok(None)
}
