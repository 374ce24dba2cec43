//! Sessions: made, once for each key.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::{PATH, no_channel, scope};
use crate::channel::{ADAPTERS, PROFILES};
use crate::domain::event::session::{Metadata, Session, SessionCreated};
use crate::domain::overview::{SessionObject, Status};
use crate::domain::{AgentEvent, Principal, Record, Scope, SessionId};
use crate::http::body::{self, MESSAGE_CAP, Need};
use crate::http::code::Code;
use crate::http::error::ApiError;
use crate::http::openapi::parameters::IdempotencyKey;
use crate::http::{Gateway, need};
use crate::session::SessionError;
use crate::store::{IntakeRow, Most};

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
            known(&gateway, &row).await?.ok_or_else(|| ApiError::new(Code::Conflict, "the session exists already"))
        }
        Err(error) => Err(error.into()),
    }
}

fn checked(gateway: &Gateway, caller: &Principal, create: Create) -> Result<SessionCreated, ApiError> {
    let channel = create.channel.unwrap_or_else(|| "api".into());
    if ADAPTERS.iter().any(|p| p.label == channel) {
        return Err(ApiError::invalid("/channel", format!("sessions of {channel} are made by its webhook alone")));
    }
    if !PROFILES.iter().any(|p| p.label == channel) {
        return Err(no_channel("/channel", &channel, &PROFILES));
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
        account: None,
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
        session: SessionId::derived(&settings.store.secret(), &[&caller.tenant, &caller.name, &key]),
        external_id: key,
        message_id: None,
        seq: 1,
        body_hash,
        at: settings.clock.now(),
    }
}

/// The first answer to this key again, if there was one.
async fn known(gateway: &Gateway, row: &IntakeRow) -> Result<Option<Response>, ApiError> {
    let store = &gateway.sessions.settings().store;
    let Some(found) = store.intake(&row.tenant, &row.scope, &row.external_id).await? else { return Ok(None) };
    if found.body_hash != row.body_hash {
        return Err(ApiError::new(Code::IdempotencyConflict, "this Idempotency-Key was used with another body"));
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
        account: created.account.clone(),
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
