//! Sessions: made, listed, shown, changed, cancelled, erased.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use hmac::{Hmac, KeyInit, Mac};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::{ListPage, Page};
use crate::channel::PROFILES;
use crate::domain::digest::hex;
use crate::domain::event::session::{Metadata, Session, SessionCreated};
use crate::domain::overview::{SessionObject, Status};
use crate::domain::{AgentEvent, MessageId, Overview, Principal, Record, Scope, SessionId};
use crate::http::body::{self, MESSAGE_CAP, Need};
use crate::http::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::parameters::{AfterSession, IdempotencyKey, Limit, OfChannel, SessionPath};
use crate::http::{Gateway, need};
use crate::session::SessionError;
use crate::session::command::{Queue, SessionPatch};
use crate::store::{IntakeRow, Most, SessionFilter, Slice};

/// The path that keys of creations are scoped to.
const PATH: &str = "/v1/sessions";

/// What a new session is to be.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "CreateSession")]
#[serde(deny_unknown_fields)]
pub(crate) struct Create {
    /// Where its messages come from: tone, tools and limits follow from it. `cli` acts on the gateway's machine and needs the local key.
    /// Default: `api`.
    #[serde(default)]
    #[schemars(schema_with = "channels")]
    channel: Option<String>,
    /// A name of the configuration's `[agents]`. Default: `default`.
    agent: Option<String>,
    /// For people; empty is none.
    title: Option<String>,
    /// Your own object; the gateway reads nothing in it.
    metadata: Option<Metadata>,
}

fn channels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"enum": PROFILES.iter().map(|p| Some(p.label)).chain([None]).collect::<Vec<_>>()})
}

/// A page of sessions.
pub(crate) type SessionPage = ListPage<SessionObject>;

/// Create a session
///
/// With an `Idempotency-Key` a repeat gets the same session, as it was made.
#[utoipa::path(post, path = "/v1/sessions", operation_id = "create_session", tag = "sessions",
    params(IdempotencyKey),
    request_body(content = Option<Create>, example = json!({"title": "Boats", "metadata": {"customer": "c-17"}})),
    responses((status = 201, description = "The new session.", body = SessionObject,
        headers(("Idempotency-Replayed" = String, description = "`true` where this is the first answer again.")))),
    extensions(
        ("x-codes" = json!(["local_key_required", "idempotency_conflict", "not_found", "store_unavailable", "rate_limited"])),
        ("x-curl" = json!(r#"curl -s $B/v1/sessions --json '{"title":"Boats","metadata":{"customer":"c-17"}}'"#)),
    )
)]
pub(crate) async fn create(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    need(&caller, Scope::SessionsWrite, "making a session")?;
    let key = body::idempotency_key(&headers)?;
    let read = body::read(&headers, body, MESSAGE_CAP, Need::Optional).await?;
    let created = checked(&gateway, &caller, read.parse()?)?;
    let Some(key) = key else {
        let id = SessionId::from_uuid(gateway.sessions.settings().ids.uuid());
        let overview = gateway.sessions.create(&id, created, None).await?;
        return Ok(body::json(StatusCode::CREATED, &overview.object()));
    };
    let row = intake_row(&gateway, &caller, key, read.hash());
    if let Some(found) = known(&gateway, &row).await? {
        return Ok(found);
    }
    match gateway.sessions.create(&row.session.clone(), created, Some(row.clone())).await {
        Ok(overview) => Ok(body::json(StatusCode::CREATED, &overview.object())),
        // the same key came twice at once: the first has made it by now
        Err(SessionError::Exists) => {
            known(&gateway, &row).await?.ok_or_else(|| ApiError::conflict("conflict", "the session exists already"))
        }
        Err(error) => Err(error.into()),
    }
}

fn checked(gateway: &Gateway, caller: &Principal, create: Create) -> Result<SessionCreated, ApiError> {
    let channel = create.channel.unwrap_or_else(|| "api".into());
    if gateway.sessions.settings().setup.profile(&channel).is_none() {
        let there = PROFILES.map(|p| p.label).join(", ");
        return Err(ApiError::invalid("/channel", format!("there is no channel {channel:?} to create sessions on; there are: {there}")));
    }
    gateway.channel_open_to(caller, &channel, "a cli session")?;
    let agent = create.agent.unwrap_or_else(|| "default".into());
    if !gateway.agents.contains(&agent) {
        return Err(ApiError::invalid("/agent", format!("there is no agent {agent:?}; there are: {}", gateway.agents.join(", "))));
    }
    Ok(SessionCreated {
        channel,
        agent,
        tenant: caller.tenant.clone(),
        principal: caller.name.clone(),
        parent: None,
        title: create.title.filter(|t| !t.is_empty()),
        metadata: create.metadata.unwrap_or_default(),
    })
}

/// The row of a keyed creation. Its session's id derives from who asked and the key, so that a repeat finds the same session.
fn intake_row(gateway: &Gateway, caller: &Principal, key: String, body_hash: String) -> IntakeRow {
    let settings = gateway.sessions.settings();
    IntakeRow {
        tenant: caller.tenant.clone(),
        scope: scope(caller, PATH),
        session: derived_id(&settings.store.secret(), &[&caller.tenant, &caller.name, &key]),
        external_id: key,
        message_id: None,
        seq: 1,
        body_hash,
        at: settings.clock.now(),
    }
}

/// The path that keys of a session's messages are scoped to. Made from the id and not taken from the request, where one path has many spellings.
pub(super) fn messages_path(session: &SessionId) -> String {
    format!("{PATH}/{session}/messages")
}

/// What a key is unique within.
pub(super) fn scope(caller: &Principal, path: &str) -> String {
    format!("{}\n{path}", caller.name)
}

/// An id by keyed hash. Each part is preceded by its length, so that no two lists of parts read the same.
fn derived_id(secret: &[u8; 32], parts: &[&str]) -> SessionId {
    // a key of any length is taken
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return SessionId::from("") };
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part.as_bytes());
    }
    SessionId::from(format!("ses_{}", &hex(&mac.finalize().into_bytes())[..32]))
}

/// The first answer to this key again, if there was one.
async fn known(gateway: &Gateway, row: &IntakeRow) -> Result<Option<Response>, ApiError> {
    let store = &gateway.sessions.settings().store;
    let Some(found) = store.intake(&row.tenant, &row.scope, &row.external_id).await? else { return Ok(None) };
    if found.body_hash != row.body_hash {
        return Err(ApiError::conflict("idempotency_conflict", "this Idempotency-Key was used with another body"));
    }
    let first = store.read(&found.session, 0, Most::rows(1)).await?.rows.pop();
    let object = first.and_then(|r| Record::from_json(&r.json).ok()).and_then(|record| as_created(&found.session, &record));
    let Some(object) = object else { return Err(ApiError::not_found("the session that this key made was deleted")) };
    Ok(Some(([("idempotency-replayed", "true")], body::json(StatusCode::CREATED, &object)).into_response()))
}

/// The session as its first record made it.
fn as_created(id: &SessionId, record: &Record) -> Option<SessionObject> {
    let AgentEvent::Session(Session::SessionCreated(created)) = &record.event else { return None };
    Some(SessionObject {
        id: id.clone(),
        channel: created.channel.clone(),
        agent: created.agent.clone(),
        title: created.title.clone(),
        metadata: created.metadata.clone(),
        status: Status::Idle,
        turn: None,
        head: 1,
        queued: 0,
        created_at: record.head.at,
        updated_at: record.head.at,
    })
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

#[cfg(test)]
mod tests {
    use super::derived_id;

    #[test]
    fn parts_that_join_alike_give_other_ids() {
        let id = |parts: &[&str]| derived_id(&[7; 32], parts);
        assert_ne!(id(&["a:b", "c"]), id(&["a", "b:c"]));
        assert_ne!(id(&["ab", "c"]), id(&["a", "bc"]));
        assert_ne!(id(&["A"]), id(&["a"]));
        assert_ne!(id(&["a", ""]), id(&["a"]));
        assert_eq!(id(&["a", "b"]), id(&["a", "b"]));
    }
}
