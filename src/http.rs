//! The HTTP edge: JSON and SSE over what [`crate::session`] offers.
//!
//! A handler checks the caller, reads the body, calls the session and shapes the answer; it holds no state of its own. Errors are
//! `application/problem+json` with a stable code, and never show an internal cause. Read [`router`] first: every route is
//! on that page. Then [`access`] (who calls), [`extract`] and [`body`] (what comes in), [`routes`] (one file a resource), [`sse`] (streams out),
//! [`error`] and [`code`] (refusals out), [`openapi`] (what the routes say of themselves), [`metrics`] (what is measured) and [`assets`] (the page).

pub mod access;
pub mod assets;
pub mod body;
pub mod code;
pub mod error;
pub mod extract;
pub mod metrics;
pub mod openapi;
pub mod router;
pub mod routes;
pub mod sse;

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::channel::reception::Reception;
use crate::domain::principal::Rights;
use crate::domain::toolset::Candidate;
use crate::domain::{Principal, Scope, SessionId, View};
use crate::outbox::Outbox;
use crate::session::{Lease, Sessions};
use access::Access;
use error::ApiError;
use metrics::{Exposition, HttpMetrics};
use routes::health::Told;

/// What handlers share. A clone costs a counter.
#[derive(Clone, Debug)]
pub struct Gateway(Arc<Parts>);

/// The parts of a [`Gateway`].
pub struct Parts {
    pub sessions: Sessions,
    /// The way in for messaging channels, and the way out.
    pub reception: Reception,
    pub outbox: Outbox,
    pub access: Access,
    /// Every tool there is, by name: what deciding on its calls needs.
    pub tools: Vec<Candidate>,
    pub agents: Vec<String>,
    /// Fires when the process stops taking input: streams end by it.
    pub draining: CancellationToken,
    pub metrics: HttpMetrics,
    pub exposition: Arc<dyn Exposition>,
    /// Of whether it is ready.
    pub told: Told,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("agents", &self.agents).finish_non_exhaustive()
    }
}

impl std::ops::Deref for Gateway {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl Gateway {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// The session, if it exists for this caller at all and the caller may do with it what `scope` names.
    async fn session(&self, caller: &Principal, id: &str, scope: Scope) -> Result<Lease, ApiError> {
        visible(caller, self.sessions.open(&SessionId::from(id)).await?, scope)
    }

    /// The session, if its approvals exist for this caller.
    async fn session_to_decide(&self, caller: &Principal, id: &str) -> Result<Lease, ApiError> {
        let lease = self.sessions.open(&SessionId::from(id)).await?;
        let overview = lease.overview()?;
        if caller.sees_approvals(&overview.tenant, &overview.owner) { Ok(lease) } else { Err(no_session()) }
    }

    /// A channel with tools that act on the machine is for whoever may use the machine.
    fn channel_open_to(&self, caller: &Principal, channel: &str, what: &str) -> Result<(), ApiError> {
        let profile = self.sessions.settings().setup.profile(channel, None);
        if profile.is_some_and(|p| !p.capabilities.local_tools) { Ok(()) } else { need(caller, Scope::Cli, what) }
    }

    /// A tool that is not known any more counts as one with effects.
    fn has_effects(&self, tool: &str) -> bool {
        self.tools.iter().find(|t| t.spec.name == tool).is_none_or(|t| t.effects)
    }

    /// Whether the caller may decide on a tool's calls, in a session of that owner.
    fn may_decide(&self, caller: &Principal, owner: &str) -> Arc<dyn Fn(&str) -> bool + Send + Sync> {
        let (gateway, caller, owner) = (self.clone(), caller.clone(), owner.to_owned());
        Arc::new(move |tool| caller.may_decide(&owner, gateway.has_effects(tool)))
    }
}

/// What is not the caller's is not there, whatever the caller may do; only then does it matter.
fn visible(caller: &Principal, lease: Lease, scope: Scope) -> Result<Lease, ApiError> {
    let overview = lease.overview()?;
    if !caller.sees(&overview.tenant, &overview.owner) {
        return Err(no_session());
    }
    need(caller, scope, "this").map(|()| lease)
}

fn no_session() -> ApiError {
    ApiError::not_found("there is no such session")
}

/// # Errors
/// 403, with what the caller lacks for `what`.
fn need(caller: &Principal, scope: Scope, what: &str) -> Result<(), ApiError> {
    if caller.may(scope) { Ok(()) } else { Err(lacks(caller, scope, what)) }
}

/// Who showed no credential lacks one; who did lacks a scope.
fn lacks(caller: &Principal, scope: Scope, what: &str) -> ApiError {
    match caller.rights {
        Rights::Ambient => ApiError::local_key_required(what),
        Rights::Scoped(_) => ApiError::forbidden(format!("{what} needs the scope {scope}, which this credential does not have")),
    }
}

/// The widest view that the caller has, or a narrower one that it asks for.
fn view_for(caller: &Principal, asked: Option<&str>) -> Result<View, ApiError> {
    let widest = if caller.is_admin() { View::Admin } else { View::Owner };
    match asked.map(str::parse::<View>) {
        None => Ok(widest),
        Some(Ok(view)) if view <= widest => Ok(view),
        Some(Ok(_)) => Err(ApiError::invalid("view", "this credential has a narrower view")),
        Some(Err(why)) => Err(ApiError::invalid("view", why)),
    }
}
