//! Whether the process lives, and whether it can do its work.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;
use serde_json::json;

use crate::domain::principal::Scope;
use crate::http::body::json;
use crate::http::{Gateway, access};
use crate::store::Trouble;

/// How long the store may take to say how it is. Less than any probe waits by default, so that a disk that hangs is told and not guessed.
const PROBE: Duration = Duration::from_millis(800);

/// Whether it can do its work. Only an administrator is told why not.
#[derive(Serialize)]
struct Readiness {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<Vec<Reason>>,
}

#[derive(Serialize)]
struct Reason {
    code: &'static str,
    detail: String,
}

/// `GET /healthz`: the process lives. It says nothing of its work, so that trouble of the disk does not restart it for ever.
pub(crate) async fn alive() -> Response {
    json(StatusCode::OK, &json!({"status": "ok"}))
}

/// `GET /readyz`: 503 while it cannot take input.
pub(crate) async fn ready(State(gateway): State<Gateway>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let is_admin = access::caller(&gateway, &parts).is_ok_and(|caller| caller.may(Scope::Admin));
    let reasons = reasons(&gateway).await;
    let (code, status) = match reasons.is_empty() {
        true => (StatusCode::OK, "ready"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "unready"),
    };
    for Reason { code, detail } in &reasons {
        tracing::warn!(code, detail, "not ready");
    }
    json(code, &Readiness { status, reasons: is_admin.then_some(reasons) })
}

async fn reasons(gateway: &Gateway) -> Vec<Reason> {
    let draining = gateway.draining.is_cancelled().then(|| Reason {
        code: "draining",
        detail: "the process stops: it takes no input, and running turns get their drain time".into(),
    });
    let asked = tokio::time::timeout(PROBE, gateway.sessions.settings().store.trouble()).await;
    let store = asked.unwrap_or_else(|_| {
        let detail = format!("the store did not answer within {} ms; look at the disk", PROBE.as_millis());
        Some(Trouble { code: "store_stalled", detail })
    });
    draining.into_iter().chain(store.map(|Trouble { code, detail }| Reason { code, detail })).collect()
}
