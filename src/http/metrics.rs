//! What the edge measures: requests by route, readers, and how long a message waits to be accepted.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::future::BoxFuture;
use metrics::{Gauge, Histogram};

use super::Gateway;
use crate::meter::{DISK_SECONDS, Meter, Metric, WAIT_SECONDS};

const REQUESTS: Metric = Metric::counter(
    "portico_http_requests_total",
    &["method", "route", "status"],
    "Requests whose answer has begun, by the route's template; `none` is a path that there is not.",
);
const REQUEST: Metric = Metric::histogram(
    "portico_http_request_seconds",
    &["method", "route"],
    WAIT_SECONDS,
    "Time from a request's head to the head of its answer: streams end later, and `Prefer: wait` waits as long as it was asked to.",
);
const READERS: Metric = Metric::gauge("portico_readers", &[], "Event streams that are open.");
const ACCEPT: Metric =
    Metric::histogram("portico_accept_seconds", &[], DISK_SECONDS, "Time to accept a message, from its whole body to its being on disk.");

/// Every metric of this layer.
pub const ALL: &[Metric] = &[REQUESTS, REQUEST, READERS, ACCEPT];

/// Writes all metrics of the gateway as text. The composition root implements it.
pub trait Exposition: Send + Sync + 'static {
    /// In the Prometheus text format, version 0.0.4. Bounded in time.
    fn render(&self) -> BoxFuture<'_, String>;
}

/// The handles of one gateway's edge.
#[derive(Clone, Debug)]
pub struct HttpMetrics {
    meter: Meter,
    pub(super) readers: Gauge,
    pub(super) accept: Histogram,
}

impl HttpMetrics {
    pub fn new(meter: &Meter) -> Self {
        Self { meter: meter.clone(), readers: meter.gauge(&READERS, &[]), accept: meter.histogram(&ACCEPT, &[]) }
    }

    fn answered(&self, method: &str, route: &str, status: StatusCode, began: Instant) {
        self.meter.counter(&REQUESTS, &[method, route, status.as_str()]).increment(1);
        self.meter.histogram(&REQUEST, &[method, route]).record(began.elapsed());
    }
}

/// Measures each request.
pub(super) async fn measure(State(gateway): State<Gateway>, request: Request, next: Next) -> Response {
    let (began, method) = (Instant::now(), method(request.method()));
    let route = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    gateway.metrics.answered(method, route.as_ref().map_or("none", MatchedPath::as_str), response.status(), began);
    response
}

/// A client may send any word as a method.
fn method(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PATCH" => "PATCH",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}
