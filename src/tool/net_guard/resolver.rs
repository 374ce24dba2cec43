//! Names: looked up once for each connection, judged, and connected to at exactly the addresses that were judged.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::{Door, NetGuard};

/// Where names are looked up.
pub trait Lookup: fmt::Debug + Send + Sync + 'static {
    /// All addresses of a name, in the order in which they should be tried.
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>>;
}

/// The system's own way: its hosts file, its name servers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let name = name.to_owned();
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect()) })
    }
}

/// Lets a client connect to what the guard admits. The client asks it for names only; literal addresses are judged before.
#[derive(Clone, Debug)]
pub(super) struct GuardedResolver {
    pub(super) guard: NetGuard,
    pub(super) door: Door,
    pub(super) lookup: Arc<dyn Lookup>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (this, name) = (self.clone(), name.as_str().to_owned());
        Box::pin(async move {
            let found = this.lookup.lookup(&name).await?;
            this.guard.admit(&name, &found, this.door)?;
            // port 0 is replaced by the URL's own
            let addresses: Vec<_> = found.into_iter().map(|address| SocketAddr::new(address, 0)).collect();
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
