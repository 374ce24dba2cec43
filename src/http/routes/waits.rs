//! Answers to what waits: questions and client calls here, approvals beside it, all by one way.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde_json::json;

use crate::domain::pending::{Answer, ClientCallView, Item, ItemKind, QuestionView};
use crate::domain::{Principal, Scope, SessionId};
use crate::http::Gateway;
use crate::http::body::{self, DECISION_CAP, MESSAGE_CAP, Need};
use crate::http::code::Code;
use crate::http::error::ApiError;
use crate::http::extract::Path;
use crate::http::openapi::parameters::{ClientCallPath, QuestionPath, SessionPath};
use crate::session::Lease;
use crate::session::command::{Resolution, Resolved, standing};

/// Answers to each of the questions, or `declined`.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "AnswerQuestions", transform = one_of_them)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answers {
    /// One for each question, with what it offers.
    #[serde(default, deserialize_with = "body::objects")]
    answers: Option<Vec<Answer>>,
    /// The person does not want to answer.
    #[serde(default)]
    declined: bool,
}

/// Two shapes, not one with a condition: makers of clients read the first.
fn one_of_them(schema: &mut Schema) {
    let declined = schema.pointer("/properties/declined/description").cloned();
    let answers = schema.pointer("/properties/answers/description").cloned();
    schema.remove("type");
    schema.remove("properties");
    schema.remove("additionalProperties");
    let given = json!({"type": "array", "items": {"$ref": "#/components/schemas/Answer"}, "description": answers});
    schema.insert("oneOf".into(), json!([
        {"title": "Answered", "type": "object", "additionalProperties": false, "required": ["answers"], "properties": {"answers": given}},
        {"title": "Declined", "type": "object", "additionalProperties": false, "required": ["declined"],
            "properties": {"declined": {"const": true, "description": declined}}},
    ]));
}

/// Answer questions
///
/// The turn goes on with the answers, or told that the person declined. An equal answer again is 200 with the same body.
#[utoipa::path(post, path = "/v1/sessions/{id}/questions/{question_id}", operation_id = "answer_questions", tag = "questions",
    params(SessionPath, QuestionPath),
    request_body(content = Answers, example = json!({"answers": [{"id": "q1", "selected": ["Rowing boat"]}]})),
    responses((status = 200, description = "The questions with their answers.", body = QuestionView)),
    extensions(
        ("x-codes" = json!(["not_found", "expired", "already_decided", "store_unavailable", "rate_limited"])),
        ("x-curl" = json!(r#"curl -s $B/v1/sessions/$C/questions/$Q --json '{"answers":[{"id":"q1","selected":["Rowing boat"]}]}'"#)),
    )
)]
pub(crate) async fn answer_question(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path((id, question_id)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsWrite).await?;
    let given: Answers = body::read(&headers, body, DECISION_CAP, Need::Required).await?.parse()?;
    let answers = match (given.answers, given.declined) {
        (Some(answers), false) => Some(answers),
        (None, true) => None,
        _ => return Err(ApiError::invalid("/answers", "give answers, or declined: true")),
    };
    let missing = || ApiError::not_found("there is no such question");
    let item = find(&gateway, session.id(), &question_id).await?.ok_or_else(missing)?;
    let ItemKind::Question(asked) = item.kind.clone() else { return Err(missing()) };
    let item = resolve(&gateway, &caller, &session, item, Resolution::Answers(answers)).await?;
    Ok(body::json(StatusCode::OK, &QuestionView::new(session.id(), &item, &asked)))
}

/// What the client's own run of the call gave.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "ClientCallContent")]
#[serde(deny_unknown_fields)]
pub(crate) struct Content {
    /// For the model.
    content: String,
}

/// Give the result of a client call
///
/// A call of a tool that the client runs waits for it. This build has no such tool, so nothing waits here yet.
#[utoipa::path(post, path = "/v1/sessions/{id}/client_calls/{tool_call_id}", operation_id = "answer_client_call", tag = "questions",
    params(SessionPath, ClientCallPath),
    request_body(content = Content, example = json!({"content": "the page shows two boats"})),
    responses((status = 200, description = "The call with its result.", body = ClientCallView)),
    extensions(
        ("x-codes" = json!(["not_found", "expired", "already_decided", "store_unavailable", "rate_limited"])),
        ("x-curl" = json!(r#"curl -s $B/v1/sessions/$C/client_calls/$T --json '{"content":"the page shows two boats"}'"#)),
    )
)]
pub(crate) async fn answer_client_call(
    State(gateway): State<Gateway>,
    Extension(caller): Extension<Principal>,
    Path((id, tool_call_id)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    let session = gateway.session(&caller, &id, Scope::SessionsWrite).await?;
    let given: Content = body::read(&headers, body, MESSAGE_CAP, Need::Required).await?.parse()?;
    let missing = || ApiError::not_found("there is no such call");
    let item = find(&gateway, session.id(), &tool_call_id).await?.ok_or_else(missing)?;
    let ItemKind::ClientCall(call) = item.kind.clone() else { return Err(missing()) };
    let item = resolve(&gateway, &caller, &session, item, Resolution::Content(given.content)).await?;
    Ok(body::json(StatusCode::OK, &ClientCallView::new(session.id(), &item, &call)))
}

/// The wait of that id, open or closed.
pub(super) async fn find(gateway: &Gateway, session: &SessionId, id: &str) -> Result<Option<Item>, ApiError> {
    Ok(gateway.sessions.settings().store.item(session, id).await?)
}

/// Has the session take the answer; one that its memory does not know any more is judged by the index.
pub(super) async fn resolve(
    gateway: &Gateway,
    caller: &Principal,
    session: &Lease,
    item: Item,
    answer: Resolution,
) -> Result<Item, ApiError> {
    if item.outcome.is_some() {
        return outcome(standing(item, &answer));
    }
    let resolved = gateway.sessions.resolve(session, item.id().to_owned(), answer.clone(), caller.name.clone()).await?;
    if resolved != Resolved::Unknown {
        return outcome(resolved);
    }
    let closed = find(gateway, session.id(), item.id()).await?.filter(|item| item.outcome.is_some());
    outcome(closed.map_or(Resolved::Unknown, |item| standing(item, &answer)))
}

fn outcome(resolved: Resolved) -> Result<Item, ApiError> {
    match resolved {
        Resolved::Stands(item) => Ok(*item),
        Resolved::Conflict => Err(ApiError::new(Code::AlreadyDecided, "another answer was given before")),
        Resolved::DigestMismatch => {
            Err(ApiError::new(Code::DigestMismatch, "the digest is not the one of the call that waits: read it again"))
        }
        Resolved::Gone(item) => Err(ApiError::new(Code::Expired, format!("it is too late: this is {}", item.status()))),
        Resolved::Invalid { pointer, detail } => Err(ApiError::invalid(pointer, detail)),
        Resolved::Unknown => Err(ApiError::not_found("nothing of that id waits here")),
    }
}
