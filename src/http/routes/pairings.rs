//! Strangers who ask to be let in, and the operator's word about each.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ListPage, Page};
use crate::channel::pairings::{Admission, shown};
use crate::domain::pairing::{Pairing, PairingStatus};
use crate::domain::{Principal, Scope, Timestamp};
use crate::http::body::json;
use crate::http::code::Code;
use crate::http::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::parameters::{AfterPairing, CodePath, Limit, PairingStands};
use crate::http::{Gateway, need};
use crate::store::{PairingFilter, Slice};

/// A person who asked.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Pairing")]
pub(crate) struct PairingView {
    /// What he was told. Letters may be written small, and the dash left out.
    code: String,
    channel: String,
    account: String,
    /// What is known of him: `phone:15550100001`, `user:US.1349`.
    ids: Vec<String>,
    /// What he calls himself: no proof of who he is.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    status: PairingStatus,
    asked_at: Timestamp,
    /// From then on the code lets nobody in; who is in stays.
    expires_at: Timestamp,
    /// Whether the platform took the message with the code.
    told: bool,
}

impl From<Pairing> for PairingView {
    fn from(pairing: Pairing) -> Self {
        let Pairing { code, channel, account, ids, name, status, asked_at, expires_at, told, .. } = pairing;
        let ids = ids.iter().map(ToString::to_string).collect();
        Self { code: shown(&code), channel, account, ids, name, status, asked_at, expires_at, told }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct PairingsQuery {
    status: Option<String>,
    #[serde(flatten)]
    page: Page,
}

/// A page of pairings.
pub(crate) type PairingPage = ListPage<PairingView>;

/// List who asked to be let in
///
/// Strangers who wrote to an account with `access = "pairing"`, and those who were let in.
#[utoipa::path(get, path = "/v1/pairings", operation_id = "list_pairings", tag = "pairings",
    params(PairingStands, Limit, AfterPairing),
    responses((status = 200, description = "A page of pairings.", body = PairingPage)),
    extensions(("x-codes" = json!(["store_unavailable"])), ("x-curl" = json!("curl -s \"$B/v1/pairings?status=pending\"")))
)]
pub(crate) async fn list(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Query(query): Query<PairingsQuery>,
) -> Result<Response, ApiError> {
    need(&caller, Scope::Admin, "seeing who asks to be let in")?;
    let status = match query.status.as_deref() {
        None => None,
        Some("pending") => Some(PairingStatus::Pending),
        Some("admitted") => Some(PairingStatus::Admitted),
        Some(_) => return Err(ApiError::invalid("status", "there is no such status; there are: pending, admitted")),
    };
    let after = query.page.after_id("")?.map(ToOwned::to_owned);
    let filter = PairingFilter { tenant: caller.tenant.clone(), status, after, limit: query.page.limit()? };
    let Slice { rows, more } = gateway.sessions.settings().store.pairings(filter).await?;
    let next_cursor = rows.last().filter(|_| more).map(|last| last.code.clone());
    let page = ListPage { data: rows.into_iter().map(PairingView::from).collect(), next_cursor };
    Ok(json(StatusCode::OK, &page))
}

/// Let a stranger in
///
/// By the code that he was told, which he gives you by another way: that is what shows who he is. He is told that he may write now. After
/// too many codes that there are not, no code of this caller counts for ten minutes.
#[utoipa::path(post, path = "/v1/pairings/{code}", operation_id = "admit_pairing", tag = "pairings",
    params(CodePath),
    responses((status = 200, description = "Who was let in.", body = PairingView)),
    extensions(
        ("x-codes" = json!(["not_found", "expired", "rate_limited", "store_unavailable"])),
        ("x-curl" = json!("curl -s -X POST $B/v1/pairings/$P")),
    )
)]
pub(crate) async fn admit(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(code): Path<String>,
) -> Result<Response, ApiError> {
    need(&caller, Scope::Admin, "letting somebody in")?;
    match gateway.reception.admit(&caller.tenant, &caller.name, &code).await? {
        Admission::Admitted(pairing) | Admission::AlreadyIn(pairing) => Ok(json(StatusCode::OK, &PairingView::from(pairing))),
        Admission::Unknown => Err(none()),
        Admission::Expired => {
            Err(ApiError::new(Code::Expired, "the code counted for an hour; when that person writes again, there is a new one"))
        }
        Admission::TooMany { again_in } => {
            let until = gateway.sessions.settings().clock.now() + again_in;
            let detail = format!("too many codes that there are not; codes of yours count again from {until}");
            Err(ApiError::new(Code::RateLimited, detail).again_in(again_in.as_secs().max(1)))
        }
    }
}

/// Send a stranger away
///
/// Also one who was let in: from here on he is a stranger again.
#[utoipa::path(delete, path = "/v1/pairings/{code}", operation_id = "refuse_pairing", tag = "pairings",
    params(CodePath),
    responses((status = 204, description = "He is not let in.")),
    extensions(
        ("x-codes" = json!(["not_found", "store_unavailable"])),
        ("x-curl" = json!("curl -s -X DELETE $B/v1/pairings/$P")),
    )
)]
pub(crate) async fn refuse(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(code): Path<String>,
) -> Result<Response, ApiError> {
    need(&caller, Scope::Admin, "sending somebody away")?;
    if gateway.reception.refuse(&caller.tenant, &code).await? { Ok(StatusCode::NO_CONTENT.into_response()) } else { Err(none()) }
}

fn none() -> ApiError {
    ApiError::not_found("there is no such code")
}
