//! The one message from server to spawner: four descriptors, and no bytes that would have to be trusted.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// The descriptors that a monitor gets for one command.
#[derive(Debug)]
pub(super) struct CommandRequest {
    pub(super) job: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    /// Takes the reports; when the server closes its end, the command ends.
    pub(super) control: OwnedFd,
}

/// Sends job, stdout, stderr and control, in this order.
pub(crate) fn send(socket: &OwnedFd, descriptors: [BorrowedFd<'_>; 4]) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(4))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(Errno::NOBUFS);
    }
    sendmsg(socket, &[IoSlice::new(b"+")], &mut ancillary, SendFlags::NOSIGNAL).map(drop)
}

/// The next request; none when the server is gone.
pub(super) fn receive(socket: &OwnedFd) -> rustix::io::Result<Option<CommandRequest>> {
    loop {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(4))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0; 1];
        let received =
            recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC);
        match received {
            Err(Errno::INTR) => continue,
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
        if let Ok([job, stdout, stderr, control]) = <[OwnedFd; 4]>::try_from(descriptors) {
            return Ok(Some(CommandRequest { job, stdout, stderr, control }));
        }
    }
}
