//! Where requests may go whose address a model, a page or a user names: to public hosts, and to networks that the operator opened.
//!
//! [`address`] says which addresses are public. [`NetGuard`] judges a URL before it is asked, [`resolver`] judges what a name stands for and
//! hands exactly those addresses to the connection, and [`client`] asks, and follows redirects by hand so that each is judged like the
//! first. What is refused is refused before a connection is opened.
//!
//! Addresses that only the operator names (a provider's base URL) do not come here.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use ipnet::IpNet;
use url::{Host, Url};

pub mod address;
pub mod client;
pub mod resolver;
#[cfg(test)]
mod tests;

pub use client::{FetchError, GuardedClient};
pub use resolver::{Lookup, SystemLookup};

use address::not_public;

/// The ports of public hosts that are asked. On others stand mail servers, databases and the like, which a URL can make listen.
const WEB_PORTS: [u16; 2] = [80, 443];

/// The most characters of others' words in a sentence of ours.
const MAX_QUOTED: usize = 300;

/// What may be reached.
#[derive(Clone, Debug, Default)]
pub struct NetGuard {
    open: Arc<[IpNet]>,
    /// Where the gateway itself listens.
    own: Option<SocketAddr>,
}

/// Which addresses a request may connect to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// Public ones, and those in networks that the operator opened.
    Web,
    /// Only those in networks that the operator opened, which may be asked on any port.
    Opened,
    /// The port that the gateway itself listens on: what the port allows, on other machines than this.
    Own,
}

/// Why a URL is not asked; a sentence for who named it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("only http and https addresses can be fetched, not {0}:")]
    Scheme(String),
    #[error("an address with a user name or password in it is not fetched")]
    Credentials,
    #[error("the address names no host")]
    NoHost,
    #[error("{host} is not a public address ({what}), and [net] allow_private does not open it")]
    Private { host: IpAddr, what: &'static str },
    /// Which address it has stays with the operator's log: it would tell a stranger what stands in the private network.
    #[error("{name} has an address that is not public, and [net] allow_private does not open it")]
    PrivateName { name: String },
    #[error("this gateway itself listens there; it is never fetched, whatever [net] allow_private opens")]
    Own,
    #[error("public hosts are asked on ports 80 and 443 only")]
    Port,
    #[error("{name} has no address")]
    NoAddress { name: String },
}

impl NetGuard {
    /// `open` are networks that may be reached although they are not public, on any port.
    pub fn new(open: impl IntoIterator<Item = IpNet>) -> Self {
        Self { open: open.into_iter().collect(), own: None }
    }

    /// Refuses the gateway's own listener, whatever is open: what comes from this machine may pass there for its user.
    #[must_use]
    pub fn without(self, own: Option<SocketAddr>) -> Self {
        Self { own, ..self }
    }

    /// Judges a URL by all that it says itself: scheme, credentials, port, and its host where that is an address. `Url` has already made
    /// one form of the many in which an address can be written (decimal, octal, hexadecimal, short, full-width digits).
    ///
    /// # Errors
    /// Why it may not be asked.
    pub fn judge(&self, url: &Url) -> Result<Door, Refused> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Refused::Scheme(shortened(url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials);
        }
        let door = match url.port_or_known_default() {
            Some(port) if self.own.is_some_and(|own| own.port() == port) => Door::Own,
            Some(port) if WEB_PORTS.contains(&port) => Door::Web,
            Some(_) | None => Door::Opened,
        };
        match url.host() {
            Some(Host::Ipv4(address)) => self.admit_address(IpAddr::V4(address), door)?,
            Some(Host::Ipv6(address)) => self.admit_address(IpAddr::V6(address), door)?,
            Some(Host::Domain(name)) if !name.is_empty() => {}
            Some(Host::Domain(_)) | None => return Err(Refused::NoHost),
        }
        Ok(door)
    }

    /// Judges what a name was found to stand for. One address that may not be reached refuses the name with all its addresses: which of
    /// them is connected to depends on time and order, which the owner of the name may choose, and no public host has such a mixture.
    ///
    /// # Errors
    /// Why the name may not be connected to.
    pub fn admit(&self, name: &str, found: &[IpAddr], door: Door) -> Result<(), Refused> {
        if found.is_empty() {
            return Err(Refused::NoAddress { name: shortened(name) });
        }
        for address in found {
            match self.admit_address(*address, door) {
                Err(Refused::Private { host, what }) => {
                    tracing::info!(name, address = %host, what, "a name was not connected to: [net] allow_private does not open its address");
                    return Err(Refused::PrivateName { name: shortened(name) });
                }
                judged => judged?,
            }
        }
        Ok(())
    }

    fn admit_address(&self, address: IpAddr, door: Door) -> Result<(), Refused> {
        let address = address.to_canonical();
        let public = match (door, self.own) {
            (Door::Own, Some(own)) if own.ip().to_canonical() == address || is_here(address) => return Err(Refused::Own),
            (Door::Own, Some(own)) if WEB_PORTS.contains(&own.port()) => Ok(()),
            (Door::Web, _) => Ok(()),
            (Door::Own | Door::Opened, _) => Err(Refused::Port),
        };
        if self.open.iter().any(|net| net.contains(&address)) {
            return Ok(());
        }
        match not_public(address) {
            Some(what) => Err(Refused::Private { host: address, what }),
            None => public,
        }
    }
}

/// Whether it is one of this machine's: asked of the system each time, which lets a socket have no other, because addresses come and go.
fn is_here(address: IpAddr) -> bool {
    address.is_loopback() || address.is_unspecified() || UdpSocket::bind((address, 0)).is_ok()
}

/// Others' words within a sentence of ours: one line, and not long.
pub fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().filter(|c| !c.is_control()).take(MAX_QUOTED).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
