//! Whether the process lives, and whether it can do its work.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;

use crate::http::Gateway;
use crate::http::body::json;

/// `GET /healthz`
pub(crate) async fn alive() -> Response {
    json(StatusCode::OK, &json!({"status": "ok"}))
}

/// `GET /readyz`: 503 while the process drains or its store cannot be read. The cause is in the log.
pub(crate) async fn ready(State(gateway): State<Gateway>) -> Response {
    let settings = gateway.sessions.settings();
    let draining = gateway.draining.is_cancelled();
    match settings.store.due(settings.clock.now(), 1).await {
        Ok(_) if !draining => json(StatusCode::OK, &json!({"status": "ready"})),
        Ok(_) => json(StatusCode::SERVICE_UNAVAILABLE, &json!({"status": "draining"})),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            json(StatusCode::SERVICE_UNAVAILABLE, &json!({"status": "store_unavailable"}))
        }
    }
}
