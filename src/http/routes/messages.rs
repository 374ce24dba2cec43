//! Messages: posted with one of three answers (two of them in [`turn`]), read back, taken back.

use std::time::Instant;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Page, sessions, transcript};
use crate::domain::event::input::{Mode, Trust};
use crate::domain::{MessageId, Principal, Scope, Seq, SessionId};
use crate::http::body::{self, MESSAGE_CAP, Need};
use crate::http::code::Code;
use crate::http::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::parameters::{AfterSeq, IdempotencyKey, Limit, MessagePath, Prefer, SessionPath};
use crate::http::{Gateway, need, view_for};
use crate::session::command::{IntakeKey, Post};
use crate::session::reader::{Filter, Presence};
use crate::session::{Lease, Posted, SessionError};

use turn::TurnEnd;

pub(crate) mod turn;

/// Something that a person says.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "PostMessage")]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    /// Not only white space.
    #[schemars(regex(pattern = r"\S"))]
    text: String,
    /// This build takes none.
    #[schemars(length(max = 0))]
    #[serde(default)]
    attachments: Vec<serde_json::Value>,
    /// How it is taken while a turn runs. Default: the channel's.
    mode: Option<Mode>,
    /// The model of the turn which claims it. Default: the agent's.
    model: Option<String>,
    /// Added to the system prompt of the turn which claims it.
    instructions: Option<String>,
}

/// A message was accepted: it is in exactly one turn, or removed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Accepted {
    message_id: MessageId,
    session_id: SessionId,
    /// Of its `message_queued` record.
    seq: Seq,
    status: Queued,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Queued {
    Queued,
}

/// Post a message
///
/// Accepted once it is on disk: 202. With `Accept: text/event-stream` the answer is the turn as it happens instead: `hello`, the message's
/// `message_queued`, then the events of the turn that claims it, to its `done`. With `Prefer: wait=N` it is the turn's end, or 202 where that
/// does not come in time. With an `Idempotency-Key` a repeat finds the same message, and may ask for another of these answers.
#[utoipa::path(post, path = "/v1/sessions/{id}/messages", operation_id = "post_message", tag = "messages",
    params(SessionPath, IdempotencyKey, Prefer),
    request_body(content = Message, example = json!({"text": "look up a rowing boat"})),
    responses(
        (status = 202, description = "Accepted.", body = Accepted,
            headers(("Idempotency-Replayed" = String, description = "`true` where the message had been accepted before."),
                ("Preference-Applied" = String, description = "The `wait` that was kept, in seconds."))),
        (status = 200, description = "With `Prefer: wait`: the end of the turn. With `Accept: text/event-stream`: the stream, each event a `StreamEvent`.",
            content((TurnEnd = "application/json"), (String = "text/event-stream")),
            headers(("Idempotency-Replayed" = String, description = "`true` where the message had been accepted before."),
                ("Preference-Applied" = String, description = "The `wait` that was kept, in seconds."))),
    ),
    extensions(
        ("x-codes" = json!(["not_found", "local_key_required", "idempotency_conflict", "message_removed", "queue_full",
            "rate_limited", "store_unavailable"])),
        ("x-curl" = json!(r#"curl -s $B/v1/sessions/$S/messages --json '{"text":"look up a rowing boat"}'"#)),
    )
)]
pub(crate) async fn post(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsWrite).await?;
    let overview = session.overview()?;
    gateway.channel_open_to(&caller, &overview.channel, "posting to a cli session")?;
    if body::wants_stream(&headers) || body::prefer_wait(&headers).is_some() {
        need(&caller, Scope::SessionsRead, "to be answered with the turn")?;
    }
    let key = body::idempotency_key(&headers)?;
    let read = body::read(&headers, body, MESSAGE_CAP, Need::Required).await?;
    let message = checked(read.parse()?)?;
    if let Some(model) = &message.model {
        let known = gateway.sessions.settings().setup.knows_model(&overview.agent, model);
        known.map_err(|why| ApiError::invalid("/model", why))?;
    }
    let key = key.map(|external_id| IntakeKey {
        tenant: caller.tenant.clone(),
        scope: sessions::scope(&caller, &sessions::messages_path(session.id())),
        external_id,
        body_hash: read.hash(),
    });
    let filter = Filter { view: view_for(&caller, None)?, types: None, may_decide: gateway.may_decide(&caller, &overview.owner) };
    gateway.sessions.repair(&session).await?;
    let presence = Presence::new(session.feed().clone());
    let posted = accept(&gateway, &caller, &session, message, key).await?;
    let replayed = posted.replayed;
    let mut response = if body::wants_stream(&headers) {
        turn::streamed(&gateway, session, &posted, presence, filter)
    } else if let Some(wait) = body::prefer_wait(&headers) {
        turn::waited_for(&gateway, &session, &posted, wait).await
    } else {
        accepted(&session, &posted)
    };
    if replayed {
        response.headers_mut().insert("idempotency-replayed", HeaderValue::from_static("true"));
    }
    Ok(response)
}

fn checked(message: Message) -> Result<Message, ApiError> {
    if message.text.trim().is_empty() {
        return Err(ApiError::invalid("/text", "a message must say something"));
    }
    if !message.attachments.is_empty() {
        return Err(ApiError::invalid("/attachments", "leave it out: this build takes no attachments"));
    }
    Ok(message)
}

/// Puts the message into the session, once however often its key comes.
async fn accept(
    gateway: &Gateway,
    caller: &Principal,
    session: &Lease,
    message: Message,
    key: Option<IntakeKey>,
) -> Result<Posted, ApiError> {
    let body_hash = key.as_ref().map(|k| k.body_hash.clone());
    let same = |posted: Posted| match &posted.body_hash {
        Some(hash) if Some(hash) != body_hash.as_ref() => {
            Err(ApiError::new(Code::IdempotencyConflict, "this Idempotency-Key was used with another body"))
        }
        Some(_) | None => Ok(posted),
    };
    let post = Post {
        reply_to: None,
        attachments: Vec::new(),
        text: message.text,
        mode: message.mode,
        model: message.model,
        instructions: message.instructions,
        author: caller.name.clone(),
        trust: Trust::User,
        key,
    };
    let began = Instant::now();
    let posted = gateway.sessions.post(session, post).await?;
    if !posted.replayed {
        gateway.metrics.accept.record(began.elapsed());
    }
    same(posted)
}

fn accepted(session: &Lease, posted: &Posted) -> Response {
    let answer =
        Accepted { message_id: posted.message_id.clone(), session_id: session.id().clone(), seq: posted.seq, status: Queued::Queued };
    body::json(StatusCode::ACCEPTED, &answer)
}

/// Read the transcript
///
/// What was said, oldest first. Messages that no turn has claimed stand in it without `turn`; removed ones do not.
#[utoipa::path(get, path = "/v1/sessions/{id}/messages", operation_id = "read_transcript", tag = "messages",
    params(SessionPath, AfterSeq, Limit),
    responses((status = 200, description = "A page of the transcript.", body = transcript::TranscriptPage)),
    extensions(("x-codes" = json!(["not_found", "store_unavailable"])), ("x-curl" = json!("curl -s $B/v1/sessions/$S/messages")))
)]
pub(crate) async fn transcript(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(id): Path<String>,
    Query(page): Query<Page>,
) -> Result<Response, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsRead).await?;
    let (after, limit) = (page.after_seq()?, page.limit()?);
    let store = gateway.sessions.settings().store.as_ref();
    Ok(body::json(StatusCode::OK, &transcript::page(store, session.id(), after, limit).await?))
}

/// Take a message back
///
/// Only one that no turn has claimed.
#[utoipa::path(delete, path = "/v1/sessions/{id}/messages/{message_id}", operation_id = "take_back_message", tag = "messages",
    params(SessionPath, MessagePath),
    responses((status = 204, description = "It was removed; no turn will read it.")),
    extensions(
        ("x-codes" = json!(["not_found", "already_claimed", "store_unavailable", "rate_limited"])),
        ("x-curl" = json!("curl -s -X DELETE $B/v1/sessions/$S/messages/$M")),
    )
)]
pub(crate) async fn take_back(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path((id, message_id)): Path<(String, String)>,
) -> Result<StatusCode, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsWrite).await?;
    match gateway.sessions.take_back(&session, message_id.as_str().into(), caller.name.clone()).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(SessionError::NotQueued) => {
            let store = gateway.sessions.settings().store.as_ref();
            match transcript::has_input(store, session.id(), &message_id).await? {
                true => Err(ApiError::new(Code::AlreadyClaimed, "a turn has claimed this message")),
                false => Err(ApiError::not_found("there is no such message in the inbox")),
            }
        }
        Err(error) => Err(error.into()),
    }
}
