//! An address at which nothing listens.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::{SocketAddr, TcpListener};

/// One that is free now, with a port of those that the kernel gives to no program: what asks for any port, in
/// another test, does not get it.
pub fn free_address() -> SocketAddr {
    let random = std::iter::repeat_with(|| RandomState::new().build_hasher().finish() % 20_000);
    let ports = random.take(1000).filter_map(|number| u16::try_from(number + 10_000).ok());
    let mut addresses = ports.map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    addresses.find(|address| TcpListener::bind(address).is_ok()).expect("a port is free")
}
