//! `GET /metrics`: for administrators, in the Prometheus text format.

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

use crate::domain::Principal;
use crate::domain::principal::Scope;
use crate::http::error::ApiError;
use crate::http::{Gateway, need};

pub(crate) async fn show(State(gateway): State<Gateway>, Extension(caller): Extension<Principal>) -> Result<Response, ApiError> {
    need(&caller, Scope::Admin, "reading metrics")?;
    let text = gateway.exposition.render().await;
    Ok(([(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"))], text).into_response())
}
