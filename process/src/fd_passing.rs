//! Messages of one byte that carry descriptors.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// The most descriptors of a message: a stream and the files of an album.
pub const MOST: usize = 11;

/// Sends a message over a stream socket.
pub fn send(socket: impl AsFd, byte: u8, descriptors: &[BorrowedFd<'_>]) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::NOBUFS);
    }
    sendmsg(socket, &[IoSlice::new(&[byte])], &mut ancillary, SendFlags::NOSIGNAL).map(drop)
}

/// Waits for the next message; none when the other end is closed. The descriptors are closed by an exec.
pub fn receive(socket: impl AsFd) -> rustix::io::Result<Option<(u8, Vec<OwnedFd>)>> {
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
        let descriptors = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        return Ok(Some((byte[0], descriptors.flatten().collect())));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn each_message_arrives_with_its_own_descriptors() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        for byte in [1, 2] {
            let (reader, writer) = std::io::pipe().unwrap();
            (&writer).write_all(&[byte]).unwrap();
            send(&ours, byte, &[reader.as_fd(), writer.as_fd()]).unwrap();
        }
        for byte in [1, 2] {
            let (received, mut descriptors) = receive(&theirs).unwrap().unwrap();
            assert_eq!((received, descriptors.len()), (byte, 2));
            let mut read = [0];
            std::fs::File::from(descriptors.remove(0)).read_exact(&mut read).unwrap();
            assert_eq!(read, [byte]);
        }
        drop(ours);
        assert!(receive(&theirs).unwrap().is_none());
    }
}
