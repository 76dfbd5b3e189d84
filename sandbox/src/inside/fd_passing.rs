//! Messages that carry descriptors, and no bytes that would have to be trusted.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// What a prepared sandbox gets for its command. A memory file has the job; the last one tells the server
/// whether the program was executed.
pub(crate) const HAND_OVER: usize = 4;

/// The most descriptors of a message.
const MOST: usize = HAND_OVER;

pub(crate) fn send<const COUNT: usize>(
    socket: impl AsFd,
    descriptors: [BorrowedFd<'_>; COUNT],
) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(Errno::NOBUFS);
    }
    sendmsg(socket, &[IoSlice::new(b"+")], &mut ancillary, SendFlags::NOSIGNAL).map(drop)
}

/// Waits for the next message with this number of descriptors; none when the other end is closed.
pub(crate) fn receive<const COUNT: usize>(socket: impl AsFd) -> rustix::io::Result<Option<[OwnedFd; COUNT]>> {
    loop {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0; 1];
        let received =
            recvmsg(&socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC);
        match received {
            Err(Errno::INTR) => continue,
            Err(Errno::CONNRESET) => return Ok(None),
            Err(errno) => return Err(errno),
            Ok(message) if message.bytes == 0 => return Ok(None),
            Ok(_) => {}
        }
        let descriptors: Vec<OwnedFd> = ancillary
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
                _ => None,
            })
            .flatten()
            .collect();
        if let Ok(descriptors) = descriptors.try_into() {
            return Ok(Some(descriptors));
        }
    }
}
