//! The tools that a turn would have, and why others are absent.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::toolset::{Absent, Candidate, Policy};
use crate::domain::{Principal, Scope};
use crate::http::error::ApiError;
use crate::http::extract::Path;
use crate::http::openapi::parameters::SessionPath;
use crate::http::{Gateway, body};

/// What a turn of the session could do.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Capabilities {
    channel: String,
    /// The tools that the model would be offered.
    tools: Vec<Tool>,
    /// The other tools of the agent, each with the reason.
    absent: Vec<Absent>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Tool {
    tool: &'static str,
    /// As the model is told.
    description: String,
    policy: Policy,
    /// It changes something outside.
    effects: bool,
}

impl Tool {
    fn of(candidate: &Candidate) -> Self {
        let Candidate { spec, policy, effects, .. } = candidate;
        Self { tool: spec.name, description: spec.description.clone(), policy: *policy, effects: *effects }
    }
}

/// Show what the agent can do
///
/// The tools that a turn of this session would have, and why others are absent.
#[utoipa::path(get, path = "/v1/sessions/{id}/capabilities", operation_id = "show_capabilities", tag = "capabilities",
    params(SessionPath),
    responses((status = 200, description = "The tools, and why others are absent.", body = Capabilities)),
    extensions(("x-codes" = json!(["not_found", "store_unavailable"])), ("x-curl" = json!("curl -s $B/v1/sessions/$S/capabilities")))
)]
pub(crate) async fn show(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsRead).await?;
    let overview = session.overview()?;
    let setup = &gateway.sessions.settings().setup;
    let set = setup.toolset(&overview.channel, overview.account.as_deref(), &overview.agent).unwrap_or_default();
    let shown =
        Capabilities { channel: overview.channel.clone(), tools: set.tools.iter().map(Tool::of).collect(), absent: set.absent.clone() };
    Ok(body::json(StatusCode::OK, &shown))
}
