//! A post that is answered with its turn: with the turn's end, or with all of it as it happens.

use std::convert::Infallible;
use std::time::Duration;

use async_stream::stream;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::Stream;
use schemars::JsonSchema;
use serde::Serialize;

use super::accepted;
use crate::domain::event::turn::{CallSummary, Done, DoneReason};
use crate::domain::{Cursor, MessageId, Usage};
use crate::http::error::ApiError;
use crate::http::sse::{self, Beat, Next};
use crate::http::{Gateway, body};
use crate::session::feed::Closing;
use crate::session::follow::{Fate, Follow};
use crate::session::reader::{Filter, Presence, Pulled};
use crate::session::{FeedItem, Lease, Posted, Reader};
use crate::store::StoreError;

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

/// The end of the turn that claims the message, if it comes in time.
pub(super) async fn waited_for(gateway: &Gateway, session: &Lease, posted: &Posted, seconds: u64) -> Response {
    let ended = tokio::select! { biased;
        // accepted is accepted, also where its end cannot be read
        ended = ended(session, posted) => ended.unwrap_or(Ended::Not),
        () = gateway.draining.cancelled() => Ended::Not,
        () = tokio::time::sleep(Duration::from_secs(seconds)) => Ended::Not,
    };
    let mut response = match ended {
        Ended::Turn(turn, done) => body::json(StatusCode::OK, &turn_end(&posted.message_id, turn, *done)),
        Ended::Removed => ApiError::conflict("message_removed", "the message was removed before a turn claimed it").into_response(),
        Ended::Deleted => ApiError::not_found("the session was deleted").into_response(),
        Ended::Not => accepted(session, posted),
    };
    if let Ok(value) = HeaderValue::from_str(&format!("wait={seconds}")) {
        response.headers_mut().insert("preference-applied", value);
    }
    response
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
pub(super) fn streamed(gateway: &Gateway, session: Lease, posted: &Posted, presence: Presence, filter: Filter) -> Response {
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
