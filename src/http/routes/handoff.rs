//! A person takes a conversation over, answers in it, and gives it back.

use std::time::Duration;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::domain::overview::SessionObject;
use crate::domain::{Principal, Scope};
use crate::http::Gateway;
use crate::http::body::{self, MESSAGE_CAP, Need};
use crate::http::code::Code;
use crate::http::error::ApiError;
use crate::http::extract::Path;
use crate::http::openapi::parameters::SessionPath;
use crate::session::command::{ReplyTo, TakeOver};

/// How long the agent keeps out of it where nobody says, in seconds.
const PAUSE_S: u64 = 1_800;
/// The longest that can be said: 30 days.
const LONGEST_S: u64 = 2_592_000;

/// What the person does.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    {"properties": {"action": {"const": "reply"}}, "required": ["text"]},
    {"properties": {"action": {"enum": ["take", "give_back"]}}, "not": {"required": ["text"]}},
]))]
pub(crate) struct Handoff {
    action: Action,
    /// With `reply`: what he says. It goes where the newest message came from.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "String", regex(pattern = r"\S"))]
    text: Option<String>,
    /// With `take` and `reply`: for how many seconds the agent keeps out of it, 1 to 2592000. Default: 1800.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 2_592_000))]
    pause_s: Option<u64>,
}

/// What is there is a text: a null is none.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

/// A whole number, also as some languages write it: 600.0 is one to JSON.
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    let written_out = || number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..1e15).contains(float)).map(|float| float as u64);
    let whole = number.as_u64().or_else(written_out);
    whole.map(Some).ok_or_else(|| D::Error::custom("a whole number of seconds, and no fewer than none"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    /// The agent keeps out of the conversation; what comes in waits.
    Take,
    /// The same, and the person says something.
    Reply,
    /// The agent goes on with what waits.
    GiveBack,
}

/// Take a conversation over
///
/// A turn that runs is cancelled. While a person has the conversation its status is `paused`.
#[utoipa::path(post, path = "/v1/sessions/{id}/handoff", operation_id = "hand_off", tag = "sessions",
    params(SessionPath),
    request_body(content = Handoff, example = json!({"action": "reply", "text": "Ana here: I will see to it myself.", "pause_s": 600})),
    responses((status = 200, description = "The session as it stands now.", body = SessionObject)),
    extensions(
        ("x-codes" = json!(["not_found", "conflict", "store_unavailable", "rate_limited"])),
        ("x-curl" = json!(r#"curl -s $B/v1/sessions/$S/handoff --json '{"action":"reply","text":"Ana here: I will see to it myself.","pause_s":600}'"#)),
    )
)]
pub(crate) async fn hand_off(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsWrite).await?;
    let Handoff { action, text, pause_s } = body::read(&headers, body, MESSAGE_CAP, Need::Required).await?.parse()?;
    let said = text.filter(|text| action != Action::Reply || !text.trim().is_empty());
    match (action, &said) {
        (Action::Reply, None) => return Err(ApiError::invalid("/text", "say something with reply")),
        (Action::Take | Action::GiveBack, Some(_)) => return Err(ApiError::invalid("/text", "only reply says something")),
        (Action::Reply, Some(_)) | (Action::Take | Action::GiveBack, None) => {}
    }
    let pause = pause_s.unwrap_or(PAUSE_S);
    if !(1..=LONGEST_S).contains(&pause) {
        return Err(ApiError::invalid("/pause_s", format!("must be 1 to {LONGEST_S}")));
    }
    let now = gateway.sessions.settings().clock.now();
    let until = if action == Action::GiveBack { now } else { now + Duration::from_secs(pause) };
    let send_to = match &said {
        None => None,
        Some(_) => match gateway.sessions.reply_to(&session).await? {
            ReplyTo::Place(place) => Some(place),
            ReplyTo::Here => None,
            ReplyTo::Unknown => {
                let detail =
                    "nobody has written in this conversation yet, so nobody knows where to send it; take keeps the agent out of it";
                return Err(ApiError::new(Code::Conflict, detail));
            }
        },
    };
    let take_over = TakeOver { by: caller.name.clone(), until, text: said, send_to, key: None };
    let overview = gateway.sessions.take_over(&session, take_over).await?;
    Ok(body::json(StatusCode::OK, &overview.object()))
}
