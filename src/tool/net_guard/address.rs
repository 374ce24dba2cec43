//! Which addresses are public: anybody on the internet may run a host there, and nobody's private network does.
//!
//! IPv4 is the whole space less what the registry names; IPv6 is the one block that is given out to networks, less what the registry names
//! in it. Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, RFC 8190) and IPv6 Global Unicast Address
//! Assignments. Anycast services that the registries call globally reachable within a refused block (port control, AS112) are no web hosts,
//! and are refused with it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// IPv4 networks that are not public, and what each is.
const NOT_PUBLIC_V4: [(Ipv4Net, &str); 16] = [
    (v4([0, 0, 0, 0], 8), "this network"),
    (v4([10, 0, 0, 0], 8), "private"),
    // carriers' own networks; some clouds keep their metadata service in it, as 100.100.100.200
    (v4([100, 64, 0, 0], 10), "shared address space"),
    (v4([127, 0, 0, 0], 8), "loopback"),
    // what answers inside Azure's machines, on an address that is public by its number
    (v4([168, 63, 129, 16], 32), "a cloud's own service"),
    // with 169.254.169.254, the metadata service of most clouds
    (v4([169, 254, 0, 0], 16), "link-local"),
    (v4([172, 16, 0, 0], 12), "private"),
    (v4([192, 0, 0, 0], 24), "reserved for protocols"),
    (v4([192, 0, 2, 0], 24), "for documentation"),
    (v4([192, 88, 99, 0], 24), "reserved for protocols"),
    (v4([192, 168, 0, 0], 16), "private"),
    (v4([198, 18, 0, 0], 15), "for benchmarks"),
    (v4([198, 51, 100, 0], 24), "for documentation"),
    (v4([203, 0, 113, 0], 24), "for documentation"),
    (v4([224, 0, 0, 0], 4), "multicast"),
    // with 255.255.255.255, the broadcast
    (v4([240, 0, 0, 0], 4), "reserved"),
];

/// The block that IPv6 networks have their addresses from. All else is loopback, link-local, private, multicast or not given out.
const GLOBAL_V6: Ipv6Net = v6([0x2000, 0, 0], 3);

/// Networks within [`GLOBAL_V6`] that are not public, and what each is.
const NOT_PUBLIC_V6: [(Ipv6Net, &str); 4] = [
    // with 2001::/32, Teredo, which holds an IPv4 address of the sender's choice
    (v6([0x2001, 0, 0], 23), "reserved for protocols"),
    (v6([0x2001, 0xdb8, 0], 32), "for documentation"),
    // holds an IPv4 address of the sender's choice, and no host of today is reached by it
    (v6([0x2002, 0, 0], 16), "6to4"),
    (v6([0x3fff, 0, 0], 20), "for documentation"),
];

/// The well-known prefix under which a network without IPv4 reaches IPv4 hosts (RFC 6052): the last four bytes are the address that is meant.
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0], 96);

/// What an address is that is not public; `None` for a public one. An IPv4 address that is written as IPv6, mapped or by NAT64's well-known
/// prefix, is judged as the IPv4 address.
pub fn not_public(address: IpAddr) -> Option<&'static str> {
    match address.to_canonical() {
        IpAddr::V4(address) => NOT_PUBLIC_V4.iter().find(|(net, _)| net.contains(&address)).map(|(_, what)| *what),
        IpAddr::V6(address) if NAT64.contains(&address) => not_public(IpAddr::V4(embedded(address))),
        IpAddr::V6(address) if !GLOBAL_V6.contains(&address) => Some("not global"),
        IpAddr::V6(address) => NOT_PUBLIC_V6.iter().find(|(net, _)| net.contains(&address)).map(|(_, what)| *what),
    }
}

fn embedded(address: Ipv6Addr) -> Ipv4Addr {
    let [.., a, b, c, d] = address.octets();
    Ipv4Addr::new(a, b, c, d)
}

const fn v4(octets: [u8; 4], prefix: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]), prefix)
}

const fn v6(head: [u16; 3], prefix: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(head[0], head[1], head[2], 0, 0, 0, 0, 0), prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edges_of_each_network() {
        let table = [
            ("0.255.255.255", "1.0.0.0"),
            ("10.0.0.0", "9.255.255.255"),
            ("10.255.255.255", "11.0.0.0"),
            ("100.64.0.0", "100.63.255.255"),
            ("100.127.255.255", "100.128.0.0"),
            ("127.255.255.255", "128.0.0.0"),
            ("168.63.129.16", "168.63.129.17"),
            ("169.254.169.254", "169.253.255.255"),
            ("172.31.255.255", "172.32.0.0"),
            ("172.16.0.0", "172.15.255.255"),
            ("192.0.0.192", "192.0.1.0"),
            ("192.0.2.1", "192.0.3.0"),
            ("192.88.99.1", "192.88.98.255"),
            ("192.168.255.255", "192.169.0.0"),
            ("198.19.255.255", "198.20.0.0"),
            ("198.51.100.7", "198.51.101.0"),
            ("203.0.113.9", "203.0.114.0"),
            ("224.0.0.1", "223.255.255.255"),
            ("255.255.255.255", "8.8.8.8"),
            ("::", "2606:4700::1111"),
            ("::1", "2400::1"),
            ("::7f00:1", "2a00:1450::8"),
            ("::ffff:10.0.0.1", "::ffff:8.8.8.8"),
            ("64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8"),
            ("64:ff9b:1::8.8.8.8", "2600::1"),
            ("::ffff:0:127.0.0.1", "2001:200::1"),
            ("100::1", "2c0f::1"),
            ("2001:0:7f00:1::", "2001:470::1"),
            ("2001:2::1", "2001:4860::8888"),
            ("2001:db8::1", "2001:db9::1"),
            ("2002:7f00:1::", "2003::1"),
            ("2002:808:808::", "2620:4f:8000::1"),
            ("3fff:fff::1", "3fff:1000::1"),
            ("5f00::1", "3ffe::1"),
            ("fc00::1", "2606::1"),
            ("fd00:ec2::254", "2607::1"),
            ("fe80::1", "2801::1"),
            ("fec0::1", "2a02::1"),
            ("ff02::1", "2a0f::1"),
        ];
        for (private, public) in table {
            assert!(not_public(private.parse().unwrap()).is_some(), "{private}");
            assert_eq!(not_public(public.parse().unwrap()), None, "{public}");
        }
    }
}
