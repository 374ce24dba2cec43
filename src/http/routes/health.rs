//! Whether the process lives, and whether it can do its work.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::Timestamp;
use crate::domain::principal::Scope;
use crate::http::body::json;
use crate::http::{Gateway, access};
use crate::outbox::StoppedAccount;
use crate::store::Trouble;

const READY: &str = "ready";
const UNREADY: &str = "unready";

/// How long the store may take to say how it is. Less than any probe waits by default, so that a disk that hangs is told and not guessed.
const PROBE: Duration = Duration::from_millis(800);

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Alive {
    status: Life,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Life {
    Ok,
}

/// Whether it can do its work. Only an administrator is told why not.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Readiness {
    #[schemars(extend("enum" = [READY, UNREADY]))]
    status: &'static str,
    /// For administrators.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<Vec<Reason>>,
    /// For administrators: what does not work and keeps nobody from being served.
    #[serde(skip_serializing_if = "Option::is_none")]
    troubles: Option<Vec<Reason>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Reason {
    /// A stable word.
    code: &'static str,
    detail: String,
}

/// What the log was told last. Anybody may ask, and probes ask every few seconds: only what changes is worth a line.
#[derive(Debug, Default)]
pub struct Told(Mutex<Vec<&'static str>>);

impl Told {
    /// Whether the codes are others than those of the last time.
    fn is_news(&self, reasons: &[Reason]) -> bool {
        let codes: Vec<_> = reasons.iter().map(|reason| reason.code).collect();
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = *told != codes;
        *told = codes;
        is_news
    }
}

/// Show that the process lives
///
/// It says nothing of its work, so that trouble of the disk does not restart it for ever.
#[utoipa::path(get, path = "/healthz", operation_id = "alive", tag = "operations",
    responses((status = 200, description = "It lives.", body = Alive)),
    extensions(("x-curl" = json!("curl -s $B/healthz")))
)]
pub(crate) async fn alive() -> Response {
    json(StatusCode::OK, &Alive { status: Life::Ok })
}

/// Show whether it can take input
#[utoipa::path(get, path = "/readyz", operation_id = "ready", tag = "operations",
    responses((status = 200, description = "It can.", body = Readiness), (status = 503, description = "It cannot.", body = Readiness)),
    extensions(("x-curl" = json!("curl -s $B/readyz")))
)]
pub(crate) async fn ready(State(gateway): State<Gateway>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let is_admin = access::caller(&gateway, &parts).is_ok_and(|caller| caller.may(Scope::Admin));
    let reasons = reasons(&gateway).await;
    let (code, status) = match reasons.is_empty() {
        true => (StatusCode::OK, READY),
        false => (StatusCode::SERVICE_UNAVAILABLE, UNREADY),
    };
    if gateway.told.is_news(&reasons) {
        log(&reasons);
    }
    let troubles = is_admin.then(|| troubles(&gateway)).filter(|troubles| !troubles.is_empty());
    json(code, &Readiness { status, reasons: is_admin.then_some(reasons), troubles })
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

/// Accounts by which nothing can be sent, or nothing gets through. Input still comes in and is answered, so the gateway is ready.
fn troubles(gateway: &Gateway) -> Vec<Reason> {
    let stopped = |StoppedAccount { account, code, remedy }| Reason {
        code: "channel_stopped",
        detail: format!("the platform refuses everything that {account} sends ({code}): {remedy}; then restart, or retry a delivery"),
    };
    let unreachable = |(account, since): (String, Timestamp)| Reason {
        code: "channel_unreachable",
        detail: format!("nothing that {account} sends has got through since {since}; what waits is tried again, and the log says why"),
    };
    let now = gateway.sessions.settings().clock.now();
    let (refused, lost) = (gateway.outbox.stopped_accounts(), gateway.outbox.unreachable_accounts(now));
    refused.into_iter().map(stopped).chain(lost.into_iter().map(unreachable)).collect()
}

fn log(reasons: &[Reason]) {
    for Reason { code, detail } in reasons {
        tracing::warn!(code, detail, "not ready");
    }
    if reasons.is_empty() {
        tracing::info!("ready again");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_set_of_codes_is_news() {
        let told = Told::default();
        let because = |codes: &[&'static str]| codes.iter().map(|code| Reason { code, detail: "why".into() }).collect::<Vec<_>>();
        let news = [&[][..], &["draining"], &["draining"], &["draining", "disk_full"], &["disk_full"], &["disk_full"], &[], &[]];
        assert_eq!(news.map(|codes| told.is_news(&because(codes))), [false, true, false, true, true, false, true, false]);
    }
}
