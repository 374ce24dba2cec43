//! `GET /v1/sessions/{id}/artifacts/{artifact_id}`: a result that the model does not see whole, as it was.

use axum::Extension;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::INERT;
use crate::domain::{ArtifactId, Principal, Scope};
use crate::http::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::{Gateway, view_for};
use crate::session::artifacts;

#[derive(Debug, Deserialize)]
pub(crate) struct ArtifactQuery {
    view: Option<String>,
}

/// A tool's result may be anything a page on the internet says, so it is a file to save and nothing that a browser runs.
pub(crate) async fn show(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path((id, artifact_id)): Path<(String, String)>,
    Query(query): Query<ArtifactQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsRead).await?;
    let view = view_for(&caller, query.view.as_deref())?;
    let unknown = || ApiError::not_found("there is no such artifact");
    let artifact_id: ArtifactId = artifact_id.parse().map_err(|_| unknown())?;
    if !view.shows_artifacts() {
        return Err(unknown());
    }
    let store = &gateway.sessions.settings().store;
    let artifact = artifacts::read(store.as_ref(), session.id(), &artifact_id).await?.ok_or_else(unknown)?;
    let tag = format!("\"{artifact_id}\"");
    // what the id stands for never changes; whether the caller may have it is asked each time
    let cache = [(ETAG, tag.clone()), (CACHE_CONTROL, "private, no-cache".to_owned())];
    if has_it(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, cache).into_response());
    }
    let file = [
        (CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{artifact_id}.txt\"")),
        (CONTENT_SECURITY_POLICY, INERT.to_owned()),
    ];
    Ok((cache, file, artifact.text).into_response())
}

/// Whether the caller says that it holds this one already.
fn has_it(headers: &HeaderMap, tag: &str) -> bool {
    let lines = headers.get_all(IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
    let mut tags = lines.flat_map(|line| line.split(',')).map(str::trim);
    tags.any(|held| held == "*" || held.strip_prefix("W/").unwrap_or(held) == tag)
}
