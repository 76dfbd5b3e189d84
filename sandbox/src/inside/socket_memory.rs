//! The memory of sockets, as the kernel reports it over netlink (`sock_diag`): what was sent and not read
//! yet.

use std::collections::HashSet;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// `SOCK_DIAG_BY_FAMILY`, and the kinds of a message that ends the answer.
const BY_FAMILY: u16 = 20;
const ERROR: u16 = 2;
const DONE: u16 = 3;

/// `NLM_F_REQUEST` and `NLM_F_DUMP`.
const REQUEST_ALL: u16 = 0x301;

const HEADER_BYTES: usize = 16;
const BUFFER_BYTES: usize = 64 << 10;

/// A family of sockets: what to ask, and where its answer has what.
struct Family {
    request: Vec<u8>,
    /// The length of the part of each message that is always the same.
    fixed_bytes: usize,
    inode_at: usize,
    /// The kinds of the attributes with the memory, and with the length of the queue for reading.
    memory: u16,
    queue: Option<u16>,
}

/// The bytes of all sockets of this network namespace; of these only, if they are given by inode.
pub(super) fn bytes_of(only: Option<&HashSet<u64>>) -> u64 {
    families().iter().map(|family| family.bytes(only).unwrap_or(0)).sum()
}

fn families() -> Vec<Family> {
    let internet = [libc::AF_INET, libc::AF_INET6]
        .into_iter()
        .flat_map(|family| [libc::IPPROTO_TCP, libc::IPPROTO_UDP].map(|protocol| (family, protocol)));
    let unix = Family {
        // Family, protocol, padding; all states, any inode, what to show (queue and memory), any cookie.
        request: [
            &[byte(libc::AF_UNIX), 0, 0, 0][..],
            &[0xFF; 4],
            &[0; 4],
            &0x30_u32.to_ne_bytes(),
            &[0xFF; 8],
        ]
        .concat(),
        fixed_bytes: 16,
        inode_at: 4,
        memory: 5,
        queue: Some(4),
    };
    let internet = internet.map(|(family, protocol)| Family {
        // Family, protocol, extension (memory), padding; all states, any socket.
        request: [&[byte(family), byte(protocol), 1 << 6, 0][..], &[0xFF; 4], &[0; 48]].concat(),
        fixed_bytes: 72,
        inode_at: 68,
        memory: 7,
        queue: None,
    });
    [unix].into_iter().chain(internet).collect()
}

fn byte(number: i32) -> u8 {
    u8::try_from(number).unwrap_or(0)
}

impl Family {
    fn bytes(&self, only: Option<&HashSet<u64>>) -> rustix::io::Result<u64> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(netlink::SOCK_DIAG),
        )?;
        let length = u32::try_from(HEADER_BYTES + self.request.len()).unwrap_or(0);
        let header =
            [&length.to_ne_bytes()[..], &BY_FAMILY.to_ne_bytes(), &REQUEST_ALL.to_ne_bytes(), &[0; 8]];
        send(&socket, &[&header.concat()[..], &self.request].concat(), SendFlags::empty())?;
        let (mut in_sockets, mut in_queues) = (0, 0);
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let (length, _) = recv(&socket, &mut buffer[..], RecvFlags::empty())?;
            let mut rest = &buffer[..length];
            while let Some((kind, message, after)) = next_message(rest) {
                if kind == DONE || kind == ERROR {
                    // What a socket that is closed by now has sent counts only where it waits to be read.
                    return Ok(in_queues.max(in_sockets));
                }
                let inode = number(message, self.inode_at);
                if only.is_none_or(|only| only.contains(&u64::from(inode))) {
                    let (memory, queue) = self.memory_of(message);
                    in_sockets += memory;
                    in_queues += queue;
                }
                rest = after;
            }
            if length == 0 {
                return Ok(in_sockets);
            }
        }
    }

    /// What a socket has allocated, and what waits to be read from it.
    fn memory_of(&self, message: &[u8]) -> (u64, u64) {
        let (mut memory, mut queue) = (0, 0);
        let mut rest = message.get(self.fixed_bytes..).unwrap_or_default();
        while let Some((kind, value, after)) = next_attribute(rest) {
            if kind == self.memory {
                // Read buffers, write buffers that are sent or wait, options.
                let [read, sent, waiting, options] =
                    [0, 2, 5, 6].map(|place| u64::from(number(value, place * 4)));
                memory = read + sent.max(waiting) + options;
            } else if Some(kind) == self.queue {
                queue = u64::from(number(value, 0));
            }
            rest = after;
        }
        (memory, queue)
    }
}

/// The kind of the first message, its content, and the bytes after it.
fn next_message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::try_from(u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?)).ok()?;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    Some((
        kind,
        bytes.get(HEADER_BYTES..length)?,
        bytes.get(length.next_multiple_of(4)..).unwrap_or_default(),
    ))
}

fn next_attribute(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
    let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
    Some((kind, bytes.get(4..length)?, bytes.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn what_was_sent_and_not_read_counts() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let inode = |socket: &UnixStream| {
            let handle: std::fs::File = std::os::fd::OwnedFd::from(socket.try_clone().unwrap()).into();
            handle.metadata().unwrap().ino()
        };
        let both = HashSet::from([inode(&ours), inode(&theirs)]);
        assert_eq!(bytes_of(Some(&both)), 0);
        ours.write_all(&[1; 100_000]).unwrap();
        assert!(bytes_of(Some(&both)) >= 100_000);
        assert!(bytes_of(None) >= 100_000);
        drop(ours);
        assert!(bytes_of(Some(&both)) >= 100_000, "its sender is gone");
    }
}
