//! Server-Sent Events out: frames, and the streams made of them.
//!
//! LF only, one line of compact JSON per event, no compression and no time-out. A stream holds a reader and pulls when the socket has room,
//! so a slow client holds nothing here. It ends by itself when the process drains.

use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use async_stream::stream;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::Stream;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use tokio::time::{Instant, interval_at};
use tokio_util::sync::WaitForCancellationFutureOwned;
use tracing::{Span, warn};

use super::Gateway;
use crate::domain::live::{self, StreamMode};
use crate::domain::overview::RunningTool;
use crate::domain::pending::{ApprovalView, ClientCallView, QuestionView};
use crate::domain::{AgentEvent, Clock, Cursor, MessageId, Seq, SessionId, View};
use crate::meter::Share;
use crate::session::feed::{Closing, LiveHello};
use crate::session::reader::Pulled;
use crate::session::{Feed, FeedItem, Lease, Reader};
use crate::store::StoreError;

/// How often a heartbeat is sent.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// When a client whose stream had to end comes back.
const RETRY_MS: u64 = 1_000;
/// When a client comes back that met trouble.
const TROUBLE_MS: u64 = 3_000;

/// The wire names of what concerns the connection only: a filter may name them, and they come in any case.
const CONTROL_KINDS: [&str; 4] = ["hello", "heartbeat", "reset", "closing"];

/// Names that the contract has and this build does not send: a client that filters by them is right, and sees none.
const RESERVED_KINDS: [&str; 8] =
    ["microcompact", "compaction", "context_cleared", "memory_recalled", "memory_flush", "handoff", "delivery", "schedule"];

/// The wire names of all that a stream can have.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    AgentEvent::kinds().chain(live::KINDS).chain(CONTROL_KINDS)
}

/// The names that a filter may have.
pub(super) fn filters() -> impl Iterator<Item = &'static str> {
    kinds().chain(RESERVED_KINDS)
}

/// One event. `data` is JSON without a line end; `id` moves the client's cursor.
pub(super) fn frame(out: &mut String, event: &str, id: Option<Cursor>, data: &str) {
    out.push_str("event: ");
    out.push_str(event);
    if let Some(id) = id {
        out.push_str("\nid: ");
        id.push_to(out);
    }
    out.push_str("\ndata: ");
    out.push_str(data);
    out.push_str("\n\n");
}

/// Moves the client's cursor and says nothing.
pub(super) fn id_only(out: &mut String, id: Cursor) {
    out.push_str(&format!("id: {id}\n\n"));
}

/// As frames, one after the other: records and deltas with their cursor, progress without.
pub fn items(items: &[FeedItem]) -> String {
    let mut out = String::with_capacity(items.len() * 160);
    for item in items {
        match item {
            FeedItem::Event { id, event, data } => frame(&mut out, event.as_str(), Some(*id), data),
            FeedItem::Passing { event, data } => frame(&mut out, event, None, data),
        }
    }
    out
}

/// Where the session stands: the first event of every connection.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Hello")]
pub(super) struct Hello<'a> {
    session_id: &'a SessionId,
    head: Seq,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    approvals: Vec<ApprovalView>,
    questions: Vec<QuestionView>,
    client_calls: Vec<ClientCallView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<Live<'a>>,
}

/// What the open turn is doing.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LiveTurn")]
struct Live<'a> {
    /// Of the newest attempt.
    message_id: MessageId,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<StreamMode>,
    tools: &'a [RunningTool],
}

pub(super) fn hello(out: &mut String, feed: &Feed, view: View, may_decide: &dyn Fn(&str) -> bool) {
    let Some(overview) = feed.overview() else { return };
    let LiveHello { message_id, mode } = feed.live_hello();
    let shown = |approval: ApprovalView| if view > View::Chat || may_decide(&approval.tool) { approval } else { approval.narrowed() };
    let live = message_id.filter(|_| overview.turn.is_some()).map(|message_id| Live { message_id, mode, tools: &overview.tools });
    let hello = Hello {
        session_id: feed.session(),
        head: overview.head,
        turn: overview.turn,
        approvals: overview.approvals().map(shown).collect(),
        questions: overview.questions().collect(),
        client_calls: overview.client_calls().collect(),
        live,
    };
    frame(out, "hello", None, &serde_json::to_string(&hello).unwrap_or_default());
}

pub(super) fn closing(out: &mut String, why: Closing) {
    let data = match why {
        Closing::Draining => json!({"reason": "draining", "retry_after_ms": RETRY_MS}),
        Closing::Deleted => json!({"reason": "deleted"}),
    };
    frame(out, "closing", None, &data.to_string());
}

/// What a feed's stream begins with and reads from.
pub(super) struct Source {
    /// Keeps the session's feed.
    pub(super) lease: Lease,
    pub(super) reader: Reader,
    /// Frames to send before anything is pulled.
    pub(super) opening: String,
}

/// A reader's whole stream: the opening, then the feed until somebody ends it.
pub(super) fn feed(gateway: &Gateway, mut source: Source) -> Response {
    let mut beat = Beat::new(gateway);
    respond(stream! {
        yield Ok(Bytes::from(std::mem::take(&mut source.opening)));
        loop {
            match beat.beside(source.reader.pull()).await {
                Next::Got(Pulled::Items(pulled)) => yield Ok(Bytes::from(items(&pulled))),
                Next::Got(Pulled::Closing(why)) => {
                    yield Ok(ended(why));
                    break;
                }
                Next::Beat(frame) => yield Ok(frame),
                Next::Ended(frame) => {
                    yield Ok(frame);
                    break;
                }
            }
        }
        drop(source.lease);
    })
}

/// What came first.
pub(super) enum Next<T> {
    Got(T),
    /// A heartbeat to send.
    Beat(Bytes),
    /// The stream ends with this.
    Ended(Bytes),
}

/// The clock of one stream: heartbeats, and the end when the process drains. While it lives its stream counts as a reader.
pub(super) struct Beat {
    interval: tokio::time::Interval,
    draining: Pin<Box<WaitForCancellationFutureOwned>>,
    clock: std::sync::Arc<dyn Clock>,
    /// Of the request: what goes wrong later is logged with its ids.
    span: Span,
    _reader: Share,
}

impl Beat {
    pub(super) fn new(gateway: &Gateway) -> Self {
        Self {
            interval: interval_at(Instant::now() + HEARTBEAT, HEARTBEAT),
            draining: Box::pin(gateway.draining.clone().cancelled_owned()),
            clock: gateway.sessions.settings().clock.clone(),
            span: Span::current(),
            _reader: Share::one(&gateway.metrics.readers),
        }
    }

    /// Waits for `work`, a heartbeat or the end. Cancel-safe where `work` is.
    pub(super) async fn beside<T>(&mut self, work: impl Future<Output = Result<T, StoreError>>) -> Next<T> {
        tokio::select! { biased;
            () = &mut self.draining => Next::Ended(ended(Closing::Draining)),
            got = work => match got {
                Ok(got) => Next::Got(got),
                Err(error) => {
                    warn!(parent: &self.span, %error, "a reader's stream ends: its records cannot be read");
                    Next::Ended(ended(Closing::Draining))
                }
            },
            _ = self.interval.tick() => {
                let mut out = String::new();
                frame(&mut out, "heartbeat", None, &json!({"at": self.clock.now()}).to_string());
                Next::Beat(out.into())
            }
        }
    }
}

pub(super) fn ended(why: Closing) -> Bytes {
    let mut out = String::new();
    closing(&mut out, why);
    out.into()
}

/// For a reader that cannot be served now: 200, when to come back, and the end. A 5xx would make a browser's `EventSource` give up for ever.
pub(super) fn trouble() -> Response {
    let mut out = format!("retry: {TROUBLE_MS}\n\n");
    frame(&mut out, "closing", None, &json!({"reason": "draining", "retry_after_ms": TROUBLE_MS}).to_string());
    respond(futures_util::stream::iter([Ok(Bytes::from(out))]))
}

pub(super) fn respond(stream: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform")),
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (StatusCode::OK, headers, Body::from_stream(stream)).into_response()
}
