//! Asks what the guard admits.
//!
//! No proxy (it would resolve names itself), no cookie, no `Referer`, no compression (nothing here then grows beyond what was sent), and no
//! redirect that is followed unseen.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Client, Method, Request, Response, StatusCode};
use url::{Host, Url};

use super::resolver::GuardedResolver;
use super::{Door, Lookup, NetGuard, Refused, shortened};

/// How long a connection may take to open, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The most redirects of one fetch. Real chains have one to three: to https, to www, to where the page has moved.
const MAX_REDIRECTS: usize = 5;
/// Connections that are kept for a host, and how long: pages are fetched by twos and threes.
const IDLE_PER_HOST: usize = 2;
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a request has no answer; a sentence for who named the URL.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{0}")]
    Refused(#[from] Refused),
    /// `via` redirected to what may not be asked.
    #[error("{via} redirects to an address that is not fetched: {refused}")]
    RefusedRedirect { via: String, refused: Refused },
    #[error("more than {MAX_REDIRECTS} redirects")]
    Redirects,
    #[error("{via} redirects to what is no address: {location:?}")]
    Location { via: String, location: String },
    #[error("{via} redirects from https to http, which is not followed: {to}")]
    Downgrade { via: String, to: String },
    #[error("{0}")]
    Transport(String),
}

/// The client for URLs that others name. Cheap to clone.
#[derive(Clone, Debug)]
pub struct GuardedClient {
    guard: NetGuard,
    lookup: Arc<dyn Lookup>,
    web: Client,
    opened: Client,
    own: Client,
}

impl GuardedClient {
    /// # Errors
    /// When TLS cannot be set up.
    pub fn new(guard: NetGuard, lookup: &Arc<dyn Lookup>) -> Result<Self, reqwest::Error> {
        let behind = |door| {
            let resolver = GuardedResolver { guard: guard.clone(), door, lookup: lookup.clone() };
            Client::builder()
                .dns_resolver(resolver)
                .redirect(reqwest::redirect::Policy::none())
                .no_proxy()
                .referer(false)
                .connect_timeout(CONNECT_TIMEOUT)
                .pool_max_idle_per_host(IDLE_PER_HOST)
                .pool_idle_timeout(IDLE_TIMEOUT)
                .user_agent(concat!("Portico/", env!("CARGO_PKG_VERSION")))
                .build()
        };
        // a pool each, so that a connection which one port's rule admitted is not reused under the other's
        let (web, opened, own) = (behind(Door::Web)?, behind(Door::Opened)?, behind(Door::Own)?);
        Ok(Self { guard, lookup: lookup.clone(), web, opened, own })
    }

    /// Judges a URL as sending a request to it would, names included, for what is to be shown without asking again.
    ///
    /// # Errors
    /// Why it may not be asked now.
    pub async fn admits(&self, url: &Url) -> Result<(), Refused> {
        let door = self.guard.judge(url)?;
        let Some(Host::Domain(name)) = url.host() else { return Ok(()) };
        let found = self.lookup.lookup(name).await.unwrap_or_default();
        self.guard.admit(name, &found, door)
    }

    /// Sends one request; a redirect is an answer like any other. Has no limit of time but the connection's. Dropped, it gives up at once.
    ///
    /// # Errors
    /// When the guard refuses it, before anything is connected to, or the transport fails.
    pub async fn send(&self, request: Request) -> Result<Response, FetchError> {
        let client = match self.guard.judge(request.url())? {
            Door::Web => &self.web,
            Door::Opened => &self.opened,
            Door::Own => &self.own,
        };
        client.execute(request).await.map_err(|error| failure(&error))
    }

    /// Gets a URL, and what it redirects to; the answer's own `url` is the last one. Cancel-safe as [`GuardedClient::send`].
    ///
    /// # Errors
    /// As [`GuardedClient::send`] for the URL and each redirect; when there are more than 5, or one leads from https to http.
    pub async fn get(&self, mut url: Url, headers: &HeaderMap) -> Result<Response, FetchError> {
        let mut via: Option<Url> = None;
        for _ in 0..=MAX_REDIRECTS {
            let mut request = Request::new(Method::GET, url.clone());
            *request.headers_mut() = headers.clone();
            let response = self.send(request).await.map_err(|error| redirected(error, via.as_ref()))?;
            let Some(location) = response.headers().get(LOCATION).filter(|_| redirects(response.status())) else {
                return Ok(response);
            };
            let next = target(&url, location.as_bytes())?;
            via = Some(std::mem::replace(&mut url, next));
        }
        Err(FetchError::Redirects)
    }
}

/// The error with who led there, where that was not the caller.
fn redirected(error: FetchError, via: Option<&Url>) -> FetchError {
    match (error, via) {
        (FetchError::Refused(refused), Some(via)) => FetchError::RefusedRedirect { via: shortened(via.as_str()), refused },
        (error, _) => error,
    }
}

fn redirects(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Where a `Location` leads.
pub(super) fn target(via: &Url, location: &[u8]) -> Result<Url, FetchError> {
    let location = String::from_utf8_lossy(location);
    let to = via.join(&location).map_err(|_| FetchError::Location { via: shortened(via.as_str()), location: shortened(&location) })?;
    if via.scheme() == "https" && to.scheme() == "http" {
        return Err(FetchError::Downgrade { via: shortened(via.as_str()), to: shortened(to.as_str()) });
    }
    Ok(to)
}

/// What a failure means. The guard's own words come back through the client's resolver as a cause.
fn failure(error: &reqwest::Error) -> FetchError {
    if let Some(refused) = causes(error).find_map(|cause| cause.downcast_ref::<Refused>()) {
        return FetchError::Refused(refused.clone());
    }
    let what = match error.is_timeout() {
        true if error.is_connect() => "the host did not answer",
        true => "the answer took too long",
        false if error.is_connect() => "no connection to the host",
        false => "the connection broke",
    };
    FetchError::Transport(format!("{what}: {}", shortened(&innermost(error).to_string())))
}

/// The cause that says what happened; the outer ones repeat the URL.
pub fn innermost(error: &reqwest::Error) -> &(dyn Error + 'static) {
    causes(error).last().unwrap_or(error)
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(Some(error as &(dyn Error + 'static)), |cause: &&(dyn Error + 'static)| (*cause).source())
}
