//! The session's feed as one endless stream: reconnects by itself where it was cut. The only file that reads SSE. Knows what moves a cursor
//! and what ends a connection; what an event means is the transcript's.

use std::time::Duration;

use async_stream::stream;
use futures_util::Stream;
use reqwest::Response;

use super::api::{Api, ApiError, Opened, next_chunk};
use super::backoff::{Backoff, Patience};
use super::transcript::Join;
use super::visible::exact;
use super::wire::{self, Closing, Event};
use crate::domain::SessionId;
use crate::domain::sse::Parser;

/// One thing that the feed tells.
#[derive(Debug)]
pub(super) enum FeedItem {
    Joined(Join),
    Event(RawEvent),
    /// The connection is gone or did not come about; another try follows.
    Lost(String),
    /// Nothing follows.
    Ended(End),
}

/// An event as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RawEvent {
    pub(super) event: String,
    /// Absent where this event moved no cursor.
    pub(super) id: Option<String>,
    pub(super) data: String,
}

/// Why the feed is over.
#[derive(Debug)]
pub(super) enum End {
    /// The session is deleted, or has nothing left to come.
    Over,
    Refused(ApiError),
    /// Patience is at its end.
    GaveUp(String),
}

/// The feed from after `after`. Dropping the stream closes the connection.
pub(super) fn feed(api: Api, session: SessionId, after: String, patience: Patience) -> impl Stream<Item = FeedItem> {
    stream! {
        let mut last_id: Option<String> = None;
        let mut backoff = Backoff::new(patience);
        loop {
            let lost = match api.open_feed(&session, last_id.as_deref(), &after).await {
                Ok(Opened::Over) => {
                    yield FeedItem::Ended(End::Over);
                    return;
                }
                Ok(Opened::Feed(response)) => {
                    yield FeedItem::Joined(if last_id.is_some() { Join::OwnLastId } else { Join::Elsewhere });
                    let mut connection = Connection::new(response, last_id.take().as_deref());
                    let lost = loop {
                        match connection.next().await {
                            Ok(event) => {
                                backoff.reset();
                                yield FeedItem::Event(event);
                            }
                            Err(lost) => break lost,
                        }
                    };
                    last_id = connection.last_id();
                    if let Some(ms) = connection.parser.retry_ms() {
                        backoff.set_floor(Duration::from_millis(ms));
                    }
                    lost
                }
                Err(error) if error.is_passing() => Lost { why: error.in_passing(), after: error.retry_after(), deleted: false },
                Err(error) => {
                    yield FeedItem::Ended(End::Refused(error));
                    return;
                }
            };
            if lost.deleted {
                yield FeedItem::Ended(End::Over);
                return;
            }
            let Some(wait) = backoff.next(lost.after) else {
                yield FeedItem::Ended(End::GaveUp(lost.why));
                return;
            };
            yield FeedItem::Lost(lost.why);
            tokio::time::sleep(wait).await;
        }
    }
}

/// How a connection ended.
#[derive(Debug)]
struct Lost {
    why: String,
    /// The server's wish.
    after: Option<Duration>,
    deleted: bool,
}

struct Connection {
    response: Response,
    parser: Parser,
    closing: Option<Closing>,
}

impl Connection {
    fn new(response: Response, started_at: Option<&str>) -> Self {
        Self { response, parser: started_at.map_or_else(Parser::new, Parser::after), closing: None }
    }

    fn last_id(&self) -> Option<String> {
        // an empty id clears it
        Some(self.parser.last_event_id().to_owned()).filter(|id| !id.is_empty())
    }

    async fn next(&mut self) -> Result<RawEvent, Lost> {
        loop {
            let before = self.parser.last_event_id().to_owned();
            match self.parser.next() {
                Some(Ok(event)) => {
                    let id = (event.id != before).then(|| event.id.to_owned());
                    let event = RawEvent { event: event.name.to_owned(), id, data: event.data.into_owned() };
                    if let Event::Closing(closing) = wire::read(&event.event, &event.data) {
                        self.closing = Some(closing);
                    }
                    return Ok(event);
                }
                Some(Err(error)) => return Err(self.lost(error.to_string())),
                None => {}
            }
            match next_chunk(&mut self.response).await {
                Ok(Some(bytes)) => self.parser.push(&bytes),
                Ok(None) => return Err(self.lost("the gateway closed the connection".into())),
                Err(why) => return Err(self.lost(why)),
            }
        }
    }

    fn lost(&mut self, why: String) -> Lost {
        match self.closing.take() {
            None => Lost { why, after: None, deleted: false },
            Some(closing) => Lost {
                why: match closing.reason.as_str() {
                    "draining" => "the gateway is restarting".into(),
                    reason => format!("the gateway closed the connection ({})", exact(reason)),
                },
                after: closing.retry_after_ms.map(Duration::from_millis),
                deleted: closing.reason == "deleted",
            },
        }
    }
}
