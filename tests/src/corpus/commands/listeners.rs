//! Listeners on the machine that no command may reach: whatever arrives there got out of the sandbox.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

#[derive(Debug)]
pub struct Listeners {
    server: TcpListener,
    supervisor: TcpListener,
    udp: UdpSocket,
    unix: UnixDatagram,
}

impl Listeners {
    pub fn listen(path: &Path) -> std::io::Result<Self> {
        let any_port = (Ipv4Addr::LOCALHOST, 0);
        let listeners = Self {
            server: TcpListener::bind(any_port)?,
            supervisor: TcpListener::bind(any_port)?,
            udp: UdpSocket::bind(any_port)?,
            unix: UnixDatagram::bind(path)?,
        };
        listeners.server.set_nonblocking(true)?;
        listeners.supervisor.set_nonblocking(true)?;
        listeners.udp.set_nonblocking(true)?;
        listeners.unix.set_nonblocking(true)?;
        Ok(listeners)
    }

    pub fn ports(&self) -> std::io::Result<[(&'static str, u16); 3]> {
        Ok([
            ("{PORT}", self.server.local_addr()?.port()),
            ("{SUPERVISOR_PORT}", self.supervisor.local_addr()?.port()),
            ("{UDP_PORT}", self.udp.local_addr()?.port()),
        ])
    }

    pub fn received_nothing(&self) -> Result<(), String> {
        nothing("the server's port", self.server.accept())?;
        nothing("the supervisor's port", self.supervisor.accept())?;
        nothing("the UDP port", self.udp.recv(&mut [0; 64]))?;
        nothing("the socket in the file tree", self.unix.recv(&mut [0; 64]))
    }
}

fn nothing<T>(place: &str, arrival: std::io::Result<T>) -> Result<(), String> {
    match arrival {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(format!("{place}: {error}")),
        Ok(_) => Err(format!("something arrived at {place}")),
    }
}
