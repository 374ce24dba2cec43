//! Whether the process lives, and whether it can do its work.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::Gateway;
use crate::http::body::json;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Alive {
    status: Life,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Life {
    Ok,
}

/// Whether requests can be served.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Readiness {
    status: Service,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Service {
    Ready,
    Draining,
    StoreUnavailable,
}

/// Show that the process lives
#[utoipa::path(get, path = "/healthz", operation_id = "alive", tag = "operations",
    responses((status = 200, description = "It lives.", body = Alive)),
    extensions(("x-curl" = json!("curl -s $B/healthz")))
)]
pub(crate) async fn alive() -> Response {
    json(StatusCode::OK, &Alive { status: Life::Ok })
}

/// Show whether requests can be served
///
/// 503 while the process drains or its store cannot be read. The cause is in the log.
#[utoipa::path(get, path = "/readyz", operation_id = "ready", tag = "operations",
    responses((status = 200, description = "It is ready.", body = Readiness), (status = 503, description = "It is not.", body = Readiness)),
    extensions(("x-curl" = json!("curl -s $B/readyz")))
)]
pub(crate) async fn ready(State(gateway): State<Gateway>) -> Response {
    let settings = gateway.sessions.settings();
    let draining = gateway.draining.is_cancelled();
    match settings.store.due(settings.clock.now(), 1).await {
        Ok(_) if !draining => json(StatusCode::OK, &Readiness { status: Service::Ready }),
        Ok(_) => json(StatusCode::SERVICE_UNAVAILABLE, &Readiness { status: Service::Draining }),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            json(StatusCode::SERVICE_UNAVAILABLE, &Readiness { status: Service::StoreUnavailable })
        }
    }
}
