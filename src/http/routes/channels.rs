//! Webhooks of messaging platforms. They bring their own proof, which the account's adapter judges over the raw bytes; nothing of `/v1` is
//! reached from here.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{StatusCode, request};
use axum::response::{IntoResponse, Response};

use crate::channel::messenger::{HttpReply, Refusal, WebhookRequest};
use crate::channel::reception::Answer;
use crate::http::Gateway;
use crate::http::body;
use crate::http::code::Code;
use crate::http::error::ApiError;
use crate::http::extract::Path;

/// Where an account's platform calls.
pub(crate) const PATH: &str = "/channels/{channel}/{account}";
/// The most bytes of a request; Meta sends up to 3 MB.
const WEBHOOK_CAP: usize = 4 << 20;

/// Takes what a platform sends, and its first call, which asks for a word back.
pub(crate) async fn take(
    State(gateway): State<Gateway>,
    Path((channel, account)): Path<(String, String)>,
    request: Request<Body>,
) -> Result<Response, ApiError> {
    let (request::Parts { method, uri, headers, .. }, body) = request.into_parts();
    let body = body::raw(&headers, body, WEBHOOK_CAP).await?;
    let request = WebhookRequest { method, uri, headers, body };
    match gateway.reception.take(&channel, &account, request).await {
        Answer::Taken(HttpReply::Empty) => Ok(StatusCode::OK.into_response()),
        Answer::Taken(HttpReply::Text(text)) => Ok((StatusCode::OK, [(CONTENT_TYPE, "text/plain")], text).into_response()),
        Answer::Unknown => Err(ApiError::not_found("there is no such account")),
        Answer::Refused(Refusal::Unproven, why) => Err(ApiError::unauthorized(why)),
        Answer::Refused(Refusal::Wrong, why) => Err(ApiError::forbidden(why)),
        Answer::Refused(Refusal::Malformed, why) => Err(ApiError::new(Code::InvalidRequest, why).with_status(StatusCode::BAD_REQUEST)),
        Answer::Again => Err(ApiError::unavailable("not all of it could be kept; send it again", "an item was not durable")),
    }
}
