//! The feed.
//!
//! Trouble never answers 5xx here: a browser's `EventSource` gives up for ever on anything but 200, so it gets 200, when to come back, and
//! the end.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use crate::domain::{Cursor, Principal, Scope};
use crate::http::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::parameters::{AfterCursor, LastEventId, SessionPath, Types, ViewOf};
use crate::http::sse::{self, Source};
use crate::http::{Gateway, view_for};
use crate::session::reader::{Filter, NotThere};
use crate::session::{Lease, Reader};

#[derive(Debug, Default, Deserialize)]
pub(crate) struct FeedQuery {
    after: Option<String>,
    types: Option<String>,
    view: Option<String>,
}

/// Where a reader wants to begin.
enum Start {
    /// With all that is durable behind it; live text of the open attempt from its first delta.
    Head,
    At(Cursor),
    Malformed,
}

/// Follow a session
///
/// Server-Sent Events, without an end of its own: first `hello`, then the records behind the cursor, then what comes, live text included.
/// Come back with the last id, and nothing is missing or repeated. `Last-Event-ID` wins over `after`; neither is the beginning.
/// Trouble is no 5xx here, which would make a browser give up: the stream ends with `closing`, and is there again after `retry_after_ms`.
#[utoipa::path(get, path = "/v1/sessions/{id}/events", operation_id = "follow_session", tag = "events",
    params(SessionPath, AfterCursor, LastEventId, Types, ViewOf),
    responses((status = 200, description = "The stream: each event is a `StreamEvent`.", content_type = "text/event-stream", body = String)),
    extensions(
        ("x-codes" = json!(["not_found"])),
        ("x-curl" = json!("curl -sN $B/v1/sessions/$S/events -H 'Last-Event-ID: 3'")),
    )
)]
pub(crate) async fn feed(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(id): Path<String>,
    Query(query): Query<FeedQuery>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let session = match gateway.session(&caller, &id, Scope::SessionsRead).await {
        Ok(session) => session,
        Err(error) if error.status.is_server_error() => return Ok(sse::trouble()),
        Err(error) => return Err(error),
    };
    let view = view_for(&caller, query.view.as_deref())?;
    let last = headers.get("last-event-id").map(|v| v.to_str().unwrap_or("?"));
    let start = start(last.filter(|id| !id.is_empty()).or(query.after.as_deref()));
    let types = types(query.types.as_deref().unwrap_or_default())?;
    match gateway.sessions.repair(&session).await.map_err(ApiError::from) {
        Err(error) if error.status.is_server_error() => return Ok(sse::trouble()),
        repaired => repaired?,
    }
    let Ok(overview) = session.overview() else { return Ok(sse::trouble()) };
    let filter = Filter { view, types, may_decide: gateway.may_decide(&caller, &overview.owner) };
    Ok(source(session, filter, &start).map_or_else(sse::trouble, |source| sse::feed(&gateway, source)))
}

fn start(text: Option<&str>) -> Start {
    match text {
        None => Start::At(Cursor::default()),
        Some("head") => Start::Head,
        Some(text) => text.parse().map_or(Start::Malformed, Start::At),
    }
}

/// `None` for all. A name that is none would be a stream on which nothing ever comes.
fn types(text: &str) -> Result<Option<Arc<BTreeSet<String>>>, ApiError> {
    let asked: BTreeSet<String> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(ToOwned::to_owned).collect();
    if let Some(unknown) = asked.iter().find(|name| !sse::filters().any(|kind| kind == *name)) {
        let there = sse::kinds().collect::<Vec<_>>().join(", ");
        return Err(ApiError::invalid("types", format!("{unknown:?} is no type of event; there are: {there}")));
    }
    Ok((!asked.is_empty()).then(|| Arc::new(asked)))
}

/// `None` while the session's readers are being told to go.
fn source(lease: Lease, filter: Filter, start: &Start) -> Option<Source> {
    let feed = lease.feed().clone();
    let mut opening = String::new();
    sse::hello(&mut opening, &feed, filter.view, filter.may_decide.as_ref());
    let head = feed.overview()?.head;
    let begun = match start {
        Start::Head => Reader::new(feed.clone(), filter.clone(), Cursor { seq: head, n: 0 }),
        Start::At(cursor) => Reader::new(feed.clone(), filter.clone(), *cursor),
        Start::Malformed => return anew(lease, filter, opening, "malformed"),
    };
    match begun {
        Ok(reader) => {
            if matches!(start, Start::Head) {
                sse::id_only(&mut opening, reader.cursor());
            }
            Some(Source { lease, reader, opening })
        }
        Err(NotThere::Ahead) => anew(lease, filter, opening, "ahead"),
        Err(NotThere::Closed) => None,
    }
}

/// From record 1, told so.
fn anew(lease: Lease, filter: Filter, mut opening: String, reason: &str) -> Option<Source> {
    sse::frame(&mut opening, "reset", None, &json!({"reason": reason, "from_seq": 1}).to_string());
    let reader = Reader::new(lease.feed().clone(), filter, Cursor::default()).ok()?;
    Some(Source { lease, reader, opening })
}
