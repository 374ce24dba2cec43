//! What is measured, for administrators.

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::domain::Principal;
use crate::domain::principal::Scope;
use crate::http::error::ApiError;
use crate::http::{Gateway, need};

/// Read the metrics
///
/// In the Prometheus text format, for administrators.
#[utoipa::path(get, path = "/metrics", operation_id = "read_metrics", tag = "operations",
    responses((status = 200, description = "All metrics, as `docs/OPERATIONS.md` lists them.", content_type = "text/plain", body = String)),
    extensions(("x-codes" = json!(["unauthorized", "forbidden", "local_key_required", "internal"])), ("x-curl" = json!("curl -s $B/metrics")))
)]
pub(crate) async fn show(State(gateway): State<Gateway>, Extension(caller): Extension<Principal>) -> Result<Response, ApiError> {
    need(&caller, Scope::Admin, "reading metrics")?;
    let text = gateway.exposition.render().await;
    Ok(([(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"))], text).into_response())
}
