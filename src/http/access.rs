//! Who calls. Without configured auth a request is the local administrator's only if it could not come from anywhere else.
//!
//! The rules: the peer is loopback; `Host` is ours; `Origin` is absent or ours; `Sec-Fetch-Site` is absent,
//! `same-origin` or `none`; and no header says that a proxy stood between. They keep out other machines, other web pages in a browser on this
//! machine, names rebound to loopback, and tunnels that forward the internet to it. Other users and sandboxed programs of the machine they do
//! not keep out: what acts on the machine needs the local key as well.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN, VIA};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

use super::Gateway;
use super::error::ApiError;
use crate::domain::Principal;

/// How callers prove who they are.
#[derive(Debug)]
pub struct Access {
    local_key: SecretString,
    port: u16,
}

impl Access {
    /// For a gateway without configured auth that listens on that port.
    pub fn local(local_key: SecretString, port: u16) -> Self {
        Self { local_key, port }
    }

    /// The caller.
    ///
    /// # Errors
    /// 401, with the rule that was not met.
    pub fn check(&self, peer: SocketAddr, headers: &HeaderMap) -> Result<Principal, ApiError> {
        self.is_local(peer, headers).map_err(|why| {
            ApiError::unauthorized(format!("without configured auth only requests from this machine itself are served: {why}"))
        })?;
        Ok(Principal::local(bearer(headers).is_some_and(|token| self.is_local_key(token))))
    }

    fn is_local(&self, peer: SocketAddr, headers: &HeaderMap) -> Result<(), &'static str> {
        if !peer.ip().to_canonical().is_loopback() {
            return Err("the peer is not loopback");
        }
        if headers.iter().any(|(name, _)| says_proxy(name.as_str())) {
            return Err("a header says that a proxy forwarded it");
        }
        let host = one(headers, HOST.as_str()).filter(|host| self.is_our_host(host)).ok_or("Host is not localhost with our port")?;
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

    fn is_local_key(&self, token: &str) -> bool {
        self.local_key.expose_secret().as_bytes().ct_eq(token.as_bytes()).into()
    }
}

/// The header's value, if it stands there once and is text.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = one(headers, AUTHORIZATION.as_str())?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn says_proxy(header: &str) -> bool {
    header == "forwarded" || header == VIA.as_str() || header.starts_with("x-forwarded-") || header.starts_with("cf-")
}

/// The caller of that request.
///
/// # Errors
/// 401
pub(super) fn caller(gateway: &Gateway, request: &Request) -> Result<Principal, ApiError> {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|info| info.0);
    match peer {
        // a target that names another host than the header is for somebody else
        Some(_) if request.uri().authority().is_some_and(|target| Some(target.as_str()) != one(request.headers(), HOST.as_str())) => {
            Err(ApiError::unauthorized("the request's target and its Host differ"))
        }
        Some(peer) => gateway.access.check(peer, request.headers()),
        None => Err(ApiError::unauthorized("the peer is not known")),
    }
}

/// Puts the caller into the request, or answers 401.
pub(super) async fn authenticate(State(gateway): State<Gateway>, mut request: Request, next: Next) -> Response {
    match caller(&gateway, &request) {
        Ok(principal) => {
            request.extensions_mut().insert(principal);
            next.run(request).await
        }
        Err(error) => error.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderName, HeaderValue};
    use secrecy::SecretString;

    use super::Access;

    fn check(peer: &str, headers: &[(&str, &str)]) -> Result<bool, String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
        }
        let access = Access::local(SecretString::from("pl_right"), 8080);
        access.check(peer.parse().unwrap(), &map).map(|p| p.scopes.cli).map_err(|e| e.detail)
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:8080");

    #[test]
    fn the_local_administrator_is_whoever_can_only_be_here() {
        assert_eq!(check("127.0.0.1:1", &[HOST]), Ok(false));
        assert_eq!(check("[::1]:1", &[("host", "[::1]:8080")]), Ok(false));
        assert_eq!(check("[::ffff:127.0.0.1]:1", &[("host", "LOCALHOST:8080")]), Ok(false));
        assert_eq!(check("127.0.0.1:1", &[HOST, ("origin", "http://127.0.0.1:8080"), ("sec-fetch-site", "same-origin")]), Ok(false));
        assert_eq!(check("127.0.0.1:1", &[HOST, ("authorization", "Bearer pl_right")]), Ok(true));
        assert_eq!(check("127.0.0.1:1", &[HOST, ("authorization", "Bearer sk-of-some-sdk")]), Ok(false));
    }

    #[test]
    fn everybody_else_is_refused() {
        for (peer, headers) in [
            ("192.0.2.1:1", vec![HOST]),
            ("127.0.0.1:1", vec![]),
            ("127.0.0.1:1", vec![("host", "127.0.0.1")]),
            ("127.0.0.1:1", vec![("host", "evil.example:8080")]),
            ("127.0.0.1:1", vec![HOST, ("host", "localhost:8080")]),
            ("127.0.0.1:1", vec![HOST, ("origin", "http://localhost:8080")]),
            ("127.0.0.1:1", vec![HOST, ("origin", "https://127.0.0.1:8080")]),
            ("127.0.0.1:1", vec![HOST, ("origin", "null")]),
            ("127.0.0.1:1", vec![HOST, ("sec-fetch-site", "cross-site")]),
            ("127.0.0.1:1", vec![HOST, ("sec-fetch-site", "same-site")]),
            ("127.0.0.1:1", vec![HOST, ("x-forwarded-for", "127.0.0.1")]),
            ("127.0.0.1:1", vec![HOST, ("forwarded", "for=1.2.3.4")]),
            ("127.0.0.1:1", vec![HOST, ("via", "1.1 proxy")]),
            ("127.0.0.1:1", vec![HOST, ("cf-connecting-ip", "1.2.3.4")]),
            ("127.0.0.1:1", vec![HOST, ("origin", "http://127.0.0.1:8080"), ("origin", "http://evil.example")]),
        ] {
            assert!(check(peer, &headers).is_err(), "{peer} {headers:?}");
        }
    }
}
