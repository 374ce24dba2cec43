//! Approvals: the operator's inbox, one session's, and the decision.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ListPage, Page, waits};
use crate::domain::overview::approval_view;
use crate::domain::pending::{ApprovalView, Decision, Item, ItemKind};
use crate::domain::{Principal, Scope, SessionId};
use crate::http::body::{self, DECISION_CAP, Need};
use crate::http::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::parameters::{AfterApproval, ApprovalPath, Limit, OfStatus, SessionPath};
use crate::http::{Gateway, lacks, need};
use crate::session::command::Resolution;
use crate::store::{ApprovalFilter, Slice};

#[derive(Debug, Deserialize)]
pub(crate) struct ApprovalsQuery {
    status: Option<String>,
    #[serde(flatten)]
    page: Page,
}

/// A page of approvals.
pub(crate) type ApprovalPage = ListPage<ApprovalView>;

/// List all approvals
///
/// The operator's inbox: of every session that the caller may see.
#[utoipa::path(get, path = "/v1/approvals", operation_id = "list_approvals", tag = "approvals",
    params(OfStatus, Limit, AfterApproval),
    responses((status = 200, description = "A page of approvals.", body = ApprovalPage)),
    extensions(("x-codes" = json!(["store_unavailable"])), ("x-curl" = json!("curl -s \"$B/v1/approvals?status=pending\"")))
)]
pub(crate) async fn all(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Query(query): Query<ApprovalsQuery>,
) -> Result<Response, ApiError> {
    may_list(&caller)?;
    list(&gateway, &caller, None, query).await
}

/// Readers see what waits, and so does who decides.
fn may_list(caller: &Principal) -> Result<(), ApiError> {
    let decides = caller.may(Scope::Approve) || caller.may(Scope::ApproveOwn);
    if decides { Ok(()) } else { need(caller, Scope::SessionsRead, "this") }
}

/// List a session's approvals
#[utoipa::path(get, path = "/v1/sessions/{id}/approvals", operation_id = "list_session_approvals", tag = "approvals",
    params(SessionPath, OfStatus, Limit, AfterApproval),
    responses((status = 200, description = "A page of the session's approvals.", body = ApprovalPage)),
    extensions(("x-codes" = json!(["not_found", "store_unavailable"])), ("x-curl" = json!("curl -s \"$B/v1/sessions/$S/approvals?status=pending\"")))
)]
pub(crate) async fn of_session(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(id): Path<String>,
    Query(query): Query<ApprovalsQuery>,
) -> Result<Response, ApiError> {
    let session = gateway.session_to_decide(&caller, &id).await?;
    may_list(&caller)?;
    list(&gateway, &caller, Some(session.id().clone()), query).await
}

async fn list(gateway: &Gateway, caller: &Principal, session: Option<SessionId>, query: ApprovalsQuery) -> Result<Response, ApiError> {
    if query.status.as_deref().is_some_and(|s| !Item::STATUSES.contains(&s)) {
        return Err(ApiError::invalid("status", format!("one of {}", Item::STATUSES.join(", "))));
    }
    let (limit, after) = (query.page.limit()?, query.page.after_id("apr_")?.map(ToOwned::to_owned));
    let filter = ApprovalFilter {
        tenant: caller.tenant.clone(),
        owner: (!caller.may(Scope::Approve)).then(|| caller.name.clone()),
        session,
        status: query.status,
        after,
        limit,
    };
    let Slice { rows, more } = gateway.sessions.settings().store.approvals(filter).await?;
    let data: Vec<ApprovalView> = rows.iter().filter_map(|(session, item)| approval_view(session, item)).collect();
    let next_cursor = data.last().filter(|_| more).map(|last| last.approval_id.clone());
    let page = ListPage { data, next_cursor };
    Ok(body::json(StatusCode::OK, &page))
}

/// A person's decision.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decide {
    decision: Given,
    /// For the ledger, and with `deny` for the model.
    note: Option<String>,
    /// The `digest` that was shown to the person: the decision counts only for exactly that call.
    digest: Option<String>,
}

/// What a person can decide. What is offered for the call is narrower.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Given {
    AllowOnce,
    AllowSession,
    AllowAlways,
    Deny,
}

impl From<Given> for Decision {
    fn from(given: Given) -> Self {
        match given {
            Given::AllowOnce => Self::AllowOnce,
            Given::AllowSession => Self::AllowSession,
            Given::AllowAlways => Self::AllowAlways,
            Given::Deny => Self::Deny,
        }
    }
}

/// Decide an approval
///
/// The turn goes on with it. Checked in this order: 401; 404 the session is not yours; 403 you may not decide; 422; 404 no such approval;
/// 410 expired or cancelled; 409 another decision stands, or the digest differs. An equal decision again is 200 with the same body.
#[utoipa::path(post, path = "/v1/sessions/{id}/approvals/{approval_id}", operation_id = "decide_approval", tag = "approvals",
    params(SessionPath, ApprovalPath),
    request_body(content = Decide, example = json!({"decision": "allow_once", "note": "go ahead"})),
    responses((status = 200, description = "The approval with its decision.", body = ApprovalView)),
    extensions(
        ("x-codes" = json!(["not_found", "local_key_required", "expired", "already_decided", "digest_mismatch",
            "store_unavailable", "rate_limited"])),
        ("x-curl" = json!(r#"curl -s $B/v1/sessions/$S/approvals/$A --json '{"decision":"allow_once","note":"go ahead"}'"#)),
    )
)]
pub(crate) async fn decide(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path((id, approval_id)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let session = gateway.session_to_decide(&caller, &id).await?;
    let item = waits::find(&gateway, session.id(), &approval_id).await?;
    let tool = item.as_ref().and_then(|item| match &item.kind {
        ItemKind::Approval(a) => Some(a.tool.clone()),
        ItemKind::Question(_) | ItemKind::ClientCall(_) => None,
    });
    if !caller.may_decide(&session.overview()?.owner, tool.as_deref().is_some_and(|tool| gateway.has_effects(tool))) {
        return Err(lacks(&caller, Scope::ApproveOwn, "deciding on this tool"));
    }
    let decide: Decide = body::read(&headers, body, DECISION_CAP, Need::Required).await?.parse()?;
    let Some(item) = item.filter(|_| tool.is_some()) else { return Err(ApiError::not_found("there is no such approval")) };
    let answer = Resolution::Decision { decision: decide.decision.into(), note: decide.note, digest: decide.digest };
    let item = waits::resolve(&gateway, &caller, &session, item, answer).await?;
    let view = approval_view(session.id(), &item).ok_or_else(|| ApiError::not_found("there is no such approval"))?;
    Ok(body::json(StatusCode::OK, &view))
}
