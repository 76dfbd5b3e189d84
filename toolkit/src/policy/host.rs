//! Hosts as rules see them: one name for each, however it is written.
//!
//! An address of IPv6 that carries one of IPv4 leads to both, so it counts as both.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::Host;

/// What a call reaches that names this host: its name or address in the usual form, and the address of IPv4
/// within it.
pub(super) fn meant_by(host: &str) -> Vec<String> {
    match read(host) {
        Some(Host::Domain(name)) => vec![name],
        Some(Host::Ipv4(address)) => vec![address.to_string()],
        Some(Host::Ipv6(address)) => match address.to_ipv4_mapped() {
            Some(mapped) => vec![mapped.to_string()],
            None => {
                let carried = carried_by(address).map(|carried| carried.to_string());
                [address.to_string()].into_iter().chain(carried).collect()
            }
        },
        None => vec![plain(host)],
    }
}

/// A rule's glob of hosts, so that it matches what [`meant_by`] says.
pub(super) fn pattern(glob: &str) -> String {
    match read(glob) {
        Some(Host::Domain(name)) => name,
        Some(Host::Ipv4(address)) => address.to_string(),
        Some(Host::Ipv6(address)) => {
            address.to_ipv4_mapped().map_or_else(|| address.to_string(), |mapped| mapped.to_string())
        }
        None => plain(glob),
    }
}

fn read(host: &str) -> Option<Host> {
    let host = host.trim().trim_end_matches('.');
    // Without brackets no port can follow, so there is nothing to confuse it with.
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => Some(Host::Ipv4(address)),
        Ok(IpAddr::V6(address)) => Some(Host::Ipv6(address)),
        Err(_) => Host::parse(host).ok(),
    }
}

fn plain(host: &str) -> String {
    host.trim().trim_end_matches('.').to_lowercase()
}

/// The address of IPv4 to which a gateway forwards traffic for this one: NAT64 (RFC 6052, 8215), 6to4
/// (RFC 3056), Teredo (RFC 4380), ISATAP (RFC 5214) and the compatible form of RFC 4291.
fn carried_by(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let parts = address.segments();
    let of = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, 1, _, _, _, high, low] => Some(of(high, low)),
        [0x2002, high, low, ..] => Some(of(high, low)),
        [0x2001, 0, .., high, low] => Some(of(!high, !low)),
        [.., 0 | 0x200, 0x5efe, high, low] => Some(of(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) > (0, 1) => Some(of(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_has_one_name_however_it_is_written() {
        for written in [
            "127.0.0.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "::ffff:127.0.0.1", "0x7f000001",
            "2130706433", "017700000001", "127.1", "127.0.0.1.", "0X7F.0.0.0x1",
        ] {
            assert_eq!(meant_by(written), ["127.0.0.1"], "{written}");
            assert_eq!(pattern(written), "127.0.0.1", "{written}");
        }
        for written in [
            "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:1:2:3:4:80ff:fffe]",
            "[fe80::5efe:7f00:1]", "[::7f00:1]",
        ] {
            let meant = meant_by(written);
            assert_eq!((meant.len(), meant[1].as_str()), (2, "127.0.0.1"), "{written}: {meant:?}");
        }
        assert_eq!(meant_by("[::1]"), ["::1"]);
        for written in ["EXAMPLE.com", "example.com.", " Example.Com "] {
            assert_eq!(
                (meant_by(written), pattern(written)),
                (vec!["example.com".to_owned()], "example.com".to_owned())
            );
        }
        assert_eq!(
            (&*meant_by("Bücher.example")[0], &*pattern("*.BÜCHER.example")),
            ("xn--bcher-kva.example", "*.xn--bcher-kva.example")
        );
        for glob in ["*.Example.com", "10.*", "{a,b}.example", "*"] {
            assert_eq!(pattern(glob), glob.to_lowercase());
        }
    }
}
