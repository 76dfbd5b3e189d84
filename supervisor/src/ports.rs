//! The ports this process binds: its control port, and the one it passes to the tool server.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

#[derive(Debug)]
pub struct Port {
    /// The socket, in non-blocking mode.
    pub listener: TcpListener,
    /// Its address, with the port that was chosen for port 0.
    pub address: SocketAddr,
}

/// A port could not be bound: its variable and address.
#[derive(Debug, thiserror::Error)]
#[error("{0}: cannot bind {1}")]
pub struct PortError(&'static str, SocketAddr, #[source] io::Error);

impl Port {
    /// Binds the address of the variable `name`.
    pub(crate) fn open(name: &'static str, wanted: SocketAddr) -> Result<Self, PortError> {
        bind(wanted).map_err(|error| PortError(name, wanted, error))
    }

    pub(crate) fn url(&self) -> String {
        let ip = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        format!("http://{}", SocketAddr::new(ip, self.address.port()))
    }

    /// The socket for this process's own use.
    pub(crate) fn into_async(self) -> Result<(tokio::net::TcpListener, SocketAddr), PortError> {
        let address = self.address;
        let listener = tokio::net::TcpListener::from_std(self.listener);
        Ok((listener.map_err(|error| PortError("the control port", address, error))?, address))
    }
}

fn bind(wanted: SocketAddr) -> io::Result<Port> {
    let listener = TcpListener::bind(wanted)?;
    listener.set_nonblocking(true)?;
    http_port::prepare(&listener)?;
    let address = listener.local_addr()?;
    Ok(Port { listener, address })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_names_its_variable_and_its_address() {
        let first = Port::open("A", "127.0.0.1:0".parse().unwrap()).unwrap();
        let error = Port::open("AUTONOUS_CONTROL_LISTEN", first.address).unwrap_err().to_string();
        assert!(
            error.contains("AUTONOUS_CONTROL_LISTEN") && error.contains(&first.address.to_string()),
            "{error}"
        );
    }

    #[test]
    fn a_port_on_all_addresses_is_reached_by_loopback() {
        let port = Port::open("A", "0.0.0.0:0".parse().unwrap()).unwrap();
        assert_eq!(port.url(), format!("http://127.0.0.1:{}", port.address.port()));
    }
}
