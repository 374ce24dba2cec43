//! `GET /v1/sessions/{id}/records`: pages of the ledger, in the caller's view.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::{Page, cut};
use crate::domain::{Principal, Scope};
use crate::http::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::{Gateway, body, view_for};
use crate::session::record::FeedRecord;

#[derive(Debug, Deserialize)]
pub(crate) struct RecordsQuery {
    view: Option<String>,
    #[serde(flatten)]
    page: Page,
}

/// A page covers `limit` records of the ledger; those that the view hides are not in it.
pub(crate) async fn page(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(id): Path<String>,
    Query(query): Query<RecordsQuery>,
) -> Result<Response, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsRead).await?;
    let view = view_for(&caller, query.view.as_deref())?;
    let (after, limit) = (query.page.after_seq()?, query.page.limit()?);
    let mut records = gateway.sessions.settings().store.read(session.id(), after, limit + 1).await?;
    let more = cut(&mut records, limit);
    let next_cursor = records.last().map(|r| r.seq).filter(|_| more);
    let may_decide = gateway.may_decide(&caller, &session.overview()?.owner);
    let mut text = String::from("{\"data\":[");
    for stored in records {
        let record = FeedRecord::from_stored(stored).map_err(|e| ApiError::unavailable("a record cannot be read", e.to_string()))?;
        if let Some(data) = record.data(view, may_decide.as_ref()) {
            text.push_str(if text.ends_with('[') { "" } else { "," });
            text.push_str(&data);
        }
    }
    text.push(']');
    if let Some(seq) = next_cursor {
        text.push_str(&format!(",\"next_cursor\":\"{seq}\""));
    }
    text.push('}');
    Ok(body::raw_json(StatusCode::OK, text))
}
