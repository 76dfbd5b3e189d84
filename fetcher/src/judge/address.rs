//! The addresses that a name has: all of them must be public, unless private ones are allowed.
//!
//! One private address among public ones refuses the name: any of them could be the one that is asked.

use std::net::SocketAddr;

use process::public_address::is_public;

/// The first address that must not be asked.
pub(crate) fn judge_addresses(addresses: &[SocketAddr], allow_private: bool) -> Result<(), SocketAddr> {
    let private = addresses.iter().find(|address| !allow_private && !is_public(address.ip()));
    private.map_or(Ok(()), |address| Err(*address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_private_address_is_enough_to_refuse() {
        let addresses =
            |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<SocketAddr>>();
        let mixed = addresses(&["93.184.216.34:80", "[::1]:80"]);
        assert_eq!(judge_addresses(&mixed, false), Err(mixed[1]));
        assert_eq!(judge_addresses(&mixed, true), Ok(()));
        assert_eq!(judge_addresses(&mixed[..1], false), Ok(()));
    }
}
