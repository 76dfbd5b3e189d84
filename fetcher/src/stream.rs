//! Messages on a stream socket: their length in four bytes, then the message.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// More than the largest page as text with its links.
const MAX_BYTES: usize = 64 << 20;

pub(crate) fn send(stream: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    bytes = postcard::to_extend(message, bytes).map_err(io::Error::other)?;
    let length = bytes.len() - 4;
    if length > MAX_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let length = u32::try_from(length).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    stream.write_all(&bytes)
}

pub(crate) fn receive<T: DeserializeOwned>(stream: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(io::Error::other)?;
    if length > MAX_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    postcard::from_bytes(&bytes).map_err(io::Error::other)
}

/// Ends this process once the tool server closes its end, which then waits for no answer.
pub(crate) fn end_with(stream: &UnixStream) -> io::Result<()> {
    let watched = stream.try_clone()?;
    let watcher = thread::Builder::new().stack_size(64 << 10).spawn(move || {
        let _ = (&watched).read(&mut [0]);
        process::forked::exit(0)
    });
    watcher.map(drop)
}
