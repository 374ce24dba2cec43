//! `GET /openapi.json`: what the handlers say of themselves, as one OpenAPI 3.1 document.
//!
//! A handler's `#[utoipa::path]` names its path, parameters, bodies and answers; [`router`](super::router) registers the handler by the same
//! annotation, so no route is without one. [`document`] adds what would be written again at each: the schemas of bodies and events, which
//! come from the types that serde reads and writes ([`shapes`], [`events`]), and an answer for each code that a handler may refuse with
//! ([`problems`], from its `x-codes`). An `x-curl` becomes a code sample; the tests run them all, in the order of the document.

pub(super) mod events;
pub(super) mod parameters;
pub(super) mod problems;
pub(super) mod shapes;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use axum::Extension;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use utoipa::openapi::OpenApi;

use super::body;

/// What each tag's resource is, in the order of the document.
const TAGS: [(&str, &str); 9] = [
    ("sessions", "A conversation: one ledger, at most one agent at work."),
    ("messages", "What people say to the agent, and what came of it."),
    ("events", "The session's ledger, live and as pages."),
    ("approvals", "Calls that wait for a person's permission."),
    ("questions", "Questions that the agent asks a person, and calls that the client runs."),
    ("deliveries", "Answers on their way to messaging channels."),
    ("pairings", "Strangers who ask to be let in."),
    ("capabilities", "What the agent can do on a session's channel."),
    ("operations", "Whether the gateway runs, and this document."),
];

const ABOUT: &str = "A gateway that keeps one agent per session and delivers what it does as a resumable stream of events, over plain HTTP.\n\n\
    Bodies are JSON. Errors are `application/problem+json` with a stable `code`; clients decide on the code, people read the `detail`. \
    Optional fields are absent, never null. Fields and event types may be added: skip those that you do not know. \
    Times are RFC 3339 in UTC with milliseconds.";

/// The document: its text is made when somebody first asks for it, so that no start waits for it, and once.
#[derive(Clone)]
pub(super) struct Document(Arc<LazyLock<Bytes, Box<dyn FnOnce() -> Bytes + Send>>>);

impl Document {
    pub(super) fn of(annotated: OpenApi) -> Self {
        // a document of our own making always has a text
        let text = move || serde_json::to_vec(&document(&annotated)).unwrap_or_default().into();
        Self(Arc::new(LazyLock::new(Box::new(text))))
    }
}

/// This document
#[utoipa::path(get, path = "/openapi.json", operation_id = "openapi", tag = "operations",
    responses((status = 200, description = "The OpenAPI 3.1 document of this build.", content_type = "application/json", body = Object)),
    extensions(("x-curl" = json!("curl -s $B/openapi.json")))
)]
pub(super) async fn show(Extension(Document(text)): Extension<Document>) -> Response {
    body::raw_json(StatusCode::OK, Bytes::clone(&text))
}

/// The whole document: the annotations, completed.
pub fn document(annotated: &OpenApi) -> Value {
    let mut api = serde_json::to_value(annotated).unwrap_or_default();
    api["openapi"] = json!("3.1.0");
    api["info"] = json!({"title": "Portico", "version": env!("CARGO_PKG_VERSION"), "description": ABOUT, "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}});
    api["tags"] = TAGS.iter().map(|(name, description)| json!({"name": name, "description": description})).collect();
    api["servers"] = json!([{"url": "/", "description": "The gateway that serves this document."}]);
    let mut schemas = shapes::schemas();
    schemas.extend(problems::schemas());
    let bearer =
        "A key or a token. Without configured auth none is needed from the machine itself, and the local key permits what acts on it.";
    api["components"] = json!({
        "schemas": schemas,
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer", "description": bearer}},
    });
    if let Some(paths) = api["paths"].as_object_mut() {
        for (path, item) in paths.iter_mut() {
            for operation in item.as_object_mut().into_iter().flatten().filter_map(|(_, operation)| operation.as_object_mut()) {
                complete(path, operation);
            }
        }
    }
    api
}

/// What follows from what an operation says of itself.
fn complete(path: &str, operation: &mut Map<String, Value>) {
    problems::answers(path, operation);
    for content in operation.get_mut("requestBody").and_then(|body| body["content"].as_object_mut()).into_iter().flatten().map(|(_, c)| c) {
        // a body that may be left out is not one that may be null
        if let Some(all) = content["schema"].get("oneOf").and_then(Value::as_array) {
            content["schema"] = all.iter().find(|one| one.get("$ref").is_some()).cloned().unwrap_or_default();
        }
    }
    if operation["responses"].get("401").is_some() {
        operation.insert("security".into(), json!([{}, {"bearer": []}]));
    }
    if let Some(curl) = operation.remove("x-curl") {
        operation.insert("x-codeSamples".into(), json!([{"lang": "Shell", "source": curl}]));
    }
    let id = json!({"description": "The request's id, as the gateway's log has it.", "schema": {"type": "string"}});
    if let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) {
        for response in responses.values_mut() {
            // what one event is has no keyword in 3.1
            if let Some(stream) = response.get_mut("content").and_then(|content| content.get_mut("text/event-stream")) {
                stream["x-event"] = json!({"$ref": "#/components/schemas/StreamEvent"});
            }
            response["headers"]["X-Request-Id"] = id.clone();
        }
    }
}
