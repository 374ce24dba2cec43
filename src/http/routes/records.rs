//! Pages of the ledger, in the caller's view.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::Page;
use crate::domain::{Principal, Scope};
use crate::http::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::parameters::{AfterSeq, Limit, SessionPath, ViewOf};
use crate::http::{Gateway, body, view_for};
use crate::session::record::FeedRecord;
use crate::store::{Most, Slice};

#[derive(Debug, Deserialize)]
pub(crate) struct RecordsQuery {
    view: Option<String>,
    #[serde(flatten)]
    page: Page,
}

/// A page of the ledger. Written by hand, since records are text: what this describes is held to it by the tests.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a shape only")]
pub(crate) struct RecordPage {
    #[schemars(schema_with = "records")]
    data: (),
    /// Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

fn records(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "items": {"$ref": "#/components/schemas/Record"}})
}

/// Read the ledger
///
/// Pages of records, in the caller's view. A page covers `limit` records of the ledger; those that the view hides are not in it.
#[utoipa::path(get, path = "/v1/sessions/{id}/records", operation_id = "read_records", tag = "events",
    params(SessionPath, AfterSeq, Limit, ViewOf),
    responses((status = 200, description = "A page of records.", body = RecordPage)),
    extensions(("x-codes" = json!(["not_found", "store_unavailable"])), ("x-curl" = json!("curl -s \"$B/v1/sessions/$S/records?after=3&limit=2\"")))
)]
pub(crate) async fn page(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(id): Path<String>,
    Query(query): Query<RecordsQuery>,
) -> Result<Response, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsRead).await?;
    let view = view_for(&caller, query.view.as_deref())?;
    let (after, limit) = (query.page.after_seq()?, query.page.limit()?);
    let Slice { rows, more } = gateway.sessions.settings().store.read(session.id(), after, Most::rows(limit)).await?;
    let next_cursor = rows.last().map(|r| r.seq).filter(|_| more);
    let may_decide = gateway.may_decide(&caller, &session.overview()?.owner);
    let mut text = String::from("{\"data\":[");
    for stored in rows {
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
