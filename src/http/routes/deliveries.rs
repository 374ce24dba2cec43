//! The outbox as an operator sees it: what is on its way, what was given up, and another try.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::{ListPage, Page};
use crate::domain::delivery::{DeliveryState, DeliveryView};
use crate::domain::outbox::UNKNOWN_FOR;
use crate::domain::{DeliveryId, Principal, Scope, SessionId};
use crate::http::body::json;
use crate::http::code::Code;
use crate::http::error::ApiError;
use crate::http::extract::{Path, Query};
use crate::http::openapi::parameters::{AfterDelivery, DeliveryPath, InState, Limit, OfSession};
use crate::http::{Gateway, need};
use crate::outbox::Resumed;
use crate::session::command::Retried;
use crate::store::{DeliveryFilter, Slice};

#[derive(Debug, Deserialize)]
pub(crate) struct DeliveriesQuery {
    state: Option<String>,
    session: Option<String>,
    #[serde(flatten)]
    page: Page,
}

/// A page of deliveries.
pub(crate) type DeliveryPage = ListPage<DeliveryView>;

/// List deliveries
///
/// Answers on their way to messaging channels, newest first, of every session that the caller may see. `state=dead` are those that were
/// given up.
#[utoipa::path(get, path = "/v1/deliveries", operation_id = "list_deliveries", tag = "deliveries",
    params(InState, OfSession, Limit, AfterDelivery),
    responses((status = 200, description = "A page of deliveries.", body = DeliveryPage)),
    extensions(("x-codes" = json!(["store_unavailable"])), ("x-curl" = json!("curl -s \"$B/v1/deliveries?state=dead\"")))
)]
pub(crate) async fn list(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Query(query): Query<DeliveriesQuery>,
) -> Result<Response, ApiError> {
    need(&caller, Scope::SessionsRead, "this")?;
    let filter = DeliveryFilter {
        tenant: caller.tenant.clone(),
        owner: (!caller.is_admin()).then(|| caller.name.clone()),
        session: query.session.as_deref().map(session).transpose()?,
        state: query.state.as_deref().map(state).transpose()?,
        after: query.page.after_id("dlv_")?.map(DeliveryId::from),
        limit: query.page.limit()?,
    };
    let Slice { rows, more } = gateway.sessions.settings().store.deliveries(filter).await?;
    let next_cursor = rows.last().filter(|_| more).map(|last| last.delivery_id.to_string());
    Ok(json(StatusCode::OK, &ListPage { data: rows, next_cursor }))
}

fn session(text: &str) -> Result<SessionId, ApiError> {
    let is_one = text.starts_with("ses_");
    if is_one { Ok(SessionId::from(text)) } else { Err(ApiError::invalid("session", "a session's id, which begins with ses_")) }
}

fn state(text: &str) -> Result<DeliveryState, ApiError> {
    let there = || DeliveryState::ALL.map(DeliveryState::as_str).join(", ");
    let found = DeliveryState::ALL.into_iter().find(|state| state.as_str() == text);
    found.ok_or_else(|| ApiError::invalid("state", format!("there is no such state; there are: {}", there())))
}

/// Try a delivery again
///
/// One that was given up, waits, or did not arrive goes on from its first part that is not there. One that may have been sent waits for the
/// platform's word. It also lets its account send again, if that was stopped because the platform refused it.
#[utoipa::path(post, path = "/v1/deliveries/{delivery_id}/retry", operation_id = "retry_delivery", tag = "deliveries",
    params(DeliveryPath),
    responses((status = 200, description = "The delivery as it stands now.", body = DeliveryView)),
    extensions(
        ("x-codes" = json!(["not_found", "conflict", "store_unavailable", "rate_limited"])),
        ("x-curl" = json!("curl -s -X POST $B/v1/deliveries/$D/retry")),
    )
)]
pub(crate) async fn retry(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(delivery_id): Path<String>,
) -> Result<Response, ApiError> {
    let none = || ApiError::not_found("there is no such delivery");
    let id = DeliveryId::from(delivery_id);
    let found = gateway.sessions.settings().store.delivery(&id).await?.ok_or_else(none)?;
    let session = gateway.session(&caller, found.session_id.as_str(), Scope::SessionsWrite).await;
    let session = session.map_err(|error| if error.code == Code::NotFound { none() } else { error })?;
    let resumed = gateway.outbox.resume(&found.to);
    match gateway.sessions.retry_delivery(&session, &id, caller.name.clone()).await? {
        Retried::Queued(view) => Ok(json(StatusCode::OK, &view)),
        // it was on its way all the time, and now it goes
        Retried::Standing(view) if resumed == Resumed::Account => Ok(json(StatusCode::OK, &view)),
        Retried::Standing(view) => Err(ApiError::new(Code::Conflict, standing(&view))),
    }
}

/// Why it is not tried again, and what comes of it.
fn standing(view: &DeliveryView) -> String {
    match view.state {
        DeliveryState::Queued => "it waits for its turn, and goes without being asked".to_owned(),
        DeliveryState::Sending => "it is being sent now; look again in a minute".to_owned(),
        DeliveryState::Unknown => {
            let until = view.updated_at + UNKNOWN_FOR;
            format!(
                "it may have arrived; a status is awaited until {until}, and after that it can be tried again, at the risk of a second one"
            )
        }
        DeliveryState::Sent | DeliveryState::Delivered | DeliveryState::Read => {
            format!("it is {}: there is nothing to try again", view.state.as_str())
        }
        DeliveryState::Failed | DeliveryState::Dead => {
            format!("it is {}, and too long ago: its session does not keep any more what it said", view.state.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::delivery::Purpose;
    use crate::domain::{Address, Recipient, Timestamp};

    #[test]
    fn each_state_says_why_it_stays_as_it_is() {
        let to = Address { channel: "whatsapp".into(), account: "main".into(), to: Recipient::Phone("15550100001".into()), message: None };
        let view = |state| DeliveryView {
            delivery_id: "dlv_1".into(),
            session_id: "ses_1".into(),
            purpose: Purpose::Answer,
            to: to.clone(),
            state,
            part: 1,
            of: 1,
            code: None,
            held: false,
            retry_at: None,
            channel_message_ids: Vec::new(),
            created_at: Timestamp(0),
            updated_at: Timestamp(60_000),
        };
        let said = |state| standing(&view(state));
        assert!(said(DeliveryState::Unknown).contains("may have arrived; a status is awaited until 1970-01-01T00:11:00.000Z"));
        for (state, words) in [
            (DeliveryState::Dead, "too long ago"),
            (DeliveryState::Sending, "being sent"),
            (DeliveryState::Sent, "it is sent:"),
            (DeliveryState::Queued, "waits"),
        ] {
            assert!(said(state).contains(words), "{state:?}: {}", said(state));
        }
    }
}
