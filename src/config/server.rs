//! `[server]`

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

/// Where the gateway listens and how it stops.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Address and port to listen on; port 0 takes a free one. Always loopback while no auth is configured.
    #[serde(deserialize_with = "bind")]
    #[schemars(with = "String")]
    pub bind: SocketAddr,
    /// How long a stop waits for turns to reach a safe point, in milliseconds; 0 does not wait.
    #[schemars(range(max = 600_000))]
    pub drain_ms: u64,
}

/// Whether requests to this address can come from this machine only, and name it as a host that is served without auth.
pub fn is_this_machine(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST))
}

impl Server {
    /// As a client on this machine reaches it; `port` is the one that is listened on.
    pub fn from_here(&self, port: u16) -> SocketAddr {
        let ip = match self.bind.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
        };
        SocketAddr::new(ip, port)
    }
}

/// Reads `ip:port` or `localhost:port`. No other name is looked up: what it stands for could change between two starts.
pub(super) fn parse_bind(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        Some(port) => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse().ok()?))),
        None => text.parse().ok(),
    }
}

fn bind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_bind(&text).ok_or_else(|| de::Error::custom("not an address and port"))
}
