//! The whole ledger in the caller's view, one record a line.
//!
//! It is read page by page as the client takes it, and no page holds the store while it is sent. What cannot be had whole does not end as if
//! it were: the answer is cut off, which a client sees.

use std::sync::Arc;

use async_stream::try_stream;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::Stream;
use serde::Deserialize;
use tracing::warn;

use super::INERT;
use crate::domain::{Principal, Scope, Seq, View};
use crate::http::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::parameters::{SessionPath, ViewOf};
use crate::http::{Gateway, view_for};
use crate::session::Lease;
use crate::session::record::FeedRecord;
use crate::store::{Most, StoreError, StoredRecord};

/// What is read at once, for each client that takes an export: about a hundred usual records, or one of the longest.
const PAGE: Most = Most { rows: 256, bytes: 256 * 1024 };

#[derive(Debug, Deserialize)]
pub(crate) struct ExportQuery {
    view: Option<String>,
}

/// Export a session
///
/// The whole ledger in the caller's view, one `Record` a line: everything up to the head that is durable now. What cannot be had whole does not
/// end as if it were: the connection is cut.
#[utoipa::path(get, path = "/v1/sessions/{id}/export", operation_id = "export_session", tag = "events",
    params(SessionPath, ViewOf),
    responses((status = 200, description = "The records, one a line.", content_type = "application/x-ndjson", body = String)),
    extensions(("x-codes" = json!(["not_found", "store_unavailable"])), ("x-curl" = json!("curl -s $B/v1/sessions/$S/export")))
)]
pub(crate) async fn whole(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(id): Path<String>,
    Query(query): Query<ExportQuery>,
) -> Result<Response, ApiError> {
    let lease = gateway.session(&caller, &id, Scope::SessionsRead).await?;
    let view = view_for(&caller, query.view.as_deref())?;
    let overview = lease.overview()?;
    let may_decide = gateway.may_decide(&caller, &overview.owner);
    let export = Export { view, may_decide, head: overview.head, sent: 0, lease, gateway };
    // a store that cannot read at all is said before the answer begins
    let first = export.read().await?;
    let headers = [
        (CONTENT_TYPE, "application/x-ndjson".to_owned()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{}.jsonl\"", export.lease.id())),
        (CONTENT_SECURITY_POLICY, INERT.to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, Body::from_stream(export.pages(first))).into_response())
}

/// An export on its way.
struct Export {
    gateway: Gateway,
    lease: Lease,
    view: View,
    may_decide: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    /// Where it ends.
    head: Seq,
    /// The last record that is written.
    sent: Seq,
}

/// Why an export ends before its end.
#[derive(Debug, thiserror::Error)]
enum Cut {
    #[error("{0}")]
    Store(#[from] StoreError),
    #[error("record {0} cannot be read: {1}")]
    Record(Seq, serde_json::Error),
    #[error("record {0} is not there any more: the session was deleted")]
    Gone(Seq),
}

impl Export {
    async fn read(&self) -> Result<Vec<StoredRecord>, StoreError> {
        let rows = usize::try_from(self.head - self.sent).unwrap_or(PAGE.rows).min(PAGE.rows);
        let read = self.gateway.sessions.settings().store.read(self.lease.id(), self.sent, Most { rows, ..PAGE });
        Ok(read.await?.rows)
    }

    fn pages(mut self, first: Vec<StoredRecord>) -> impl Stream<Item = Result<Bytes, Cut>> + Send {
        try_stream! {
            let mut page = first;
            loop {
                let lines = self.lines(page).inspect_err(|why| self.warn(why))?;
                yield Bytes::from(lines);
                if self.sent >= self.head {
                    return;
                }
                page = self.read().await.map_err(Cut::from).inspect_err(|why| self.warn(why))?;
            }
        }
    }

    /// A page as lines. Records of the ledger stand one behind the other, so one that is missing is found.
    fn lines(&mut self, page: Vec<StoredRecord>) -> Result<String, Cut> {
        if page.is_empty() {
            return Err(Cut::Gone(self.sent + 1));
        }
        let mut lines = String::new();
        for stored in page {
            let seq = stored.seq;
            if seq != self.sent + 1 {
                return Err(Cut::Gone(self.sent + 1));
            }
            let record = FeedRecord::from_stored(stored).map_err(|error| Cut::Record(seq, error))?;
            if let Some(data) = record.data(self.view, self.may_decide.as_ref()) {
                lines.push_str(&data);
                lines.push('\n');
            }
            self.sent = seq;
        }
        Ok(lines)
    }

    fn warn(&self, why: &Cut) {
        warn!(session = %self.lease.id(), %why, "an export is cut off");
    }
}
