//! Every route.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, Request, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::{delete, get, post};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{MakeRequestId, RequestId, SetRequestIdLayer};
use tower_http::set_header::SetResponseHeaderLayer;
use tower_http::trace::TraceLayer;
use tracing::{Span, field, info_span};
use uuid::Uuid;

use super::error::{ApiError, REQUEST_ID, render};
use super::routes::{approvals, artifacts, capabilities, events, export, health, messages, metrics, records, sessions, waits};
use super::{Gateway, access, assets};

/// The gateway's whole surface.
pub fn router(gateway: Gateway) -> Router {
    let v1 = Router::new()
        .route("/v1/sessions", post(sessions::create).get(sessions::list))
        .route("/v1/sessions/{id}", get(sessions::show).patch(sessions::change).delete(sessions::erase))
        .route("/v1/sessions/{id}/messages", post(messages::post).get(messages::transcript))
        .route("/v1/sessions/{id}/messages/{message_id}", delete(messages::take_back))
        .route("/v1/sessions/{id}/cancel", post(sessions::cancel))
        .route("/v1/sessions/{id}/events", get(events::feed))
        .route("/v1/sessions/{id}/records", get(records::page))
        .route("/v1/sessions/{id}/capabilities", get(capabilities::show))
        .route("/v1/sessions/{id}/artifacts/{artifact_id}", get(artifacts::show))
        .route("/v1/sessions/{id}/export", get(export::whole))
        .route("/v1/sessions/{id}/approvals", get(approvals::of_session))
        .route("/v1/sessions/{id}/approvals/{approval_id}", post(approvals::decide))
        .route("/v1/sessions/{id}/questions/{question_id}", post(waits::answer_question))
        .route("/v1/sessions/{id}/client_calls/{tool_call_id}", post(waits::answer_client_call))
        .route("/v1/approvals", get(approvals::all))
        .route("/metrics", get(metrics::show))
        .layer(from_fn_with_state(gateway.clone(), access::authenticate));
    let public = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/", get(assets::index))
        .route("/page.js", get(assets::script))
        .route("/api.js", get(assets::api))
        .route("/cards.js", get(assets::cards))
        .route("/feed.js", get(assets::feed))
        .route("/markdown.js", get(assets::markdown))
        .route("/scroll.js", get(assets::scroll))
        .route("/page.css", get(assets::style));
    let around = ServiceBuilder::new()
        .layer(SetRequestIdLayer::new(REQUEST_ID, NewId))
        .layer(SetResponseHeaderLayer::if_not_present(axum::http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")))
        .layer(TraceLayer::new_for_http().make_span_with(span).on_response(()).on_failure(()))
        .layer(from_fn_with_state(gateway.clone(), super::metrics::measure))
        .layer(from_fn(stamp))
        .layer(from_fn(render))
        .layer(CatchPanicLayer::custom(|_| internal()));
    v1.merge(public)
        .fallback(|| async { ApiError::not_found("there is nothing at this path") })
        .method_not_allowed_fallback(|| async {
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "invalid_request", "this path does not take this method")
        })
        // every route that takes a body has its own cap
        .layer(DefaultBodyLimit::disable())
        .layer(around)
        .with_state(gateway)
}

/// A new id for each request; one that a caller sends is not taken over, so that ids in the log are ours.
#[derive(Clone, Copy, Debug)]
struct NewId;

impl MakeRequestId for NewId {
    fn make_request_id<B>(&mut self, _request: &Request<B>) -> Option<RequestId> {
        HeaderValue::from_str(&format!("req_{}", Uuid::now_v7().simple())).ok().map(RequestId::new)
    }
}

/// Puts the request's id into the answer.
async fn stamp(request: axum::extract::Request, next: axum::middleware::Next) -> axum::response::Response {
    let id = request.headers().get(&REQUEST_ID).cloned();
    let mut response = next.run(request).await;
    if let Some(id) = id {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// Ids and the path, never a query or a body: they may hold what nobody else may read.
fn span<B>(request: &Request<B>) -> Span {
    let id = request.headers().get(&REQUEST_ID).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let span = info_span!("request", id, method = %request.method(), path = request.uri().path(), session = field::Empty);
    if let Some(session) = request.uri().path().strip_prefix("/v1/sessions/").and_then(|rest| rest.split('/').next()) {
        span.record("session", session);
    }
    span
}

fn internal() -> axum::response::Response {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the gateway failed; the log has the cause").into_response()
}
