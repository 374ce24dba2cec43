//! `[server]`

use std::net::{Ipv4Addr, SocketAddr};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

/// Where the gateway listens and how it stops.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Address and port to listen on; port 0 takes a free one. Always loopback while there is no auth.
    #[serde(deserialize_with = "bind")]
    #[schemars(with = "String")]
    pub bind: SocketAddr,
    /// How long a stop waits for turns to reach a safe point, in milliseconds; 0 does not wait.
    #[schemars(range(max = 600_000))]
    pub drain_ms: u64,
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
