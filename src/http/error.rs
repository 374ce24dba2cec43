//! The one error of the edge. What a caller sees is the code, the detail and the fields; the cause goes to the log with the request's id.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tracing::error;

use super::code::Code;
use crate::session::SessionError;
use crate::store::StoreError;

/// The header that carries a request's id.
pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// A problem, as RFC 9457 shapes it.
#[derive(Clone, Debug)]
pub struct ApiError {
    /// The code's own, but where another says more.
    pub status: StatusCode,
    pub code: Code,
    pub detail: String,
    pub errors: Vec<FieldError>,
    pub retry_after_s: Option<u64>,
    cause: Option<String>,
}

/// What is wrong with one field.
#[derive(Clone, Debug, Serialize)]
pub struct FieldError {
    /// A JSON pointer into the body, or the name of a parameter or header.
    pub pointer: String,
    pub detail: String,
}

impl ApiError {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { status: code.status(), code, detail: detail.into(), errors: Vec::new(), retry_after_s: None, cause: None }
    }

    /// With a status that says more than the code's own.
    pub fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// One that may be repeated after that many seconds.
    pub fn again_in(self, seconds: u64) -> Self {
        Self { retry_after_s: Some(seconds), ..self }
    }

    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(Code::NotFound, detail)
    }

    pub fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(Code::Unauthorized, detail)
    }

    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(Code::Forbidden, detail)
    }

    pub fn local_key_required(what: &str) -> Self {
        let detail = format!("{what} needs the local key as bearer: it stands in the file local.key of the store's folder");
        Self::new(Code::LocalKeyRequired, detail)
    }

    /// A field of the body, or a parameter, that is not what it must be.
    pub fn invalid(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        let field = FieldError { pointer: pointer.into(), detail: detail.into() };
        let detail = match field.pointer.as_str() {
            "" => field.detail.clone(),
            pointer => format!("{pointer}: {}", field.detail),
        };
        Self { errors: vec![field], ..Self::new(Code::InvalidRequest, detail) }
    }

    /// The ledger cannot take or give it now; nothing was lost, and a retry may work.
    pub fn unavailable(detail: impl Into<String>, cause: impl Into<String>) -> Self {
        let error = Self::new(Code::StoreUnavailable, detail);
        Self { retry_after_s: Some(1), cause: Some(cause.into()), ..error }
    }

    fn problem(&self, request_id: &str) -> String {
        #[derive(Serialize)]
        struct Problem<'a> {
            r#type: String,
            title: &'a str,
            status: u16,
            detail: &'a str,
            code: Code,
            request_id: &'a str,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            errors: &'a [FieldError],
        }
        let problem = Problem {
            r#type: format!("urn:portico:problem:{}", self.code),
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
            code: self.code,
            request_id,
            errors: &self.errors,
        };
        serde_json::to_string(&problem).unwrap_or_default()
    }
}

impl From<SessionError> for ApiError {
    fn from(error: SessionError) -> Self {
        let again = |error: ApiError| ApiError { retry_after_s: Some(1), ..error };
        let detail = error.to_string();
        match error {
            SessionError::NotFound => Self::not_found(detail),
            SessionError::QueueFull => {
                let detail = "as much input waits in this session as may wait; post again when a turn has ended";
                again(Self::new(Code::QueueFull, detail))
            }
            SessionError::Busy => again(Self::new(Code::RateLimited, detail)),
            SessionError::MetadataTooLarge => Self::invalid("/metadata", detail),
            SessionError::NotQueued => Self::new(Code::AlreadyClaimed, detail),
            SessionError::Exists => Self::new(Code::Conflict, detail),
            SessionError::Stopping => Self::unavailable("the gateway is stopping; try again in a moment", "stopping"),
            SessionError::Unavailable(cause) => Self::unavailable("the ledger is not available; nothing was lost, try again", cause),
        }
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        SessionError::from(error).into()
    }
}

/// Carries the error to [`render`], which knows the request's id.
#[derive(Clone, Debug)]
struct Carried(Arc<ApiError>);

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(Carried(Arc::new(self)));
        response
    }
}

/// Gives every error its body, and logs the cause of those that are ours.
pub(super) async fn render(request: Request, next: Next) -> Response {
    let id = request.headers().get(&REQUEST_ID).and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned();
    let mut response = next.run(request).await;
    let Some(Carried(problem)) = response.extensions_mut().remove::<Carried>() else { return response };
    if problem.status.is_server_error() {
        error!(request = id, code = problem.code.as_str(), cause = problem.cause, "{}", problem.detail);
    }
    let (mut parts, _) = response.into_parts();
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    (parts, problem.problem(&id)).into_response()
}
