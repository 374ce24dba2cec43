//! `GET /v1/sessions/{id}/capabilities`: the tools that a turn would have, and why others are absent.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::domain::{Principal, Scope};
use crate::http::error::ApiError;
use crate::http::extract::Path;
use crate::http::{Gateway, body};

pub(crate) async fn show(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsRead).await?;
    let overview = session.overview()?;
    let setup = &gateway.sessions.settings().setup;
    let set = setup.toolset(&overview.channel, &overview.agent).unwrap_or_default();
    let tools: Vec<_> = set
        .tools
        .iter()
        .map(|t| json!({"tool": t.spec.name, "description": t.spec.description, "policy": t.policy, "effects": t.effects}))
        .collect();
    Ok(body::json(StatusCode::OK, &json!({"channel": overview.channel, "tools": tools, "absent": set.absent})))
}
