//! From a host to a connection: its name is resolved once, every address is judged, and the connection goes
//! to one of the judged addresses. Nothing resolves the name a second time.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use process::confinement::lost_resolver;
use tokio::net::{TcpStream, lookup_host};
use url::{Host, Url};

use crate::judge::{blocked, is_loopback_name, judge_addresses};
use crate::messages::FetchError;

/// How long one of several addresses may take.
const EACH: Duration = Duration::from_secs(10);

/// How many addresses are tried.
const TRIED: usize = 6;

/// The addresses of a host, all of them judged.
pub(crate) async fn judged_addresses(url: &Url, allow_private: bool) -> Result<Vec<SocketAddr>, FetchError> {
    let port = url.port_or_known_default().unwrap_or(80);
    let addresses = match url.host() {
        Some(Host::Ipv4(address)) => vec![SocketAddr::new(IpAddr::V4(address), port)],
        Some(Host::Ipv6(address)) => vec![SocketAddr::new(IpAddr::V6(address), port)],
        Some(Host::Domain(name)) => resolve(name, port).await?,
        None => return Err(FetchError::Invalid("The address has no host.".to_owned())),
    };
    judge_addresses(&addresses, allow_private).map_err(|address| {
        blocked(url.as_str(), format!("its host has the address {}, which is not public", address.ip()))
    })?;
    Ok(addresses)
}

const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

async fn resolve(name: &str, port: u16) -> Result<Vec<SocketAddr>, FetchError> {
    let name = name.trim_end_matches('.');
    if is_loopback_name(name) {
        return Ok(LOOPBACK.map(|address| SocketAddr::new(address, port)).to_vec());
    }
    // The final dot keeps the resolver from trying the machine's search domains.
    let whole = if name.contains('.') { format!("{name}.") } else { name.to_owned() };
    let found: io::Result<Vec<SocketAddr>> = lookup_host((whole.as_str(), port)).await.map(Iterator::collect);
    match found {
        Ok(addresses) if !addresses.is_empty() => Ok(addresses),
        Ok(_) | Err(_) if lost_resolver() => Err(FetchError::Unreachable(
            "/etc/resolv.conf was replaced since the tool server started; it must be restarted.".to_owned(),
        )),
        Ok(_) | Err(_) => Err(FetchError::NoSuchHost(name.to_owned())),
    }
}

/// A connection to the first of the addresses that answers.
pub(crate) async fn connect(addresses: &[SocketAddr]) -> Result<TcpStream, FetchError> {
    let mut last = None;
    for address in addresses.iter().take(TRIED) {
        match tokio::time::timeout(EACH, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = Some((address, error.to_string())),
            Err(_) => last = Some((address, "no answer".to_owned())),
        }
    }
    let (address, why) = last.map_or_else(Default::default, |(address, why)| (address.to_string(), why));
    Err(FetchError::Unreachable(format!("Cannot connect to {address}: {why}.")))
}
