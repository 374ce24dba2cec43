//! Who calls.
//!
//! Without configured auth there is one caller, the local administrator, by [`local`]'s rules; a bearer that is none of ours is ignored.
//! With configured auth a bearer is the only way in: an API key ([`keys`]), or the local key, which is good only where those rules hold.
//! Headers of proxies say nothing about a caller with a key: whoever has it may come from anywhere.

mod keys;
mod local;

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use secrecy::SecretString;

use super::Gateway;
use super::error::ApiError;
use crate::domain::Principal;
pub use keys::ApiKey;
use keys::ApiKeys;
use local::Local;

/// How callers prove who they are.
#[derive(Debug)]
pub struct Access {
    local: Local,
    /// `None` while no auth is configured.
    keys: Option<ApiKeys>,
}

impl Access {
    /// For a gateway without configured auth that listens on that port.
    pub fn local(local_key: SecretString, port: u16) -> Self {
        Self { local: Local::new(local_key, port), keys: None }
    }

    /// For a gateway that lets in who has one of these keys.
    pub fn with_keys(keys: Vec<ApiKey>, local_key: SecretString, port: u16) -> Self {
        Self { keys: Some(ApiKeys::new(keys)), ..Self::local(local_key, port) }
    }

    /// # Errors
    /// 401, with what to send or the rule that was not met.
    fn check(&self, request: &Parts) -> Result<Principal, ApiError> {
        let shown = bearer(&request.headers);
        let is_local_key = shown.is_some_and(|token| self.local.is_key(token));
        let from_here = || local_rules(&self.local, request);
        let Some(keys) = &self.keys else {
            let refused = |why| format!("without configured auth only requests from this machine itself are served: {why}");
            from_here().map_err(|why| ApiError::unauthorized(refused(why)))?;
            return Ok(if is_local_key { Principal::local_with_key() } else { Principal::local() });
        };
        let token = shown.ok_or_else(|| ApiError::unauthorized("send an API key: one header Authorization: Bearer pk_..."))?;
        if is_local_key {
            let refused = |why| format!("the local key is good only for requests from the gateway's own machine; send an API key: {why}");
            return from_here().map(|()| Principal::local_with_key()).map_err(|why| ApiError::unauthorized(refused(why)));
        }
        keys.find(token).cloned().ok_or_else(|| ApiError::unauthorized("the bearer is no API key of this gateway"))
    }
}

fn local_rules(local: &Local, request: &Parts) -> Result<(), &'static str> {
    let peer = request.extensions.get::<ConnectInfo<SocketAddr>>().ok_or("the peer is not known")?;
    local.admits(peer.0, &request.uri, &request.headers)
}

/// The caller of this request; for routes that are public, too, and tell an administrator more.
///
/// # Errors
/// 401, with what to send or the rule that was not met.
pub(super) fn caller(gateway: &Gateway, request: &Parts) -> Result<Principal, ApiError> {
    gateway.access.check(request)
}

/// Puts the caller into the request, or answers 401.
pub(super) async fn authenticate(State(gateway): State<Gateway>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match caller(&gateway, &parts) {
        Ok(principal) => {
            parts.extensions.insert(principal);
            next.run(Request::from_parts(parts, body)).await
        }
        Err(error) => error.into_response(),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = one(headers, AUTHORIZATION.as_str())?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The header's value, if it stands there once and is text.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests;
