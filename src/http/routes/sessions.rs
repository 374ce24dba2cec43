//! Sessions: listed, shown, changed, cancelled, erased; [`create`] makes them.

pub mod create;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ListPage, Page};
use crate::channel::{ADAPTERS, PROFILES};
use crate::domain::event::session::Metadata;
use crate::domain::overview::SessionObject;
use crate::domain::{ChannelProfile, MessageId, Overview, Principal, Scope, SessionId};
use crate::http::body::{self, MESSAGE_CAP, Need};
use crate::http::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::parameters::{AfterSession, Limit, OfChannel, SessionPath};
use crate::http::{Gateway, need};
use crate::session::command::{Queue, SessionPatch};
use crate::store::{SessionFilter, Slice};

/// The path that keys of creations are scoped to.
const PATH: &str = "/v1/sessions";

/// A page of sessions.
pub(crate) type SessionPage = ListPage<SessionObject>;

/// The path that keys of a session's messages are scoped to. Made from the id and not taken from the request, where one path has many spellings.
pub(super) fn messages_path(session: &SessionId) -> String {
    format!("{PATH}/{session}/messages")
}

/// What a key is unique within.
pub(super) fn scope(caller: &Principal, path: &str) -> String {
    format!("{}\n{path}", caller.name)
}

fn no_channel(pointer: &str, asked: &str, all: &[&ChannelProfile]) -> ApiError {
    let there = all.iter().map(|p| p.label).collect::<Vec<_>>().join(", ");
    ApiError::invalid(pointer, format!("there is no channel {asked:?}; there are: {there}"))
}

#[derive(Debug, Deserialize)]
pub(crate) struct ListQuery {
    channel: Option<String>,
    #[serde(flatten)]
    page: Page,
}

/// List sessions
///
/// Newest first.
#[utoipa::path(get, path = "/v1/sessions", operation_id = "list_sessions", tag = "sessions",
    params(Limit, AfterSession, OfChannel),
    responses((status = 200, description = "A page of the sessions that the caller may see.", body = SessionPage)),
    extensions(("x-codes" = json!(["store_unavailable"])), ("x-curl" = json!("curl -s \"$B/v1/sessions?channel=api&limit=10\"")))
)]
pub(crate) async fn list(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Query(query): Query<ListQuery>,
) -> Result<Response, ApiError> {
    need(&caller, Scope::SessionsRead, "this")?;
    if let Some(channel) = query.channel.as_deref().filter(|channel| !PROFILES.iter().chain(&ADAPTERS).any(|p| p.label == *channel)) {
        return Err(no_channel("channel", channel, &[&PROFILES[..], &ADAPTERS[..]].concat()));
    }
    let filter = SessionFilter {
        tenant: caller.tenant.clone(),
        owner: (!caller.is_admin()).then(|| caller.name.clone()),
        channel: query.channel,
        after: query.page.after_id("ses_")?.map(SessionId::from),
        limit: query.page.limit()?,
    };
    let Slice { rows, more } = gateway.sessions.settings().store.sessions(filter).await?;
    let next_cursor = rows.last().filter(|_| more).map(|last| last.id.to_string());
    let page = ListPage { data: rows.iter().map(Overview::object).collect(), next_cursor };
    Ok(body::json(StatusCode::OK, &page))
}

/// Show a session
#[utoipa::path(get, path = "/v1/sessions/{id}", operation_id = "show_session", tag = "sessions",
    params(SessionPath),
    responses((status = 200, description = "The session as it stands.", body = SessionObject)),
    extensions(("x-codes" = json!(["not_found", "store_unavailable"])), ("x-curl" = json!("curl -s $B/v1/sessions/$S")))
)]
pub(crate) async fn show(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(id): Path<String>,
) -> Result<Response, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsRead).await?;
    Ok(body::json(StatusCode::OK, &session.overview()?.object()))
}

/// A merge-patch (RFC 7396): what is absent stays, `null` removes. `Content-Type: application/merge-patch+json` will do too.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ChangeSession")]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    #[serde(default, deserialize_with = "present")]
    title: Option<Option<String>>,
    #[serde(default, deserialize_with = "present")]
    metadata: Option<Option<Metadata>>,
}

/// Tells a `null` from a field that is not there.
fn present<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// Change a session
#[utoipa::path(patch, path = "/v1/sessions/{id}", operation_id = "change_session", tag = "sessions",
    params(SessionPath),
    request_body(content = Change, example = json!({"title": "Boats in June", "metadata": {"customer": null}})),
    responses((status = 200, description = "The session as it stands now.", body = SessionObject)),
    extensions(
        ("x-codes" = json!(["not_found", "store_unavailable", "rate_limited"])),
        ("x-curl" = json!(r#"curl -s -X PATCH $B/v1/sessions/$S --json '{"title":"Boats in June","metadata":{"customer":null}}'"#)),
    )
)]
pub(crate) async fn change(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsWrite).await?;
    let patch: Change = body::read(&headers, body, MESSAGE_CAP, Need::Patch).await?.parse()?;
    let patch = SessionPatch { title: patch.title.map(Option::unwrap_or_default), metadata: patch.metadata };
    let overview = gateway.sessions.update(&session, patch).await?;
    Ok(body::json(StatusCode::OK, &overview.object()))
}

/// Erase a session
///
/// All of it: its ledger, its files, its turn if one runs. Its readers are told, and its id answers 404 from then on.
#[utoipa::path(delete, path = "/v1/sessions/{id}", operation_id = "erase_session", tag = "sessions",
    params(SessionPath),
    responses((status = 204, description = "It is gone.")),
    extensions(("x-codes" = json!(["not_found", "store_unavailable", "rate_limited"])), ("x-curl" = json!("curl -s -X DELETE $B/v1/sessions/$S")))
)]
pub(crate) async fn erase(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(id): Path<String>,
) -> Result<StatusCode, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsWrite).await?;
    gateway.sessions.delete(session.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What becomes of the queue.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "CancelTurn")]
#[serde(deny_unknown_fields)]
pub(crate) struct Cancel {
    /// Input that waits runs as the next turn, instead of being removed.
    #[serde(default)]
    keep_queue: bool,
}

/// What a cancel ended.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Cancelled {
    /// The turn that was cancelled; absent where none was open.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    /// The messages that were removed from the queue.
    removed: Vec<MessageId>,
}

/// Cancel the turn
///
/// Ends the open turn, keeps what of its answer was visible, and removes queued input unless `keep_queue`. Answered when the end is on disk.
/// Where nothing is open it does nothing.
#[utoipa::path(post, path = "/v1/sessions/{id}/cancel", operation_id = "cancel_turn", tag = "sessions",
    params(SessionPath),
    request_body(content = Option<Cancel>, example = json!({"keep_queue": false})),
    responses((status = 200, description = "What was ended.", body = Cancelled)),
    extensions(
        ("x-codes" = json!(["not_found", "store_unavailable", "rate_limited"])),
        ("x-curl" = json!(r#"curl -s $B/v1/sessions/$S/cancel --json '{"keep_queue":false}'"#)),
    )
)]
pub(crate) async fn cancel(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsWrite).await?;
    let cancel: Cancel = body::read(&headers, body, MESSAGE_CAP, Need::Optional).await?.parse()?;
    let queue = if cancel.keep_queue { Queue::Keep } else { Queue::Remove };
    let cancelled = gateway.sessions.cancel(&session, queue, caller.name).await?;
    let answer = Cancelled { turn: cancelled.turn, removed: cancelled.removed };
    Ok(body::json(StatusCode::OK, &answer))
}
