//! Which addresses belong to the public internet, and to nothing that is private, near or special.
//!
//! The tables follow IANA's special-purpose address registries: what they do not call globally reachable is
//! not public. Forms that carry another address are judged by what they carry, or refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 blocks that are not public, with the length of their prefix.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 17] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
    // The services for virtual machines of one cloud, metadata among them.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    (Ipv4Addr::BROADCAST, 32),
];

/// Where IPv6 addresses are public at all.
const PUBLIC_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Blocks in it that are not: protocol assignments with Teredo and benchmarking, documentation, 6to4.
const NOT_PUBLIC_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Whether an address belongs to the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !NOT_PUBLIC_V4
            .iter()
            .any(|(block, length)| address.to_bits() >> (32 - length) == block.to_bits() >> (32 - length)),
        IpAddr::V6(address) => {
            // Mapped, compatible and translated forms of IPv4 lie outside of the public block, so they are
            // refused as a whole.
            is_in(address, PUBLIC_V6) && !NOT_PUBLIC_V6.iter().any(|block| is_in(address, *block))
        }
    }
}

fn is_in(address: Ipv6Addr, (block, length): (Ipv6Addr, u32)) -> bool {
    address.to_bits() >> (128 - length) == block.to_bits() >> (128 - length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(addresses: &str, expected: bool) {
        for address in addresses.split_whitespace() {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn public_addresses_are_public() {
        check("1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.0 172.15.0.1 172.32.0.1", true);
        check("192.0.1.1 192.167.1.1 198.17.255.255 198.20.0.0 223.255.255.255 9.255.255.255", true);
        check("2606:2800:220:1:248:1893:25c8:1946 2a00:1450:4001::1 2001:4860:4860::8888 2620:fe::fe", true);
    }

    #[test]
    fn this_machine_its_networks_and_special_blocks_are_not() {
        check("0.0.0.0 0.1.2.3 127.0.0.1 127.255.255.254 10.0.0.1 172.16.0.1 172.31.255.255", false);
        check("192.168.1.1 169.254.169.254 169.254.1.1 100.64.0.1 100.100.100.200 100.127.255.255", false);
        check("192.0.0.192 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1", false);
        check("224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16", false);
        check(":: ::1 fe80::1 fec0::1 fc00::1 fd00:ec2::254 ff02::1 100::1 2001::1 2001:2::1", false);
        check("2001:20::1 2001:db8::1 2002:7f00:1::1 3fff::1 5f00::1 4000::1", false);
    }

    #[test]
    fn forms_that_carry_an_ipv4_address_are_not_public() {
        check("::ffff:127.0.0.1 ::ffff:8.8.8.8 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::808:808", false);
        check("64:ff9b:1::1 2002:0808:0808::1 2001:0:808:808::1 ::ffff:0:127.0.0.1", false);
    }
}
