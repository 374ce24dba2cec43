//! The local administrator: a request is the administrator's only if it could not come from anywhere else.
//!
//! The rules: the peer is loopback; `Host` is ours; `Origin` is absent or ours; `Sec-Fetch-Site` is absent,
//! `same-origin` or `none`; and no header says that a proxy stood between. They keep out other machines, other web pages in a browser on this
//! machine, names rebound to loopback, and tunnels that forward the internet to it. Other users and sandboxed programs of the machine they do
//! not keep out: what acts on the machine needs the local key as well.

use std::net::SocketAddr;

use axum::http::header::{HOST, ORIGIN, VIA};
use axum::http::{HeaderMap, Uri};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use super::one;

#[derive(Debug)]
pub(super) struct Local {
    key: SecretString,
    port: u16,
}

impl Local {
    pub(super) fn new(key: SecretString, port: u16) -> Self {
        Self { key, port }
    }

    pub(super) fn is_key(&self, token: &str) -> bool {
        self.key.expose_secret().as_bytes().ct_eq(token.as_bytes()).into()
    }

    /// # Errors
    /// The rule that is not met.
    pub(super) fn admits(&self, peer: SocketAddr, target: &Uri, headers: &HeaderMap) -> Result<(), &'static str> {
        if !peer.ip().to_canonical().is_loopback() {
            return Err("the peer is not loopback");
        }
        if headers.iter().any(|(name, _)| says_proxy(name.as_str())) {
            return Err("a header says that a proxy forwarded it");
        }
        let host = one(headers, HOST.as_str()).filter(|host| self.is_our_host(host)).ok_or("Host is not localhost with our port")?;
        if target.authority().is_some_and(|target| target.as_str() != host) {
            return Err("the request's target and its Host differ");
        }
        match one(headers, ORIGIN.as_str()) {
            None if headers.contains_key(ORIGIN) => return Err("there is more than one Origin"),
            Some(origin) if origin != format!("http://{host}") => return Err("Origin is another site"),
            None | Some(_) => {}
        }
        match one(headers, "sec-fetch-site") {
            None if headers.contains_key("sec-fetch-site") => Err("there is more than one Sec-Fetch-Site"),
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) => Err("Sec-Fetch-Site says that another site asked"),
        }
    }

    fn is_our_host(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        port == Some(self.port) && matches!(name.to_ascii_lowercase().as_str(), "localhost" | "127.0.0.1" | "[::1]")
    }
}

fn says_proxy(header: &str) -> bool {
    header == "forwarded" || header == VIA.as_str() || header.starts_with("x-forwarded-") || header.starts_with("cf-")
}
