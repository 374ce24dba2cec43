//! Every route. A handler is registered by its `#[utoipa::path]`, which also describes it in `openapi.json`; the page's own files are no API,
//! and webhooks are their platforms'.

use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, Request, StatusCode};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Extension, Router};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::request_id::{MakeRequestId, RequestId, SetRequestIdLayer};
use tower_http::set_header::SetResponseHeaderLayer;
use tracing::{Instrument, Span, debug, field, info_span};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::code::Code;
use super::error::{ApiError, REQUEST_ID, render};
use super::openapi::Document;
use super::routes::{
    approvals, artifacts, capabilities, channels, deliveries, events, export, handoff, health, messages, metrics, pairings, records,
    sessions, waits,
};
use super::{Gateway, access, assets, openapi};

/// The gateway's whole surface.
pub fn router(gateway: Gateway) -> Router {
    let (v1, public) = (v1().layer(from_fn_with_state(gateway.clone(), access::authenticate)), public());
    let (api, described) = v1.merge(public).split_for_parts();
    let around = ServiceBuilder::new()
        .map_request(nameless)
        .layer(SetRequestIdLayer::new(REQUEST_ID, NewId))
        .layer(SetResponseHeaderLayer::if_not_present(axum::http::header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")))
        .layer(from_fn(spanned))
        .layer(from_fn_with_state(gateway.clone(), super::metrics::measure))
        .layer(from_fn(stamp))
        .layer(from_fn(render))
        .layer(CatchPanicLayer::custom(|_| internal()));
    api.merge(assets::routes())
        .route(channels::PATH, get(channels::take).post(channels::take))
        .layer(Extension(Document::of(described)))
        .fallback(|| async { ApiError::not_found("there is nothing at this path") })
        .method_not_allowed_fallback(|| async {
            ApiError::new(Code::InvalidRequest, "this path does not take this method").with_status(StatusCode::METHOD_NOT_ALLOWED)
        })
        // every route that takes a body has its own cap
        .layer(DefaultBodyLimit::disable())
        .layer(around)
        .with_state(gateway)
}

/// What needs a credential.
fn v1() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new()
        .routes(routes!(sessions::create::create, sessions::list))
        .routes(routes!(sessions::show, sessions::change, sessions::erase))
        .routes(routes!(sessions::cancel))
        .routes(routes!(messages::post, messages::transcript))
        .routes(routes!(messages::take_back))
        .routes(routes!(events::feed))
        .routes(routes!(records::page))
        .routes(routes!(export::whole))
        .routes(routes!(artifacts::show))
        .routes(routes!(approvals::all))
        .routes(routes!(approvals::of_session))
        .routes(routes!(approvals::decide))
        .routes(routes!(waits::answer_question))
        .routes(routes!(waits::answer_client_call))
        .routes(routes!(handoff::hand_off))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::retry))
        .routes(routes!(pairings::list))
        .routes(routes!(pairings::admit, pairings::refuse))
        .routes(routes!(capabilities::show))
        .routes(routes!(metrics::show))
}

/// What is for everyone.
fn public() -> OpenApiRouter<Gateway> {
    OpenApiRouter::new().routes(routes!(health::alive)).routes(routes!(health::ready)).routes(routes!(openapi::show))
}

/// What the routes say of themselves.
pub fn described() -> OpenApi {
    v1().merge(public()).into_openapi()
}

/// Takes away an id that the caller sends, which would be taken over: ids in the log are ours, and what callers send may be a secret.
fn nameless<B>(mut request: Request<B>) -> Request<B> {
    request.headers_mut().remove(&REQUEST_ID);
    request
}

/// A new id for each request.
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

/// Runs the handler in its request's span. What it answers is outside: a stream would enter and leave the span at each of its frames.
async fn spanned(request: axum::extract::Request, next: axum::middleware::Next) -> axum::response::Response {
    let span = span(&request);
    let answered = async {
        let response = next.run(request).await;
        debug!(status = response.status().as_u16(), "answered");
        response
    };
    answered.instrument(span).await
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
    ApiError::new(Code::Internal, "the gateway failed; the log has the cause").into_response()
}
