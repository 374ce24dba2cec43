//! Messages: posted with one of three answers, read back, taken back.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use async_stream::stream;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Page, sessions, transcript};
use crate::domain::event::input::{Mode, Trust};
use crate::domain::event::turn::{CallSummary, Done, DoneReason};
use crate::domain::{Cursor, MessageId, Principal, Scope, Seq, SessionId, Usage};
use crate::http::body::{self, MESSAGE_CAP, Need};
use crate::http::code::Code;
use crate::http::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::parameters::{AfterSeq, IdempotencyKey, Limit, MessagePath, Prefer, SessionPath};
use crate::http::sse::{self, Beat, Next};
use crate::http::{Gateway, need, view_for};
use crate::session::command::{IntakeKey, Post};
use crate::session::feed::Closing;
use crate::session::follow::{Fate, Follow};
use crate::session::reader::{Filter, Presence, Pulled};
use crate::session::{FeedItem, Lease, Posted, Reader, SessionError};
use crate::store::StoreError;

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

/// The end of the turn that claimed a message.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TurnEnd {
    message_id: MessageId,
    turn: u32,
    answer: String,
    reason: DoneReason,
    usage: Usage,
    tool_calls: Vec<CallSummary>,
    /// With `error` and `budget`: a stable word for what went wrong or ran out.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    /// What happened, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
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
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let session = gateway.session_to_read(&caller, &id, Scope::SessionsWrite).await?;
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
        scope: sessions::scope(&caller, uri.path()),
        external_id,
        body_hash: read.hash(),
    });
    let filter = Filter { view: view_for(&caller, None)?, types: None, may_decide: gateway.may_decide(&caller, &overview.owner) };
    let presence = Presence::new(session.feed().clone());
    let posted = accept(&gateway, &caller, &session, message, key).await?;
    let replayed = posted.replayed;
    let mut response = if body::wants_stream(&headers) {
        stream_turn(&gateway, session, &posted, presence, filter)
    } else if let Some(wait) = body::prefer_wait(&headers) {
        wait_turn(&gateway, &session, &posted, wait).await?
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

/// The end of the turn that claims the message, if it comes in time.
async fn wait_turn(gateway: &Gateway, session: &Lease, posted: &Posted, seconds: u64) -> Result<Response, ApiError> {
    let ended = tokio::select! { biased;
        // accepted is accepted, also where its end cannot be read
        ended = ended(session, posted) => ended.unwrap_or(Ended::Not),
        () = gateway.draining.cancelled() => Ended::Not,
        () = tokio::time::sleep(Duration::from_secs(seconds)) => Ended::Not,
    };
    let mut response = match ended {
        Ended::Turn(turn, done) => body::json(StatusCode::OK, &turn_end(&posted.message_id, turn, *done)),
        Ended::Removed => ApiError::new(Code::MessageRemoved, "the message was removed before a turn claimed it").into_response(),
        Ended::Deleted => ApiError::not_found("the session was deleted").into_response(),
        Ended::Not => accepted(session, posted),
    };
    if let Ok(value) = HeaderValue::from_str(&format!("wait={seconds}")) {
        response.headers_mut().insert("preference-applied", value);
    }
    Ok(response)
}

enum Ended {
    Turn(u32, Box<Done>),
    Removed,
    /// With its whole session.
    Deleted,
    /// Not in time.
    Not,
}

impl Ended {
    fn closed(why: Closing) -> Self {
        match why {
            Closing::Deleted => Self::Deleted,
            Closing::Draining => Self::Not,
        }
    }
}

async fn ended(session: &Lease, posted: &Posted) -> Result<Ended, StoreError> {
    let Some(mut follow) = Follow::new(session.feed(), posted.message_id.clone(), posted.seq) else { return Ok(Ended::Not) };
    match follow.fate().await? {
        Fate::Removed { .. } => Ok(Ended::Removed),
        Fate::Closing(why) => Ok(Ended::closed(why)),
        Fate::Claimed { turn, .. } => Ok(follow.done(turn).await?.map_or_else(Ended::closed, |done| Ended::Turn(turn, Box::new(done)))),
    }
}

fn turn_end(message_id: &MessageId, turn: u32, done: Done) -> TurnEnd {
    let Done { answer, reason, usage, tool_calls, code, detail, .. } = done;
    TurnEnd { message_id: message_id.clone(), turn, answer, reason, usage, tool_calls, code, detail }
}

/// The message and then its turn, as they happen: from the record that claims it to its `done`.
fn stream_turn(gateway: &Gateway, session: Lease, posted: &Posted, presence: Presence, filter: Filter) -> Response {
    let feed = session.feed().clone();
    let mut opening = String::new();
    sse::hello(&mut opening, &feed, filter.view, filter.may_decide.as_ref());
    let before = Cursor { seq: posted.seq - 1, n: 0 };
    let reader = Reader::new(feed.clone(), filter.clone(), before).ok();
    let follow = Follow::new(&feed, posted.message_id.clone(), posted.seq);
    // accepted is accepted, also where its readers are being told to go at this moment
    let Some((reader, follow)) = reader.zip(follow) else { return accepted(&session, posted) };
    let turn = TurnStream { session, presence, reader, follow, filter, beat: Beat::new(gateway) };
    sse::respond(turn.frames(opening))
}

/// One message's turn as a stream.
struct TurnStream {
    /// Keeps the session's feed.
    session: Lease,
    /// From before the message was posted: its turn's text is shown as it streamed, however fast that was.
    presence: Presence,
    reader: Reader,
    follow: Follow,
    filter: Filter,
    beat: Beat,
}

impl TurnStream {
    fn frames(mut self, opening: String) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static {
        stream! {
            let mut out = opening;
            if let Ok(queued) = self.reader.pull_one().await {
                out.push_str(&sse::items(&queued));
            }
            yield Ok(Bytes::from(out));
            let claim = loop {
                match self.beat.beside(self.follow.fate()).await {
                    Next::Got(fate) => break fate,
                    Next::Beat(frame) => yield Ok(frame),
                    Next::Ended(frame) => {
                        yield Ok(frame);
                        return;
                    }
                }
            };
            let from = match claim {
                Fate::Closing(why) => {
                    yield Ok(sse::ended(why));
                    return;
                }
                Fate::Claimed { seq, .. } | Fate::Removed { seq } => Cursor { seq: seq - 1, n: 0 },
            };
            let Ok(mut reader) = Reader::new(self.session.feed().clone(), self.filter.clone(), from) else {
                yield Ok(sse::ended(Closing::Draining));
                return;
            };
            let Fate::Claimed { turn, .. } = claim else {
                if let Ok(removed) = reader.pull_one().await {
                    yield Ok(Bytes::from(sse::items(&removed)));
                }
                return;
            };
            reader.only_turn(turn);
            reader.since(&self.presence);
            loop {
                match self.beat.beside(reader.pull()).await {
                    Next::Got(Pulled::Items(pulled)) => {
                        let over = pulled.iter().any(is_done);
                        yield Ok(Bytes::from(sse::items(&pulled)));
                        if over {
                            return;
                        }
                    }
                    Next::Got(Pulled::Closing(why)) => {
                        yield Ok(sse::ended(why));
                        return;
                    }
                    Next::Beat(frame) => yield Ok(frame),
                    Next::Ended(frame) => {
                        yield Ok(frame);
                        return;
                    }
                }
            }
        }
    }
}

fn is_done(item: &FeedItem) -> bool {
    match item {
        FeedItem::Event { event, .. } => event.as_str() == "done",
        FeedItem::Passing { .. } => false,
    }
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
    let (records, head) = gateway.sessions.settings().store.transcript(session.id()).await?;
    let rows = transcript::rows(&records).map_err(|e| ApiError::unavailable("a record cannot be read", e.to_string()))?;
    Ok(body::json(StatusCode::OK, &transcript::page(rows, head, after, limit)))
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
            let (records, _) = gateway.sessions.settings().store.transcript(session.id()).await?;
            let claimed = transcript::rows(&records).is_ok_and(|rows| rows.iter().any(|r| r.is_input(&message_id)));
            match claimed {
                true => Err(ApiError::new(Code::AlreadyClaimed, "a turn has claimed this message")),
                false => Err(ApiError::not_found("there is no such message in the inbox")),
            }
        }
        Err(error) => Err(error.into()),
    }
}
