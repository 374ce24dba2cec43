//! `GET /metrics`: for administrators, in the Prometheus text format.

use axum::Extension;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::domain::Principal;
use crate::http::Gateway;
use crate::http::error::ApiError;

pub(crate) async fn show(State(gateway): State<Gateway>, Extension(caller): Extension<Principal>) -> Result<Response, ApiError> {
    if !caller.scopes.admin {
        return Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", "metrics need the scope admin"));
    }
    let text = gateway.exposition.render().await;
    Ok(([(CONTENT_TYPE, HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"))], text).into_response())
}
